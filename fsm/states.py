"""The states of both machines and the facts that stand beside a state. Names only; the rules are in the two tables."""

from enum import StrEnum


class State(StrEnum):
    """Where a runner is in its life. There is no sixth state."""

    IDLE = "Idle"
    """No model. The process is absent, starting or up."""
    LOADING = "Loading"
    """A model was asked for and is on its way."""
    RUNNING = "Running"
    """Serving, or ready to."""
    FAILED = "Failed"
    """The incarnation is lost; final once settled."""
    SHUTDOWN = "Shutdown"
    """The incarnation was asked to end; final once settled."""


class Process(StrEnum):
    """What is known of the child."""

    ABSENT = "absent"
    """Not started yet."""
    SPAWNING = "spawning"
    """The start was asked for; neither a process nor an error came back."""
    STARTING = "starting"
    """There is a process; it has not said hello."""
    UP = "up"
    """It said hello."""
    GONE = "gone"
    """It ended, or never came to be."""


class Activity(StrEnum):
    """What a state is busy with. Data on the record, never a state of its own."""

    NONE = "none"
    IMPORTING = "importing"
    WEIGHTS = "weights"
    WARM_UP = "warm-up"
    SERVING = "serving"
    DRAINING = "draining"
    """Requests under way may finish; new ones are refused."""
    CANCELLING = "cancelling"
    """The drain took too long: what was left of the requests is being cancelled."""
    UNLOADING = "unloading"
    ASKING = "asking"
    """The worker was asked to end by itself."""
    TERMINATING = "terminating"
    """SIGTERM was sent."""
    KILLING = "killing"
    """SIGKILL was sent."""
    SETTLING = "settling"
    """The process is gone; what it left behind is being read."""


class Deadline(StrEnum):
    """A span that the lifecycle wants watched. Its length is a setting of the runner, not of the machine."""

    START = "start"
    LOAD = "load"
    PREFILL = "prefill"
    DECODE = "decode"
    CANCEL = "cancel"
    UNLOAD = "unload"
    DRAIN = "drain"
    ASK = "ask"
    TERMINATE = "terminate"
    KILL = "kill"


class RequestState(StrEnum):
    """Where a request is in its life."""

    QUEUED = "Queued"
    PREFILL = "Prefill"
    DECODE = "Decode"
    DONE = "Done"
    CANCELLED = "Cancelled"
    FAILED = "Failed"

    @property
    def terminal(self) -> bool:
        """Whether nothing can follow."""
        return self in (RequestState.DONE, RequestState.CANCELLED, RequestState.FAILED)


class RequestErrorKind(StrEnum):
    """Why one request failed."""

    CONTEXT_LIMIT = "context_limit"
    """The prompt is longer than the model's context."""
    DOES_NOT_FIT = "does_not_fit"
    """Its key-value cache would not fit in memory."""
    BAD_REQUEST = "bad_request"
    """The worker can't make sense of it."""
    EXCEPTION = "exception"
    """An exception was raised while it was worked on."""
    RUNNER_FAILED = "runner_failed"
    """The incarnation failed; the outcome carries its cause."""


class Verdict(StrEnum):
    """What a step came to."""

    MOVED = "moved"
    """The state changed."""
    STAYED = "stayed"
    """The state is the same; a fact, a request or the process may not be."""
    IGNORED = "ignored"
    """The world told of something that no longer fits, or does not matter here."""
    REFUSED = "refused"
    """A command that this state does not allow. Nothing changed."""
