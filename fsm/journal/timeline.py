"""Who was in which state, and for how long: the runner in each incarnation, and each request."""

from collections.abc import Iterable

import msgspec

from fsm.failure import FailureCause
from fsm.journal.lines import Entry
from fsm.journal.read import JournalError, Torn, read
from fsm.states import RequestState, State


class Span(msgspec.Struct, frozen=True):
    """A stretch of time in one state."""

    state: str
    start: float
    """Seconds since the first step of the run."""
    end: float


class Lane(msgspec.Struct, frozen=True):
    """One incarnation, or one request, over time."""

    name: str
    spans: tuple[Span, ...]
    outcome: str = ""
    """The state in which a request ended, or the kind of the failure of an incarnation."""
    bad: bool = False
    """Whether that is a failure."""
    at: float = 0.0
    """When it ended; for one that did not, when the journal ends."""


class Timeline(msgspec.Struct, frozen=True):
    """A run over time."""

    seconds: float
    """From its first step to its last."""
    incarnations: tuple[Lane, ...]
    requests: tuple[Lane, ...]
    left_out: int = 0
    """Requests that were too many to be kept: those in the middle."""


_ENDS = {state.value for state in RequestState if state.terminal}


class _Open:
    """A lane that is being read."""

    def __init__(self, name: str, state: str, at: float) -> None:
        self.name = name
        self.state = state
        self.since = at
        self.spans: list[Span] = []
        self.outcome = ""
        self.bad = False

    def move(self, state: str, at: float) -> None:
        self.spans.append(Span(self.state, self.since, at))
        self.state, self.since = state, at

    def closed(self, at: float) -> Lane:
        if not self.outcome or self.since < at:
            self.spans.append(Span(self.state, self.since, at))
        return Lane(self.name, tuple(self.spans), self.outcome, self.bad, at)


def timeline(lines: Iterable[bytes], *, most: int = 60) -> Timeline:
    """The states of a run and of its requests over time.

    Args:
        lines: of the journal.
        most: requests to keep; of more, the first half and the last stay.

    Raises:
        JournalError: for what is no journal, or one without a step.
    """
    began: float | None = None
    at = 0.0
    lives: list[_Open] = []
    ended_lives: list[Lane] = []
    number = 0
    asked: dict[int, _Open] = {}
    first: list[Lane] = []
    last: list[Lane] = []
    left_out = 0
    for item in read(lines):
        if isinstance(item, Torn) or not isinstance(item.line, Entry):
            continue
        entry = item.line
        began = entry.event.at if began is None else began
        at = entry.event.at - began
        if entry.incarnation != number:
            ended_lives += [life.closed(at) for life in lives]
            number = entry.incarnation
            lives = [_Open(f"incarnation {number}", entry.source.value, at)]
        _follow_life(lives[0], entry, at)
        for change in entry.requests:
            lane = asked.get(change.request)
            if lane is None:
                asked[change.request] = _Open(f"request {change.request}", change.dest.value, at)
            elif change.dest is not change.source:
                lane.move(change.dest.value, at)
            if change.dest.value in _ENDS and (over := asked.pop(change.request, None)) is not None:
                over.outcome, over.bad = change.dest.value, change.dest is RequestState.FAILED
                if len(first) < most // 2:
                    first.append(over.closed(at))
                else:
                    last.append(over.closed(at))
                    if len(last) > most - most // 2:
                        last.pop(0)
                        left_out += 1
    if began is None:
        raise JournalError("There is no step in it.")
    lanes = [*first, *last, *(lane.closed(at) for lane in asked.values())]
    lanes.sort(key=lambda lane: lane.spans[0].start if lane.spans else lane.at)
    return Timeline(at, (*ended_lives, *(life.closed(at) for life in lives)), tuple(lanes), left_out)


def _follow_life(life: _Open, entry: Entry, at: float) -> None:
    if entry.dest is not entry.source:
        life.move(entry.dest.value, at)
    if entry.dest is State.FAILED:
        life.bad = True
        life.outcome = _kind(entry.cause)
    elif entry.settled:
        life.outcome = entry.dest.value


def _kind(cause: FailureCause | None) -> str:
    return cause.kind.value if cause is not None else "Failed"
