"""The errors of the pure part. Both tell of the caller: the world can't be wrong, it is recorded as ignored."""

from fsm.states import State


class CommandRefused(Exception):
    """A command that the runner does not allow now. Nothing was changed.

    Attributes:
        command: its name, such as ``load``.
        state: the state that refused it, or ``None`` where it was refused before the machine was asked.
        reason: why, and what to do instead.
    """

    def __init__(self, command: str, reason: str, state: State | None = None) -> None:
        where = f" in {state.value}" if state is not None else ""
        super().__init__(f"{command} refused{where}: {reason}")
        self.command = command
        self.reason = reason
        self.state = state


class NotSettled(Exception):
    """The next incarnation was asked for before this one is over."""
