"""Who waits until a restart is due, begins it, and has the model loaded again."""

from collections.abc import Awaitable, Callable

import anyio

from fsm import CommandRefused, State
from runner.errors import RunnerFailed
from runner.restart.course import Course, DueRestart


class Restarter:
    """Carries out what the course says is due. One task, for the life of a supervisor.

    Args:
        course: what is due.
        begin: begins the incarnation that follows, once the one before is reaped; does nothing if that is no longer wanted.
        load: loads the model into it.
        state: of the runner.
        changed: told when something other than a record changed the course.
    """

    def __init__(
        self,
        course: Course,
        *,
        begin: Callable[[DueRestart], Awaitable[None]],
        load: Callable[[], Awaitable[object]],
        state: Callable[[], State],
        changed: Callable[[], None],
    ) -> None:
        self._course = course
        self._begin = begin
        self._load = load
        self._state = state
        self._changed = changed
        self._news = anyio.Event()

    def wake(self) -> None:
        """The course changed."""
        self._news.set()

    async def run(self) -> None:
        """Wait and restart until cancelled, at any moment: nothing is left half done."""
        while True:
            self._news = anyio.Event()
            due = self._course.due
            if due is None:
                await self._news.wait()
                continue
            with anyio.CancelScope(deadline=due.at):
                await self._news.wait()
                continue
            await self._begin(due)
            if self._course.load_wanted and self._course.due is None:
                await self._load_again()

    async def _load_again(self) -> None:
        try:
            await self._load()
        except RunnerFailed:
            # It died over it. What follows from that is decided by now.
            return
        except CommandRefused as refusal:
            # In any other state somebody else was quicker, and that is what was wanted.
            if self._state() is State.IDLE and self._course.load_wanted:
                self._course.give_up(f"The model can't be loaded again: {refusal.reason}")
                self._changed()
