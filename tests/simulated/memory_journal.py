"""A journal in memory, written at once: virtual time and a writer's thread do not go together."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import anyio

from fsm import Record
from fsm.checkpoint import Checkpoint
from fsm.journal import Keeper, Seal

WALL = datetime(2026, 1, 1, tzinfo=UTC)


class MemoryJournal:
    """Both where records are to be written, and who writes them. Each record is derived a second time, or the test fails."""

    path = None
    text = False

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    async def begin(self, settings: Mapping[str, bool | int | float | str | None]) -> "MemoryJournal":
        self._keeper = Keeper(run="simulated", package="test", settings=settings, seal=Seal())
        self.lines.append(self._keeper.opening(WALL))
        return self

    def append(self, record: Record, checkpoint: Callable[[], Checkpoint]) -> None:
        self.lines.append(self._keeper.step(record, WALL))

    def said(self, request: int, role: str, text: str) -> None:
        pass

    def overran(self, seq: int, waited_s: float) -> None:
        raise AssertionError("written at once")

    def is_written(self, seq: int) -> bool:
        return True

    async def wait_written(self, seq: int) -> None:
        pass

    async def run(self) -> None:
        with anyio.CancelScope() as self._running:
            await anyio.sleep_forever()

    async def close(self, checkpoint: Checkpoint) -> None:
        self.lines.append(self._keeper.closing(WALL))
        self._running.cancel()
