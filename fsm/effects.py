"""What the machine wants done: the only way out of it. An effect is a value; ``runner`` performs it."""

import msgspec

from fsm.failure import FailureCause
from fsm.states import Deadline, RequestErrorKind, RequestState


class Effect(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="do"):
    """Base of all effects."""


class Spawn(Effect, frozen=True, tag="spawn"):
    """Start the child; answer with ``Spawned`` or ``SpawnFailed``."""


class SendLoad(Effect, frozen=True, tag="send_load"):
    """Tell the worker to load the model."""


class SendUnload(Effect, frozen=True, tag="send_unload"):
    """Tell the worker to let go of the model."""


class SendRequest(Effect, frozen=True, tag="send_request"):
    """Hand a request to the worker."""

    request: int


class SendCancel(Effect, frozen=True, tag="send_cancel"):
    """Tell the worker to stop a request."""

    request: int


class Ask(Effect, frozen=True, tag="ask"):
    """Ask the worker to end by itself."""


class DumpStacks(Effect, frozen=True, tag="dump_stacks"):
    """Have the child write its Python stacks to its standard error, before the signal that follows."""


class Terminate(Effect, frozen=True, tag="terminate"):
    """Send SIGTERM to the child's group."""


class Kill(Effect, frozen=True, tag="kill"):
    """Send SIGKILL to the child's group."""


class GiveUp(Effect, frozen=True, tag="give_up"):
    """The process can't be killed: stop waiting for it and settle without an exit."""


class Settle(Effect, frozen=True, tag="settle"):
    """Read to its end what the child left behind, then answer with ``Settled``."""


class Arm(Effect, frozen=True, tag="arm"):
    """Watch a span from now on, anew if it is watched already; answer with ``DeadlineExpired``."""

    deadline: Deadline


class Disarm(Effect, frozen=True, tag="disarm"):
    """Stop watching a span."""

    deadline: Deadline


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a request ended. There is exactly one a request."""

    request: int
    state: RequestState
    """``Done``, ``Cancelled`` or ``Failed``."""
    incarnation: int
    reason: str = ""
    """For ``Done``: ``stop`` or ``length``."""
    kind: RequestErrorKind | None = None
    """For ``Failed``: why."""
    message: str = ""
    cause: FailureCause | None = None
    """For ``runner_failed``: the cause of the incarnation's failure."""
    retryable: bool = False
    """Whether the same request can succeed if it is sent again."""
    tokens: int = 0
    """Tokens that the worker told of; what reached the reader is counted by the reader's end."""


class Release(Effect, frozen=True, tag="release"):
    """Give a request's reader its outcome."""

    outcome: Outcome


class Announce(Effect, frozen=True, tag="announce"):
    """Tell everybody who waits that the incarnation is over. Exactly once an incarnation."""


AnyEffect = (
    Spawn
    | SendLoad
    | SendUnload
    | SendRequest
    | SendCancel
    | Ask
    | DumpStacks
    | Terminate
    | Kill
    | GiveUp
    | Settle
    | Arm
    | Disarm
    | Release
    | Announce
)
"""Every effect, as a type that msgspec can decode."""
