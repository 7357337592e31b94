"""What the lifecycle's guards may look at, and the guards: named predicates over a frozen context, free of side effects."""

import msgspec

from fsm.events import Event, Exited, Hello, Settled, Submit
from fsm.failure import FailureCause, Kind
from fsm.states import Activity, Process
from fsm.table import Guard, guards


class Facts(msgspec.Struct, frozen=True):
    """What stands beside the state."""

    incarnation: int
    process: Process = Process.ABSENT
    activity: Activity = Activity.NONE
    done: int = 0
    total: int = 0
    bye: bool = False
    """The worker said that it let go of everything."""
    settled: bool = False
    cause: FailureCause | None = None


class Context(msgspec.Struct, frozen=True):
    """What a guard may look at: the facts, the event, and how many requests are where."""

    facts: Facts
    event: Event
    queued: int = 0
    prefill: int = 0
    decode: int = 0
    cancelling: int = 0
    last_request: int = 0

    @property
    def requests(self) -> int:
        """Requests that have not ended."""
        return self.queued + self.prefill + self.decode


def _stale(context: Context) -> bool:
    return context.event.incarnation != context.facts.incarnation


def _crashed(context: Context) -> bool:
    event = context.event
    if not isinstance(event, Exited) or event.ours or context.facts.bye:
        return False
    return event.exit.signal is not None or event.exit.code not in (0, None)


def _drainable(context: Context) -> bool:
    return context.requests > 0 and context.facts.activity in (Activity.SERVING, Activity.DRAINING)


def _settled_as_oom(context: Context) -> bool:
    event = context.event
    return isinstance(event, Settled) and event.cause is not None and event.cause.kind is Kind.OOM


def _other_protocol(context: Context) -> bool:
    """Of a process that is there: nobody else can have said it."""
    there = context.facts.process is not Process.ABSENT
    return there and isinstance(context.event, Hello) and not context.event.protocol_ok


def _id_used(context: Context) -> bool:
    return isinstance(context.event, Submit) and context.event.request <= context.last_request


GUARDS: dict[str, Guard[Context]] = guards(
    ("stale", "about another incarnation", _stale),
    ("settled", "settled", lambda c: c.facts.settled),
    ("absent", "no process", lambda c: c.facts.process is Process.ABSENT),
    ("spawning", "process being started", lambda c: c.facts.process is Process.SPAWNING),
    ("starting", "process not up yet", lambda c: c.facts.process is Process.STARTING),
    ("coming", "process on its way", lambda c: c.facts.process in (Process.SPAWNING, Process.STARTING)),
    ("up", "process up", lambda c: c.facts.process is Process.UP),
    ("gone", "process gone", lambda c: c.facts.process is Process.GONE),
    ("other protocol", "another protocol version", _other_protocol),
    ("drainable", "requests under way, none cancelled for the unload", _drainable),
    ("serving", "admission open", lambda c: c.facts.activity is Activity.SERVING),
    (
        "serving, requests",
        "admission open, requests under way",
        lambda c: c.facts.activity is Activity.SERVING and c.requests > 0,
    ),
    ("unloading", "unloading", lambda c: c.facts.activity is Activity.UNLOADING),
    ("draining", "draining", lambda c: c.facts.activity is Activity.DRAINING),
    ("emptying", "draining or cancelling", lambda c: c.facts.activity in (Activity.DRAINING, Activity.CANCELLING)),
    ("asking", "asked to end", lambda c: c.facts.activity is Activity.ASKING),
    ("terminating", "SIGTERM sent", lambda c: c.facts.activity is Activity.TERMINATING),
    ("killing", "SIGKILL sent", lambda c: c.facts.activity is Activity.KILLING),
    ("not signalled", "no signal sent yet", lambda c: c.facts.activity in (Activity.DRAINING, Activity.ASKING)),
    ("crashed", "by no signal of ours, code not 0, before bye", _crashed),
    ("oom seen", "evidence of an out-of-memory", _settled_as_oom),
    ("id used", "id used before", _id_used),
    # For the deadlines.
    (
        "prefilling",
        "a request in prefill, or waiting with none before it",
        lambda c: c.prefill > 0 or (c.queued > 0 and c.decode == 0),
    ),
    ("decoding", "a request in decode", lambda c: c.decode > 0),
    ("cancelling", "a cancel on its way", lambda c: c.cancelling > 0),
)
"""Every guard of the lifecycle, by name."""
