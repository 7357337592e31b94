"""Supervisors with short deadlines, and what can be told from their records."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from fsm import Announce, Record
from runner import Fault, FaultKind, RunnerSupervisor, Settings
from runner.feed import Missed

SHORT = Settings(
    load_timeout=3,
    prefill_timeout=1.5,
    decode_timeout=1.5,
    cancel_timeout=1.5,
    unload_timeout=1.5,
    poll_interval=0.2,
    hung_after=2,
    busy_hung_after=4,
    drain_timeout=0.5,
    ask_timeout=1,
    terminate_timeout=1,
)
"""Short enough for a test, long enough for a busy machine with two cores."""


@asynccontextmanager
async def runner_with(
    fault: str | None = None, phase: str = "idle", argument: str = "", settings: Settings = SHORT, **more: Any
) -> AsyncGenerator[RunnerSupervisor]:
    """A supervisor on ``tiny`` whose worker brings one fault on itself."""
    faults = [Fault(FaultKind(fault), phase, argument)] if fault else []  # pyright: ignore[reportArgumentType]
    async with RunnerSupervisor("tiny", settings=settings, faults=faults, **more) as runner:
        yield runner


async def records_of(runner: RunnerSupervisor) -> list[Record]:
    """All records so far."""
    records: list[Record] = []
    last = runner.snapshot().seq
    async for record in runner.changes(since=0):
        assert not isinstance(record, Missed)
        records.append(record)
        if record.seq == last:
            break
    return records


def announcements(records: list[Record]) -> int:
    return sum(isinstance(effect, Announce) for record in records for effect in record.effects)
