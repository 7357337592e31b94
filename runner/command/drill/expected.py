"""What must come of each fault at each moment. Written by hand from what the runner promises, never from what it does.

A fault applies at the moments that are listed here, and at no others.
"""

from enum import StrEnum

import msgspec

from fsm import Kind, State
from fsm.failure import Phase
from runner.faults import FaultKind


class Moment(StrEnum):
    """When a fault comes: a phase of the worker's, or while a cancel waits to be heard."""

    START = "start"
    IDLE = "idle"
    LOAD = "load"
    WARMUP = "warmup"
    PREFILL = "prefill"
    DECODE = "decode"
    CANCEL = "cancel"
    UNLOAD = "unload"
    SHUTDOWN = "shutdown"

    @property
    def phase(self) -> Phase:
        """The phase at which the worker brings the fault about."""
        return Phase.PREFILL if self is Moment.CANCEL else Phase(self.value)


class Expectation(msgspec.Struct, frozen=True):
    """The end that is right."""

    state: State
    """Of a fault that is survived, the state in which the runner still is."""
    kinds: frozenset[Kind] = frozenset()
    uncounted: frozenset[Kind] = frozenset()
    """Kinds that are right besides where the kernel's counters can't be read."""

    def __str__(self) -> str:
        if not self.kinds:
            return self.state.value
        return f"{self.state.value} {' or '.join(sorted(kind.value for kind in self.kinds))}"


def _failed(*kinds: Kind, uncounted: Kind | None = None) -> Expectation:
    return Expectation(State.FAILED, frozenset(kinds), frozenset(() if uncounted is None else (uncounted,)))


Row = dict[Moment, Expectation]

SERVES = Expectation(State.RUNNING)
"""It is survived, and the next request is answered."""
ENDED = Expectation(State.SHUTDOWN)
"""It was told to end, and it ended, by force if need be."""

_ALIVE = tuple(moment for moment in Moment if moment not in (Moment.CANCEL, Moment.SHUTDOWN))
_EVERY = (*_ALIVE, Moment.SHUTDOWN)


def _at(moments: tuple[Moment, ...], expectation: Expectation) -> Row:
    return dict.fromkeys(moments, expectation)


_KILLED = _at(_EVERY, _failed(Kind.KILLED_EXTERNALLY)) | _at(
    # Without counters, an end without a word while memory grows is laid to memory.
    (Moment.LOAD, Moment.WARMUP),
    _failed(Kind.KILLED_EXTERNALLY, uncounted=Kind.OOM),
)

_STANDS_STILL: Row = {
    Moment.START: _failed(Kind.START_TIMEOUT),
    Moment.IDLE: _failed(Kind.LOAD_TIMEOUT),
    Moment.LOAD: _failed(Kind.LOAD_TIMEOUT),
    Moment.WARMUP: _failed(Kind.LOAD_TIMEOUT),
    Moment.PREFILL: _failed(Kind.PREFILL_TIMEOUT),
    Moment.DECODE: _failed(Kind.DECODE_TIMEOUT),
    Moment.CANCEL: _failed(Kind.CANCEL_TIMEOUT),
    Moment.UNLOAD: _failed(Kind.UNLOAD_TIMEOUT),
    Moment.SHUTDOWN: ENDED,
}

EXPECTED: dict[tuple[FaultKind, str], Row] = {
    # Memory runs out, whatever the runner was doing, and also while it was told to end.
    (FaultKind.OOM, ""): _at(_EVERY, _failed(Kind.OOM)),
    (FaultKind.OOM, "rlimit"): _at(_EVERY, _failed(Kind.OOM)),
    # It dies.
    (FaultKind.CRASH, "SIGKILL"): _KILLED,
    (FaultKind.CRASH, "SIGSEGV"): _at(_EVERY, _failed(Kind.SEGFAULT)),
    (FaultKind.CRASH, "SIGABRT"): _at(_EVERY, _failed(Kind.UNKNOWN)),
    (FaultKind.CRASH, "SIGTERM"): _at(_EVERY, _failed(Kind.KILLED_EXTERNALLY)),
    (FaultKind.GRANDCHILD, ""): _KILLED,
    (FaultKind.TORN, "50000000"): _KILLED,
    # It ends by itself. With code 0 that is no failure only if it was told to.
    (FaultKind.EXIT, "0"): _at(_ALIVE, _failed(Kind.CLEAN_EXIT)) | {Moment.SHUTDOWN: ENDED},
    (FaultKind.EXIT, "3"): _at(_EVERY, _failed(Kind.UNKNOWN)),
    # It raises: outside of a request that is the end, inside one it is the end of that request.
    (FaultKind.RAISE, ""): _at(_EVERY, _failed(Kind.PYTHON_EXCEPTION)),
    (FaultKind.RAISE, "request"): _at((Moment.PREFILL, Moment.DECODE), SERVES),
    # It lives and gets nothing done.
    (FaultKind.HANG, ""): _STANDS_STILL,
    (FaultKind.IGNORE_TERM, ""): _STANDS_STILL,
    (FaultKind.FREEZE, ""): _at((*_ALIVE, Moment.CANCEL), _failed(Kind.HUNG))
    | {
        # Before it said hello no beat is missed.
        Moment.START: _failed(Kind.START_TIMEOUT),
        Moment.SHUTDOWN: ENDED,
    },
    (FaultKind.DEAF, ""): {
        # What is asked next is not heard; how soon that is depends on what was heard before.
        Moment.START: _failed(Kind.LOAD_TIMEOUT),
        Moment.IDLE: _failed(Kind.LOAD_TIMEOUT, Kind.PREFILL_TIMEOUT),
        Moment.LOAD: _failed(Kind.PREFILL_TIMEOUT),
        Moment.WARMUP: _failed(Kind.PREFILL_TIMEOUT),
        # It never learns that the reader took what it sent.
        Moment.PREFILL: _failed(Kind.DECODE_TIMEOUT),
        Moment.DECODE: _failed(Kind.DECODE_TIMEOUT),
        Moment.CANCEL: _failed(Kind.CANCEL_TIMEOUT),
        Moment.UNLOAD: _failed(Kind.LOAD_TIMEOUT),
        Moment.SHUTDOWN: ENDED,
    },
    # It says what it must not, or too much.
    (FaultKind.GARBAGE, ""): _at(_ALIVE, _failed(Kind.PROTOCOL_ERROR)) | {Moment.SHUTDOWN: ENDED},
    (FaultKind.FLOOD, ""): _at(_ALIVE, _failed(Kind.PROTOCOL_ERROR)) | {Moment.SHUTDOWN: ENDED},
    (FaultKind.FLOOD, "lines"): _at(_ALIVE, SERVES) | {Moment.SHUTDOWN: ENDED},
}

ONLY_IF_ALL: frozenset[tuple[FaultKind, str]] = frozenset(
    {
        (FaultKind.OOM, "rlimit"),
        (FaultKind.CRASH, "SIGABRT"),
        (FaultKind.CRASH, "SIGTERM"),
        (FaultKind.EXIT, "3"),
    }
)
"""Second readings of a fault that has a first one; a drill that is to end soon leaves them out."""
