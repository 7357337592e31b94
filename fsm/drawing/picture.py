"""What is drawn, whatever the format: states, and one arrow for each pair of states with all that leads along it."""

from typing import Any

import msgspec

from fsm import events, lifecycle, requests
from fsm.states import Deadline
from fsm.table import Row, Table


class Drawn(msgspec.Struct, frozen=True):
    """A machine that can be drawn."""

    name: str
    title: str
    table: Table[Any]
    bad: frozenset[str]
    """States that are failures."""
    final: frozenset[str]
    """States that can be the end."""


LIFECYCLE = Drawn(
    "lifecycle", "The lifecycle of a runner", lifecycle.TABLE, frozenset({"Failed"}), frozenset({"Failed", "Shutdown"})
)
REQUEST = Drawn(
    "request",
    "The life of a request",
    requests.TABLE,
    frozenset({"Failed"}),
    frozenset({"Done", "Cancelled", "Failed"}),
)


class Label(msgspec.Struct, frozen=True):
    """What leads along an arrow, of one origin."""

    comes_from: str
    """Where such events come from: command, process event, liveness poll, timeout, worker report."""
    triggers: tuple[str, ...]
    """Each with its guard in words, where it does not always lead there."""


class Arrow(msgspec.Struct, frozen=True):
    """From one state to another."""

    source: str
    dest: str
    labels: tuple[Label, ...]


class Overlay(msgspec.Struct, frozen=True, kw_only=True):
    """What one run did, to be drawn over the machine."""

    arrows: dict[tuple[str, str], int] = {}
    """How often each was taken."""
    states: dict[str, int] = {}
    """How many steps were made in each."""
    failing: tuple[str, str] | None = None
    """The arrow that led to the failure."""
    by: str = ""
    """What led along it."""


class Picture(msgspec.Struct, frozen=True):
    """A machine, ready to be written in any format."""

    name: str
    title: str
    states: tuple[str, ...]
    initial: str
    final: frozenset[str]
    bad: frozenset[str]
    arrows: tuple[Arrow, ...]


_ORDER = (
    "command",
    "worker report",
    "worker report, exit evidence",
    "process event",
    "liveness poll",
    "timeout",
    "lifecycle",
)
"""In which labels stand on an arrow."""


def _origins() -> dict[str, str]:
    """Where each trigger comes from, as its event says."""
    found = {f"{deadline.value}_timeout": "timeout" for deadline in Deadline}
    pending: list[type[events.Event]] = [events.Event]
    while pending:
        event = pending.pop()
        pending += event.__subclasses__()
        tag = event.__struct_config__.tag
        if isinstance(tag, str):
            found[tag] = event.comes_from
    # What no event from outside tells: the last request ended; and for a request, the end of its runner.
    return found | {"drained": "lifecycle", "incarnation_failed": "lifecycle", "incarnation_shutdown": "lifecycle"}


ORIGINS = _origins()
"""Where each trigger comes from."""


def guard_text(table: Table[Any], row: Row) -> str:
    """The guard of a row in words; empty for always."""
    return table.guards[row.guard].text if row.guard else ""


def picture(drawn: Drawn) -> Picture:
    """What is to be drawn of a machine: its moves. Rows that stay, ignore or refuse are in its listings."""
    table = drawn.table
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for source in table.states:
        for trigger in table.triggers:
            for dest, guards in _moves(table, source, trigger).items():
                text = trigger if not guards else f"{trigger} [{' or '.join(guards)}]"
                found.setdefault((source, dest), {}).setdefault(ORIGINS[trigger], []).append(text)
    order = list(table.states)
    arrows = [
        Arrow(
            source,
            dest,
            tuple(Label(origin, tuple(labels[origin])) for origin in sorted(labels, key=_ORDER.index)),
        )
        for (source, dest), labels in sorted(
            found.items(), key=lambda item: (order.index(item[0][0]), order.index(item[0][1]))
        )
    ]
    return Picture(drawn.name, drawn.title, table.states, table.states[0], drawn.final, drawn.bad, tuple(arrows))


def _moves(table: Table[Any], source: str, trigger: str) -> dict[str, list[str]]:
    """Where a trigger leads from a state, each with the guards under which it does; none if it does in every case that moves."""
    moves: dict[str, list[str]] = {}
    rows = table.deciding(source, trigger)
    for row in rows:
        if row.dest is not None and row.dest != source:
            moves.setdefault(row.dest, []).append(guard_text(table, row))
    return {dest: [] if "" in guards else guards for dest, guards in moves.items()}
