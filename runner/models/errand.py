"""Work for a child: what needs mlx, numpy or the hub's client, and what may take long, is not done in this process.

Here lives the parent's side of ``runner.worker.convert``: start it, hear its reports (a line of JSON each, on stdout),
end it. The child leads a session of its own and ends at the end of its stdin, so it survives neither a cancel nor the
death of this process.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress

import anyio
import anyio.abc
import anyio.to_thread
import msgspec
from anyio.streams.buffered import BufferedByteReceiveStream

from fsm.failure import Kind
from runner.models.errors import ModelError
from runner.models.progress import Progress

POLL_S = 0.2  # how often a download is looked at: often enough for a bar that moves
LINE_LIMIT = 65_536  # bytes of one report; a report is some hundred
TAIL_LINES = 40  # of the child's stderr, kept for an error
TAIL_BYTES = 16_384


class Moved(msgspec.Struct, frozen=True, tag="moved"):
    """The work has come this far."""

    progress: Progress


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """It can't be done; the fields are those of a ``ModelError``."""

    kind: Kind
    sentence: str
    remedy: str
    evidence: tuple[str, ...] = ()


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """It is done. ``value`` is a path where the errand finds one."""

    value: str = ""


Report = Moved | Refusal | Finished


class Outcome(msgspec.Struct, frozen=True):
    """How an errand ended."""

    last: Refusal | Finished | None
    """Its last word, if it had one."""
    code: int
    """Exit code; negative for the signal that ended it."""
    lines: tuple[str, ...]
    """The last lines of its stderr."""

    def value(self, otherwise: Kind, what: str) -> str:
        """Return what was found. Raise ``ModelError`` if the errand failed: its own, or one of kind ``otherwise``."""
        match self.last:
            case Finished(value) if self.code == 0:
                return value
            case Refusal(kind, sentence, remedy, evidence):
                raise ModelError(kind, sentence, remedy=remedy, evidence=evidence or self.lines)
            case _:
                how = f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"
                raise ModelError(otherwise, f"{what} ended with {how}.", evidence=self.lines)


async def run(
    errand: str,
    *arguments: str,
    report: Callable[[Progress], None] | None = None,
    watch: Callable[[], Progress] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Run an errand of ``runner.worker.convert`` to its end.

    A cancel kills the child and all that it started, and waits for that.

    Args:
        errand: Its name there.
        arguments: What it is given.
        report: Told of progress.
        watch: Asked for progress from time to time, in a thread, for an errand that can't tell it by itself.
        environment: Added to this process's own.
    """
    command = [sys.executable, "-P", "-m", "runner.worker.convert", errand, *arguments]
    process = await _start(command, {**os.environ, **(environment or {})})
    words: list[Refusal | Finished] = []
    tail: deque[bytes] = deque(maxlen=TAIL_LINES)
    try:
        async with anyio.create_task_group() as readers:
            readers.start_soon(_hear, process, report, words)
            readers.start_soon(_keep_tail, process, tail)
            async with anyio.create_task_group() as watchers:
                if watch is not None and report is not None:
                    watchers.start_soon(_look, watch, report)
                await process.wait()
                watchers.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    assert process.returncode is not None
    lines = tuple(line.decode("utf-8", "replace").rstrip() for line in tail if line.strip())
    return Outcome(words[-1] if words else None, process.returncode, lines)


async def _start(command: list[str], environment: dict[str, str]) -> anyio.abc.Process:
    # A cancel must not come between the start and the knowledge of it.
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(command, env=environment, start_new_session=True)
    raise AssertionError("nobody cancels that scope")


async def _hear(
    process: anyio.abc.Process, report: Callable[[Progress], None] | None, words: list[Refusal | Finished]
) -> None:
    assert process.stdout is not None
    stream = BufferedByteReceiveStream(process.stdout)
    with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while True:
            line = await stream.receive_until(b"\n", LINE_LIMIT)
            match msgspec.json.decode(line, type=Report):
                case Moved(progress):
                    if report is not None:
                        report(progress)
                case word:
                    words.append(word)


async def _keep_tail(process: anyio.abc.Process, tail: deque[bytes]) -> None:
    assert process.stderr is not None
    rest = b""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async for data in process.stderr:
            *lines, rest = (rest + data).split(b"\n")
            tail.extend(line[-TAIL_BYTES:] for line in lines)
            rest = rest[-TAIL_BYTES:]
    tail.append(rest)


async def _look(watch: Callable[[], Progress], report: Callable[[Progress], None]) -> None:
    while True:
        report(await anyio.to_thread.run_sync(watch))
        await anyio.sleep(POLL_S)


async def _end(process: anyio.abc.Process) -> None:
    if process.returncode is None:
        # PermissionError: what macOS says of a group whose last member is a zombie.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    await process.aclose()
