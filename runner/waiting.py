"""Who waits for which state. Woken by records, in the step that makes them; released by the announcement at the latest."""

from types import TracebackType

import anyio
import anyio.lowlevel

from fsm import Record, State
from runner.errors import RunnerFailed

_ENDING = (State.FAILED, State.SHUTDOWN)


class Waiter:
    """One who waits. Leave the block to be forgotten."""

    def __init__(self, state: State, waiters: "dict[int, Waiter]") -> None:
        self._state = state
        self._waiters = waiters
        self._told = anyio.Event()
        self._record: Record | None = None

    def __enter__(self) -> "Waiter":
        self._waiters[id(self)] = self
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._waiters.pop(id(self), None)

    def tell(self, record: Record) -> None:
        """Look at a record: is it what is waited for, or the end of the hope for it?"""
        if self._record is None and (_brings(record, self._state) or record.settled):
            self._record = record
            self._told.set()

    async def wait(self) -> Record:
        """Wait for the record that brings the state.

        Raises:
            RunnerFailed: when the incarnation is over without it.
        """
        await self._told.wait()
        assert self._record is not None
        return _check(self._record, self._state)


class Waiting:
    """All who wait, and the record that stands for where the runner is now."""

    def __init__(self) -> None:
        self._waiters: dict[int, Waiter] = {}
        self._entered: Record | None = None

    @property
    def entered(self) -> Record:
        """The record that brought the present state, or settled it."""
        assert self._entered is not None
        return self._entered

    def tell(self, record: Record) -> None:
        """Pass a record on to everybody it concerns."""
        known = self._entered
        if (
            known is None
            or record.incarnation != known.incarnation
            or record.dest is not known.dest
            or (record.settled and not known.settled)
        ):
            self._entered = record
        for waiter in list(self._waiters.values()):
            waiter.tell(record)

    def register(self, state: State) -> Waiter:
        """Begin to wait for a state that comes from now on."""
        return Waiter(state, self._waiters)

    async def wait(self, state: State) -> Record:
        """Wait for a state that is or comes. Cancelling it changes nothing.

        Raises:
            RunnerFailed: when the incarnation is over without it.
        """
        entered = self.entered
        if _brings(entered, state) or entered.settled:
            await anyio.lowlevel.checkpoint()
            return _check(entered, state)
        with self.register(state) as waiter:
            return await waiter.wait()


def _brings(record: Record, state: State) -> bool:
    """Whether a record shows that state. The final states count once they are settled."""
    return record.dest is state and (record.settled or state not in _ENDING)


def _check(record: Record, state: State) -> Record:
    if _brings(record, state):
        return record
    raise RunnerFailed(record.cause, record.dest, record.incarnation)
