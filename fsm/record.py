"""What is written down about a step. A record is made from the step alone, so that a replay of the events makes it again."""

import msgspec

from fsm.effects import AnyEffect
from fsm.events import AnyEvent
from fsm.failure import FailureCause
from fsm.states import Activity, Process, RequestState, State, Verdict


class RequestChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a step did to one request."""

    request: int
    source: RequestState | None = msgspec.field(name="from")
    """``None`` for a request that was accepted in this step."""
    dest: RequestState = msgspec.field(name="to")
    cancelling: bool = False


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step: the event whole, what it came to, and where everything stands after it."""

    seq: int
    """Number of the step, without gaps, across incarnations."""
    incarnation: int
    event: AnyEvent
    verdict: Verdict
    rows: tuple[str, ...]
    """Ids of the rows taken: of the lifecycle's table, of the request's, or both."""
    source: State
    dest: State
    process: Process
    activity: Activity = Activity.NONE
    done: int = 0
    total: int = 0
    """How far the activity is, ``done`` of ``total``, where it counts."""
    settled: bool = False
    cause: FailureCause | None = None
    """Why it failed. Provisional until ``settled``."""
    requests: tuple[RequestChange, ...] = ()
    effects: tuple[AnyEffect, ...] = ()
    why: str = ""
    """For a step that changed nothing: the reason."""

    @property
    def at(self) -> float:
        """When the event was seen, in seconds of the supervisor's monotonic clock."""
        return self.event.at


class Step(msgspec.Struct, frozen=True):
    """What ``fsm.Lifecycle.handle`` gives back: what to write down, and what to do (``record.effects``)."""

    record: Record

    @property
    def effects(self) -> tuple[AnyEffect, ...]:
        """What to do, in this order."""
        return self.record.effects

    @property
    def refused(self) -> bool:
        """Whether this was a command that the state does not allow."""
        return self.record.verdict is Verdict.REFUSED
