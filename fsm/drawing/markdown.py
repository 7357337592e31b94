"""A whole table as a Markdown table: every row, those that stay, refuse or ignore as well."""

from typing import Any

from fsm.drawing.picture import ORIGINS, Drawn, guard_text
from fsm.effects import AnyEffect
from fsm.states import Verdict
from fsm.table import Row, Table


def markdown(drawn: Drawn) -> str:
    """Each row with its reason. Of the rows for one state and trigger the first whose guard holds is taken."""
    lines = [
        "| row | from | trigger | comes from | if | to | effects | why |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {' | '.join(_cells(drawn.table, row))} |" for row in drawn.table.rows]
    return "\n".join(lines) + "\n"


def _cells(table: Table[Any], row: Row) -> list[str]:
    sources = "any" if set(row.source) == set(table.states) else ", ".join(row.source)
    whole = len(row.trigger) > len(table.triggers) // 2
    origins = dict.fromkeys(ORIGINS[trigger] for trigger in row.trigger)
    return [
        row.id,
        sources,
        "any" if whole else ", ".join(f"`{trigger}`" for trigger in row.trigger),
        "anywhere" if whole else "; ".join(origins),
        guard_text(table, row),
        _to(row),
        ", ".join(_effect(effect) for effect in row.effects),
        row.why,
    ]


def _to(row: Row) -> str:
    match row.verdict:
        case Verdict.REFUSED:
            return "refused"
        case Verdict.IGNORED:
            return "ignored"
        case _:
            return f"**{row.dest}**" if row.dest else "stays"


def _effect(effect: AnyEffect) -> str:
    deadline = getattr(effect, "deadline", None)
    name = str(effect.__struct_config__.tag)
    return f"`{name} {deadline.value}`" if deadline is not None else f"`{name}`"
