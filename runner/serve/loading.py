"""Loads that are the server's own doing, at its start and for ``/admin/load``, and how far the fetching of a model is."""

from runner.errors import CommandRefused, RunnerFailed
from runner.models.progress import Progress
from runner.silence import logger
from runner.supervisor import RunnerSupervisor


class Loading:
    """What is known of a load before the runner's own state tells of it. ``progress`` is for the supervisor to call."""

    def __init__(self) -> None:
        self._under_way = 0
        self._progress: Progress | None = None

    @property
    def under_way(self) -> bool:
        """Whether a load was begun and has not ended."""
        return self._under_way > 0

    @property
    def text(self) -> str:
        """How far the fetching is; empty if nothing is being loaded."""
        if not self._under_way:
            return ""
        progress = self._progress
        return "getting ready" if progress is None else f"{progress.step} {progress.done}/{progress.total}"

    def progress(self, progress: Progress) -> None:
        """Take note of how far the fetching is."""
        self._progress = progress

    async def load(self, runner: RunnerSupervisor) -> None:
        """Load the model. What becomes of it shows in the runner's state, so a failure is not raised here.

        Raises:
            CommandRefused: if the model can't be had or used.
        """
        self._under_way += 1
        self._progress = None
        try:
            await runner.load()
        except RunnerFailed as error:
            # The supervisor has logged and recorded it; the server outlives it.
            logger.debug("The load ended: {}", error)
        finally:
            self._under_way -= 1

    async def try_load(self, runner: RunnerSupervisor) -> None:
        """Load the model; one that can't be had is told in the log."""
        try:
            await self.load(runner)
        except CommandRefused as error:
            logger.error("{}", error)
