"""Where a runner stood, rebuilt from the events of its journal alone. Nothing that the lines say of states is believed."""

from collections.abc import Iterable, Iterator

import msgspec

from fsm.failure import FailureCause
from fsm.journal.lines import Entry, Gap, Opening
from fsm.journal.read import JournalError, Torn, read
from fsm.lifecycle import Lifecycle
from fsm.lineage import Lineage
from fsm.states import Activity, Process, RequestState, State


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Where a runner stood after a step. Named as in ``runner.Snapshot``."""

    state: State
    incarnation: int
    seq: int
    """Number of the last step; -1 before the first."""
    since: float
    """When the state was entered, in seconds of the supervisor's monotonic clock."""
    activity: Activity
    done: int
    total: int
    process: Process
    settled: bool
    cause: FailureCause | None
    requests: dict[int, RequestState]
    """Those that have not ended."""


def replay(lines: Iterable[bytes], *, until: int | None = None) -> Status:
    """Where the runner stood at the end, or after step ``until``.

    Raises:
        JournalError: for what is no journal, or one that does not reach that step.
    """
    last: Status | None = None
    for status in replay_steps(lines):
        if until is not None and status.seq > until:
            break
        last = status
    if last is None or (until is not None and last.seq < until):
        raise JournalError("There is no step in it." if until is None else f"It does not hold step {until}.")
    return last


def replay_steps(lines: Iterable[bytes]) -> Iterator[Status]:
    """Where the runner stood after each step, and after each gap.

    Raises:
        JournalError: at what is no line of a journal.
    """
    lineage: Lineage | None = None
    since = 0.0
    incarnation = 0
    for item in read(lines):
        if isinstance(item, Torn):
            continue
        line = item.line
        if isinstance(line, Opening) and lineage is None:
            lineage = Lineage.resume(line.checkpoint)
        elif lineage is None:
            raise JournalError("The first line is no opening.", item.number)
        if isinstance(line, Gap):
            lineage = Lineage.resume(line.checkpoint)
            life = lineage.lifecycle
        elif isinstance(line, Entry):
            life = lineage.lifecycle
            record = lineage.handle(line.event).record
            if record.dest is not record.source or record.incarnation != incarnation:
                since = record.at
                incarnation = record.incarnation
        else:
            continue
        # A restart is a step of the incarnation that it ends; the next one is seen from its own first step on.
        yield _status(life, since)


def _status(life: Lifecycle, since: float) -> Status:
    facts = life.facts
    return Status(
        state=life.state,
        incarnation=facts.incarnation,
        seq=life.next_seq - 1,
        since=since,
        activity=facts.activity,
        done=facts.done,
        total=facts.total,
        process=facts.process,
        settled=facts.settled,
        cause=facts.cause,
        requests=life.requests,
    )
