"""Which faults a drill brings about, at which moments, and under which limits."""

import sys
from collections.abc import Collection

import msgspec

from fsm import Kind, State
from runner.command.drill.expected import EXPECTED, ONLY_IF_ALL, Expectation, Moment
from runner.faults import Fault, FaultKind
from runner.process.cgroup import CgroupError, ChildGroup, find_tree
from runner.settings import Settings

CALM = Settings(
    start_timeout=60,
    poll_interval=0.2,
    # What is frozen is seen as stopped, long before that.
    hung_after=30,
    busy_hung_after=60,
    drain_timeout=0.5,
    ask_timeout=30,
    terminate_timeout=1,
    kill_timeout=10,
)
"""No deadline that a busy machine could miss; on the way out nothing is lost by haste."""

SPANS: dict[Kind, dict[str, float]] = {
    Kind.START_TIMEOUT: {"start_timeout": 3},
    # The import of mlx-lm, which no progress interrupts, takes a second or two; here it may be judged by it.
    Kind.LOAD_TIMEOUT: {"load_timeout": 5},
    Kind.PREFILL_TIMEOUT: {"prefill_timeout": 1.5},
    Kind.DECODE_TIMEOUT: {"decode_timeout": 1.5},
    Kind.CANCEL_TIMEOUT: {"cancel_timeout": 1.2},
    Kind.UNLOAD_TIMEOUT: {"unload_timeout": 1.5},
}
"""The deadline that a case is to run into is short, in seconds, so that a drill ends soon; all others are not."""

PATIENT = Settings(start_timeout=60, poll_interval=0.2, ask_timeout=60, unload_timeout=60)
"""For an out-of-memory: filling memory takes a while in which nothing else happens."""

LIMIT = 1 << 30  # bytes of a child that is to run out; the worker itself takes a third of it
ROWS_OVER_LIMIT = 20_000  # of a square matrix of float32: 1.6 GB, more than any of both limits leaves


class Case(msgspec.Struct, frozen=True):
    """One fault at one moment."""

    fault: FaultKind
    argument: str
    moment: Moment

    @property
    def name(self) -> str:
        """The fault with its argument."""
        return f"{self.fault.value} {self.argument}".strip()

    @property
    def expected(self) -> Expectation:
        """What must come of it."""
        return EXPECTED[self.fault, self.argument][self.moment]


def plan(faults: Collection[str], moments: Collection[Moment], *, every: bool) -> list[Case]:
    """The cases of a drill, in the order of the table.

    Args:
        faults: kinds (``crash``) or kinds with an argument (``crash SIGABRT``); empty for all.
        moments: empty for all.
        every: also the second readings of a fault.

    Raises:
        ValueError: for a fault that is not known, and if nothing is left.
    """
    known = {kind.value for kind in FaultKind} | {f"{kind.value} {argument}".strip() for kind, argument in EXPECTED}
    if unknown := [fault for fault in faults if fault not in known]:
        raise ValueError(f"{', '.join(unknown)} is not known. Known: {', '.join(sorted(known))}.")
    cases = [
        Case(fault, argument, moment)
        for (fault, argument), row in EXPECTED.items()
        for moment in row
        if _wanted(fault, argument, faults, every=every) and (not moments or moment in moments)
    ]
    if not cases:
        raise ValueError("None of these faults applies at these moments.")
    return cases


def _wanted(fault: FaultKind, argument: str, named: Collection[str], *, every: bool) -> bool:
    if argument and f"{fault.value} {argument}" in named:
        return True
    return (not named or fault.value in named) and (every or (fault, argument) not in ONLY_IF_ALL)


class Conditions(msgspec.Struct, frozen=True):
    """How a case is brought about on this machine."""

    settings: Settings
    fault: Fault


def conditions(case: Case) -> Conditions:
    """Settings and the fault as the worker takes it. Memory runs out in a cgroup of the child's own where that can be."""
    phase = case.moment.phase
    if case.fault is not FaultKind.OOM:
        return Conditions(_settings(case.expected), Fault(case.fault, phase, case.argument))
    if case.argument != "rlimit" and can_limit():
        limited = msgspec.structs.replace(PATIENT, memory_limit=LIMIT)
        return Conditions(limited, Fault(case.fault, phase, str(ROWS_OVER_LIMIT)))
    # macOS keeps no limit of the address space; there the default size of the fault is more than any machine has.
    argument = f"rlimit {ROWS_OVER_LIMIT}" if sys.platform == "linux" else ""
    return Conditions(PATIENT, Fault(case.fault, phase, argument))


def _settings(expected: Expectation) -> Settings:
    spans: dict[str, float] = {"ask_timeout": 1} if expected.state is State.SHUTDOWN else {}
    for kind in expected.kinds:
        spans |= SPANS.get(kind, {})
    return msgspec.structs.replace(CALM, **spans)


def can_limit() -> bool:
    """Whether a child can have a memory cgroup with a limit here."""
    try:
        return ChildGroup.make(find_tree(), LIMIT).remove()
    except CgroupError:
        return False
