"""Supervisors for tests, and what can be told from their records.

A deadline is short only where the test wants it to be over: any other one must be too long for the slowest machine.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from fsm import Announce, Record
from runner import Fault, FaultKind, RunnerSupervisor, Settings
from runner.feed import Missed

PATIENT = Settings(
    start_timeout=60,
    poll_interval=0.2,
    hung_after=30,
    busy_hung_after=60,
    drain_timeout=0.5,
    ask_timeout=30,
    terminate_timeout=30,
    kill_timeout=30,
)
"""What does not end by itself is found at once where the kernel tells of it, and else hardly ever."""

OVER: dict[tuple[str, str], dict[str, float]] = {
    ("hang", "load"): {"load_timeout": 2},
    ("hang", "prefill"): {"prefill_timeout": 1.5},
    ("hang", "decode"): {"decode_timeout": 1.5},
    ("ignore-term", "decode"): {"decode_timeout": 1.5, "terminate_timeout": 1},
    ("ignore-term", "shutdown"): {"ask_timeout": 1, "terminate_timeout": 1},
    ("deaf", "idle"): {"load_timeout": 2, "prefill_timeout": 1.5, "ask_timeout": 1},
}
"""The deadlines that a fault at a phase is to run into, in seconds."""


@asynccontextmanager
async def runner_with(
    fault: str | None = None, phase: str = "idle", argument: str = "", settings: Settings | None = None, **more: Any
) -> AsyncGenerator[RunnerSupervisor]:
    """A supervisor on ``tiny`` whose worker brings one fault on itself."""
    if settings is None:
        settings = msgspec.structs.replace(PATIENT, **OVER.get((fault or "", phase), {}))
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
