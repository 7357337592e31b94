"""What can happen to a runner: every way into the machine, as small frozen values.

A *command* is asked for by a caller and can be refused; a *world* event is told by a process, a poll or a clock and can
only be ignored. Every event carries the incarnation it is about and the time at which it was seen (``at``, seconds of the
supervisor's monotonic clock), since the machine has no clock of its own.
"""

from typing import ClassVar

import msgspec

from fsm.failure import Certainty, Exit, FailureCause, OomScope
from fsm.states import Deadline, RequestErrorKind


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all events."""

    incarnation: int
    """Number of the incarnation that this is about."""
    at: float
    """When it was seen, in seconds of the supervisor's monotonic clock."""

    is_command: ClassVar[bool] = False
    """Whether a caller asked for it (and can be refused)."""
    comes_from: ClassVar[str] = "worker report"
    """Where such events come from: command, process event, liveness poll, timeout or worker report."""

    @property
    def trigger(self) -> str:
        """The name under which the tables know this event."""
        return str(self.__struct_config__.tag)


class Command(Event, frozen=True):
    """Base of what a caller asks for."""

    is_command = True
    comes_from = "command"


class Start(Command, frozen=True, tag="start"):
    """Start the process, without a model."""


class Load(Command, frozen=True, tag="load"):
    """Load the model."""

    model: str = ""
    """Its name, for the record."""


class Unload(Command, frozen=True, tag="unload"):
    """Let go of the model, after the requests under way; keep the process."""


class Shutdown(Command, frozen=True, tag="shutdown"):
    """End the incarnation."""


class Restart(Command, frozen=True, tag="restart"):
    """Begin the next incarnation. The machine only says whether this one allows it."""


class Submit(Command, frozen=True, tag="submit"):
    """Accept a request."""

    request: int
    """Its id. Ids rise; one that is not higher than all before is refused."""
    prompt_digest: str = ""
    """For the record, in place of the text."""


class Cancel(Command, frozen=True, tag="cancel"):
    """Cancel a request."""

    request: int


class ProcessEvent(Event, frozen=True):
    """Base of what the kernel tells about the child."""

    comes_from = "process event"


class Spawned(ProcessEvent, frozen=True, tag="spawned"):
    """The child was started."""

    pid: int


class SpawnFailed(ProcessEvent, frozen=True, tag="spawn_failed"):
    """The child could not be started."""

    error: str


class Exited(ProcessEvent, frozen=True, tag="exited"):
    """The child ended and is reaped. What it left in its channel and streams may still have to be read."""

    exit: Exit
    ours: bool = False
    """Whether the signal that ended it was sent by the supervisor."""


class Settled(ProcessEvent, frozen=True, tag="settled"):
    """Nothing more can come: reaped (or given up), streams read to their end or to a bound, counters read again."""

    exit: Exit = Exit()
    cause: FailureCause | None = None
    """What the evidence says; ``None`` where it says nothing beyond the exit."""
    unkillable: bool = False
    """Whether the process was given up while it was still there."""
    notes: tuple[str, ...] = ()
    """What was seen and is no cause, such as another process's out-of-memory kill."""


class OutOfMemory(ProcessEvent, frozen=True, tag="oom"):
    """Evidence of an out-of-memory that can be laid to the child: its own report, or a counter with its death."""

    certainty: Certainty = Certainty.CERTAIN
    scope: OomScope | None = None
    evidence: tuple[str, ...] = ()

    comes_from = "worker report, exit evidence"


class Hung(Event, frozen=True, tag="hung"):
    """No beat came for too long although the process is there."""

    silent_s: float
    """Seconds since the last beat."""
    stopped: bool = False
    """Whether the process was seen stopped (state T)."""

    comes_from = "liveness poll"


class DeadlineExpired(Event, frozen=True, tag="deadline"):
    """A span that the machine had asked to be watched is over."""

    deadline: Deadline
    after_s: float
    """How long the span was, in seconds."""
    budget: bool = False
    """For ``load``: the budget for the whole load is spent, not the span without progress."""

    comes_from = "timeout"

    @property
    def trigger(self) -> str:
        """One trigger a deadline: ``load_timeout`` for ``load``."""
        return f"{self.deadline.value}_timeout"


class SupervisorLate(Event, frozen=True, tag="supervisor_late"):
    """The supervisor itself did not run for a while (a laptop that slept, a machine that swapped): no deadline may be judged by it."""

    late_s: float
    """Seconds by which it woke too late."""

    comes_from = "liveness poll"


class Hello(Event, frozen=True, tag="hello"):
    """The worker is up."""

    protocol_ok: bool = True
    """Whether it speaks our version of the protocol."""
    versions: dict[str, str] = {}


class LoadProgress(Event, frozen=True, tag="load_progress"):
    """The load moved on."""

    step: str
    """``importing``, ``weights`` or ``warm-up``."""
    done: int = 0
    total: int = 0


class Loaded(Event, frozen=True, tag="loaded"):
    """The model answers."""

    context: int = 0
    """Longest prompt and answer together, in tokens; 0 if the worker did not say."""
    device: str = ""


class Unloaded(Event, frozen=True, tag="unloaded"):
    """The model is gone from the worker's memory."""


class WorkerFailed(Event, frozen=True, tag="worker_failed"):
    """An exception outside a request: the worker ends. An out-of-memory comes as ``OutOfMemory`` instead."""

    cause: FailureCause


class ProtocolBroken(Event, frozen=True, tag="protocol_broken"):
    """The child sent what it must not."""

    detail: str


class Bye(Event, frozen=True, tag="bye"):
    """The worker let go of everything and is about to exit with 0."""


class RequestEvent(Event, frozen=True):
    """Base of what the worker tells about one request."""

    request: int


class RequestStarted(RequestEvent, frozen=True, tag="request_started"):
    """The worker took it up."""

    prompt_tokens: int = 0


class RequestProgress(RequestEvent, frozen=True, tag="request_progress"):
    """More of the prompt is read."""

    done: int = 0
    total: int = 0


class FirstToken(RequestEvent, frozen=True, tag="first_token"):
    """The prompt is read and the answer begins."""


class RequestDone(RequestEvent, frozen=True, tag="request_done"):
    """The worker finished it."""

    reason: str = "stop"
    """``stop`` or ``length``."""
    tokens: int = 0


class RequestEnded(RequestEvent, frozen=True, tag="request_cancelled"):
    """The worker ended it because of a cancel."""

    tokens: int = 0


class RequestErred(RequestEvent, frozen=True, tag="request_failed"):
    """The worker rejected it, or an exception was raised while it was worked on. The runner goes on."""

    kind: RequestErrorKind
    message: str
    traceback: str = ""
    tokens: int = 0


AnyEvent = (
    Start
    | Load
    | Unload
    | Shutdown
    | Restart
    | Submit
    | Cancel
    | Spawned
    | SpawnFailed
    | Exited
    | Settled
    | OutOfMemory
    | Hung
    | SupervisorLate
    | DeadlineExpired
    | Hello
    | LoadProgress
    | Loaded
    | Unloaded
    | WorkerFailed
    | ProtocolBroken
    | Bye
    | RequestStarted
    | RequestProgress
    | FirstToken
    | RequestDone
    | RequestEnded
    | RequestErred
)
"""Every event, as a type that msgspec can decode."""
