"""Every state and every trigger, and what comes of them: the proof to the eye that each pair is decided."""

from typing import Any

from fsm.drawing.picture import Drawn
from fsm.states import Verdict
from fsm.table import Row, Table


def matrix(drawn: Drawn) -> str:
    """A Markdown table with a line a trigger and a column a state; in a cell the alternatives, in the order of trying."""
    table = drawn.table
    lines = [
        f"| trigger | {' | '.join(table.states)} |",
        f"| --- |{' --- |' * len(table.states)}",
    ]
    for trigger in table.triggers:
        cells = [_cell(table, state, trigger) for state in table.states]
        lines.append(f"| `{trigger}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(table: Table[Any], state: str, trigger: str) -> str:
    # What is about another incarnation is ignored everywhere; to say so in each cell would hide the rest.
    rows = [row for row in table.deciding(state, trigger) if row.guard != "stale"]
    return "<br>".join(dict.fromkeys(f"{_what(row)} ({row.id})" for row in rows))


def _what(row: Row) -> str:
    match row.verdict:
        case Verdict.REFUSED:
            return "refused"
        case Verdict.IGNORED:
            return "ignored"
        case _:
            return f"→ **{row.dest}**" if row.dest else "stays"
