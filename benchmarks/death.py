"""From SIGKILL of the child to the announcement, in the phases that a life has, against the kernel's own notice.

The kernel tells of a death only once it has torn the process down, which takes longer the more memory it had. That part is
nobody's to better, so a second watcher on the same child, a bare pidfd in a thread, says how long it was.
"""

import contextlib
import os
import select
import signal
import statistics
import threading
import time
from collections.abc import Generator

from benchmarks.figure import Figure
from runner import RunnerSupervisor, State


class Notice:
    """A bare pidfd, watched by a thread: when the kernel told of the death."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)
        self.at = 0.0
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.poll()
        self.at = time.perf_counter()

    def join(self) -> None:
        """Wait for the notice."""
        self._thread.join()
        os.close(self._descriptor)


@contextlib.contextmanager
def noticed(pid: int) -> Generator[Notice]:
    """Watch a child that is about to die."""
    notice = Notice(pid)
    try:
        yield notice
    finally:
        notice.join()


async def one(runner: RunnerSupervisor, phase: str) -> tuple[float, float]:
    """Kill the child in a phase. Gives milliseconds to the kernel's notice and to the announcement."""
    if phase != "idle":
        await runner.load()
    generation = runner.generate("Tell me something long.", max_tokens=400) if phase == "decode" else None
    if generation is not None:
        await anext(generation)
    while (pid := runner.snapshot().pid) is None or runner.snapshot().process.value != "up":
        await anext(runner.changes())
    with noticed(pid) as notice:
        start = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        await runner.wait_for(State.FAILED)
        end = time.perf_counter()
    if generation is not None:
        await generation.aclose()
    await runner.restart()
    return (notice.at - start) * 1e3, (end - start) * 1e3


async def measure(times: int = 60) -> list[Figure]:
    """Kill a child again and again, a third of the times in each phase."""
    rows: list[tuple[float, float]] = []
    details: list[str] = []
    async with RunnerSupervisor("tiny") as runner:
        for phase in ("idle", "loaded", "decode"):
            got = [await one(runner, phase) for _ in range(times // 3)]
            rows += got
            details.append(
                f"{phase}: {statistics.median(ours for _, ours in got):.1f} ms, kernel {statistics.median(k for k, _ in got):.1f} ms"
            )
    kernel = [kernel for kernel, _ in rows]
    ours = [ours for _, ours in rows]
    added = sorted(max(0.0, mine - theirs) for theirs, mine in rows)
    return [
        Figure(
            what="SIGKILL of the child to the announcement, median",
            ours=statistics.median(ours),
            unit="ms",
            reference=statistics.median(kernel),
            reference_is="a bare pidfd on the same child",
            reach=3,
            better="lower",
            detail="; ".join(details),
        ),
        Figure(
            what="SIGKILL of the child to the announcement, p99",
            ours=statistics.quantiles(ours, n=100)[98],
            unit="ms",
            reference=statistics.quantiles(kernel, n=100)[98],
            reference_is="a bare pidfd on the same child",
            reach=10,
            better="lower",
            detail=f"added by us: median {statistics.median(added):.2f} ms, most {added[-1]:.2f} ms",
        ),
    ]
