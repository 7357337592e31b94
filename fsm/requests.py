"""The life of one request: its table, and the little that a table can't hold.

A request is accepted (recorded with an id), and from then on it ends exactly once: ``Done``, ``Cancelled`` or ``Failed``.
A cancel does not end a request that the worker has taken up: it is marked, and the worker's own end decides, since only
the worker knows whether the last token or the cancel came first. Tokens do not pass through here; start, first token and
end do. When the incarnation settles, whatever has not ended does: failed with its cause, or cancelled.
"""

import msgspec

from fsm.effects import SendCancel
from fsm.states import RequestState, Verdict
from fsm.table import Guard, Holder, Row, Table, guards

QUEUED, PREFILL, DECODE, DONE, CANCELLED, FAILED = (state.value for state in RequestState)
LIVE = (QUEUED, PREFILL, DECODE)
TAKEN_UP = (PREFILL, DECODE)
ENDED = (DONE, CANCELLED, FAILED)

TRIGGERS = (
    "request_started",
    "request_progress",
    "first_token",
    "request_done",
    "request_cancelled",
    "request_failed",
    "cancel",
    "incarnation_failed",
    "incarnation_shutdown",
)


class RequestFacts(msgspec.Struct, frozen=True):
    """What stands beside a request's state."""

    request: int
    cancelling: bool = False
    """A cancel was sent to the worker; its answer is outstanding."""


GUARDS: dict[str, Guard[RequestFacts]] = guards(
    ("cancelling", "cancel already sent", lambda facts: facts.cancelling),
)

ROWS = (
    # The worker's reports.
    Row(id="Q1", source=(QUEUED,), trigger=("request_started",), dest=PREFILL, why="The worker took it up."),
    Row(id="Q2", source=(PREFILL,), trigger=("request_progress",), why="Progress, however slow, is not a hang."),
    Row(id="Q3", source=(PREFILL,), trigger=("first_token",), dest=DECODE, why="The prompt is read."),
    Row(
        id="Q4", source=TAKEN_UP, trigger=("request_done",), dest=DONE, why="The worker finished it, cancelled or not."
    ),
    Row(id="Q5", source=LIVE, trigger=("request_cancelled",), dest=CANCELLED, why="The worker stopped it."),
    Row(id="Q6", source=LIVE, trigger=("request_failed",), dest=FAILED, why="It failed alone; the runner goes on."),
    # The caller.
    Row(
        id="Q7",
        source=(QUEUED,),
        trigger=("cancel",),
        dest=CANCELLED,
        effects=(SendCancel(0),),
        why="Nothing was begun; the worker is told to forget it.",
    ),
    Row(id="Q8", source=TAKEN_UP, trigger=("cancel",), guard="cancelling", why="The cancel is already on its way."),
    Row(
        id="Q9",
        source=TAKEN_UP,
        trigger=("cancel",),
        sets={"cancelling": True},
        effects=(SendCancel(0),),
        why="The worker's own end decides whether it is done or cancelled.",
    ),
    # The end of the incarnation.
    Row(id="Q10", source=LIVE, trigger=("incarnation_failed",), dest=FAILED, why="It fails with the runner's cause."),
    Row(id="Q11", source=LIVE, trigger=("incarnation_shutdown",), dest=CANCELLED, why="The runner was told to end."),
    # What no longer fits.
    Row(
        id="Q12",
        source=ENDED,
        trigger=("cancel",),
        why="It has ended; a cancel changes nothing and is no error.",
    ),
    Row(
        id="Q13",
        source=ENDED,
        trigger=tuple(trigger for trigger in TRIGGERS if trigger != "cancel"),
        verdict=Verdict.IGNORED,
        why="A request ends once.",
    ),
    Row(
        id="Q14",
        source=TAKEN_UP,
        trigger=("request_started",),
        verdict=Verdict.IGNORED,
        why="It was taken up already.",
    ),
    Row(
        id="Q15",
        source=(QUEUED, DECODE),
        trigger=("request_progress", "first_token"),
        verdict=Verdict.IGNORED,
        why="No prefill is under way.",
    ),
    Row(
        id="Q16",
        source=(QUEUED,),
        trigger=("request_done",),
        verdict=Verdict.IGNORED,
        why="It was never taken up.",
    ),
)
"""All rules for a request. ``SendCancel(0)`` stands for the request at hand."""

TABLE = Table(
    ROWS,
    states=tuple(state.value for state in RequestState),
    triggers=TRIGGERS,
    guards=GUARDS,
    facts=RequestFacts,
)


class RequestMachine:
    """One request. Owned by the lifecycle of the incarnation that accepted it."""

    def __init__(self, request: int, state: RequestState = RequestState.QUEUED, *, cancelling: bool = False) -> None:
        self._facts = RequestFacts(request, cancelling)
        self._holder = Holder(state.value)

    @property
    def state(self) -> RequestState:
        """Where it is."""
        return RequestState(self._holder.state)

    @property
    def cancelling(self) -> bool:
        """Whether a cancel is on its way to the worker and the request has not ended yet."""
        return self._facts.cancelling and not self.state.terminal

    def fire(self, trigger: str) -> tuple[Row, tuple[SendCancel, ...]]:
        """Take one step; give back the row taken and the effects with this request's id."""
        row = TABLE.fire(self._holder, trigger, self._facts)
        if row.sets:
            self._facts = msgspec.structs.replace(self._facts, **row.sets)
        return row, tuple(SendCancel(self._facts.request) for _ in row.effects)
