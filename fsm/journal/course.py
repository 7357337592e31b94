"""What a run did to the machine: how often each arrow was taken, and which one led to the failure."""

from collections.abc import Iterable

from fsm.drawing.picture import Overlay
from fsm.journal.lines import Entry
from fsm.journal.read import Torn, read
from fsm.states import State


def course(lines: Iterable[bytes], *, incarnation: int | None = None) -> Overlay:
    """The course of a run, or of one incarnation, to be drawn over the lifecycle.

    Raises:
        JournalError: at what is no line of a journal.
    """
    arrows: dict[tuple[str, str], int] = {}
    states: dict[str, int] = {}
    failing: tuple[str, str] | None = None
    by = kind = ""
    for item in read(lines):
        if isinstance(item, Torn) or not isinstance(item.line, Entry):
            continue
        entry = item.line
        if incarnation is not None and entry.incarnation != incarnation:
            continue
        states[entry.dest.value] = states.get(entry.dest.value, 0) + 1
        if entry.dest is State.FAILED and entry.cause is not None:
            # Sharpened until it is settled.
            kind = entry.cause.kind.value
        if entry.source is entry.dest:
            continue
        arrow = (entry.source.value, entry.dest.value)
        arrows[arrow] = arrows.get(arrow, 0) + 1
        if entry.dest is State.FAILED:
            failing, by = arrow, entry.event.trigger
    return Overlay(arrows=arrows, states=states, failing=failing, by=f"{by} ({kind})" if by else "")
