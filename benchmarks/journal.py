"""What journalling costs: microseconds a record, with and without the disk, and bytes a request."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transitions import Machine

from benchmarks.figure import Figure
from fsm import (
    AnyEvent,
    FirstToken,
    Hello,
    Lifecycle,
    Load,
    Loaded,
    Record,
    RequestDone,
    RequestProgress,
    RequestStarted,
    Spawned,
    Start,
    Submit,
)
from fsm.journal import Keeper, Seal
from fsm.journal.lines import entry_of
from fsm.journal.seal import ZERO
from runner.journal.file import JournalFile

REQUESTS = 4000
SYNCED = 300
"""Fewer where each is synchronised: a disk takes milliseconds."""


def _events(requests: int) -> Iterator[AnyEvent]:
    at = iter(range(10**9))

    def stamp() -> dict[str, Any]:
        return {"incarnation": 1, "at": next(at)}

    yield Start(**stamp())
    yield Spawned(pid=100, **stamp())
    yield Hello(**stamp())
    yield Load(model="tiny", **stamp())
    yield Loaded(context=512, **stamp())
    for request in range(1, requests + 1):
        yield Submit(request=request, prompt_digest="0123456789abcdef", **stamp())
        yield RequestStarted(request=request, prompt_tokens=24, **stamp())
        yield RequestProgress(request=request, done=24, total=24, **stamp())
        yield FirstToken(request=request, **stamp())
        yield RequestDone(request=request, reason="length", tokens=64, **stamp())


def _records(requests: int) -> list[Record]:
    life = Lifecycle()
    return [life.handle(event).record for event in _events(requests)]


def _keeper() -> Keeper:
    return Keeper(run="0123456789abcdef", package="0", settings={}, seal=Seal())


def _microseconds(work: Callable[[], int]) -> float:
    """The best of three: whatever else runs on the machine only ever adds."""
    spans: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        count = work()
        spans.append((time.perf_counter() - start) / count * 1e6)
    return min(spans)


def _bare() -> int:
    """Triggers of a plain machine of two states."""
    machine = Machine(states=["a", "b"], initial="a", auto_transitions=False)
    machine.add_transition("go", "a", "b")  # pyright: ignore[reportUnknownMemberType]
    machine.add_transition("go", "b", "a")  # pyright: ignore[reportUnknownMemberType]
    trigger = machine.events["go"].trigger
    for _ in range(REQUESTS * 5):
        trigger(machine)  # pyright: ignore[reportUnknownMemberType]
    return REQUESTS * 5


def _handled() -> int:
    """Steps of the machine, each encoded and sealed."""
    life, seal, wall = Lifecycle(), Seal(), datetime.now(UTC)
    head, count = ZERO, 0
    for event in _events(REQUESTS):
        _, head = seal.line(entry_of(life.handle(event).record, run="0", wall=wall, prev=head))
        count += 1
    return count


def _kept(records: list[Record], write: Callable[[bytes], None]) -> int:
    keeper = _keeper()
    wall = datetime.now(UTC)
    for record in records:
        write(keeper.step(record, wall))
    return len(records)


async def measure() -> list[Figure]:
    """One ``handle``, a record with and without the disk, and the bytes of a request."""
    bare = _microseconds(_bare)
    handled = _microseconds(_handled)
    records = _records(REQUESTS)
    sizes: list[int] = []
    kept = _microseconds(lambda: _kept(records, lambda line: sizes.append(len(line))))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)

        def to_disk(records: list[Record], *, sync: bool) -> float:
            spans: list[float] = []
            file = JournalFile(path / f"{len(records)}")
            keeper, wall = _keeper(), datetime.now(UTC)
            for record in records:
                start = time.perf_counter()
                file.write(keeper.step(record, wall))
                if sync:
                    file.sync()
                spans.append((time.perf_counter() - start) * 1e6)
            file.close()
            return statistics.median(spans)

        written = to_disk(records, sync=False)
        synced = to_disk(records[:SYNCED], sync=True)
    per_request = sum(sizes[5 : len(records)]) / REQUESTS
    return [
        Figure(
            what="one handle with record and hash",
            ours=handled,
            unit="us",
            reference=bare,
            reference_is="one bare transitions trigger",
            reach=40,
            better="lower",
        ),
        Figure(
            what="a record to the hands of the system, median",
            ours=written,
            unit="us",
            reference=kept,
            reference_is="the same without the disk",
            reach=200,
            better="lower",
            detail=f"derived a second time, redacted, sealed, written; with fsync, as a change of state: {synced:,.0f} us",
        ),
        Figure(
            what="journal of a request",
            ours=per_request,
            unit="bytes",
            reference=128 * 5,
            reference_is="the hashes of its five records",
            reach=4096,
            better="lower",
        ),
    ]
