"""The errors that callers of a runner meet. Each carries what it is about as attributes; its text says what to do."""

from fsm import CommandRefused, FailureCause, Outcome, RequestErrorKind, State


class RunnerFailed(Exception):
    """The incarnation is over, and what was waited for can't come any more.

    Attributes:
        cause: why it failed; ``None`` if it was shut down.
        state: ``Failed`` or ``Shutdown``.
        incarnation: its number.
    """

    def __init__(self, cause: FailureCause | None, state: State, incarnation: int) -> None:
        if cause is None:
            text = "The runner was shut down. restart() begins the next incarnation."
        else:
            text = f"{cause.kind.value} ({cause.certainty.value}) during {cause.phase.value}: {cause.sentence} {cause.remedy}"
        super().__init__(text)
        self.cause = cause
        self.state = state
        self.incarnation = incarnation


class RequestFailed(Exception):
    """This request failed.

    Attributes:
        outcome: all that is known: kind, message, tokens delivered, incarnation.
        kind: why; ``runner_failed`` if the whole incarnation did.
        cause: for ``runner_failed``, the cause of that.
        retryable: whether the same request can succeed if it is sent again.
    """

    def __init__(self, outcome: Outcome) -> None:
        kind = outcome.kind or RequestErrorKind.EXCEPTION
        super().__init__(f"Request {outcome.request} failed ({kind.value}): {outcome.message}")
        self.outcome = outcome
        self.kind = kind
        self.cause = outcome.cause
        self.retryable = outcome.retryable


class RequestCancelled(Exception):
    """This request was cancelled before it was done.

    Attributes:
        outcome: all that is known, tokens delivered among it.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"Request {outcome.request} was cancelled after {outcome.tokens} tokens.")
        self.outcome = outcome


class ProcessUnkillable(Exception):
    """The child did not end even after SIGKILL; it is left behind and reported.

    Attributes:
        pid: its process id, if there was one.
    """

    def __init__(self, pid: int | None) -> None:
        super().__init__(f"Process {pid} did not end after SIGKILL. It waits in the kernel; a reboot may be needed.")
        self.pid = pid


__all__ = ["CommandRefused", "ProcessUnkillable", "RequestCancelled", "RequestFailed", "RunnerFailed"]
