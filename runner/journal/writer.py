"""Who writes a journal: a thread that owns the file, and the event loop's end of it.

The event loop only notes: a disk that is slow, full or gone holds up no event. What waits for a record to be written waits
here, for as long as the caller says. What can't be written is held, within a bound, and tried again; what is not held is told
of by a gap, from whose checkpoint a replay goes on.
"""

import contextlib
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import anyio

from fsm import Record, Restart, Verdict
from fsm.checkpoint import Checkpoint
from fsm.journal import Diverged, Keeper
from runner.journal.buffer import Buffer, Item, Lost, Overran, Said, Step
from runner.journal.errors import JournalRefused
from runner.journal.file import JournalFile
from runner.silence import logger

BEGIN_S = 2.0  # for the first file to be there; a disk that takes longer is not waited for
AGAIN_S = 1.0  # between two attempts to write to a disk that refuses
CLOSE_S = 2.0  # for the last lines; a disk that takes longer is left to the thread alone


class JournalWriter:
    """One run's journal, being written.

    Args:
        keeper: makes the lines.
        path: of the first file; the others get ``.1``, ``.2`` and so on.
        max_bytes: a file that has as many is followed by the next.
        text: whether prompts and answers are to be written down.
        prepare: makes the place for the first file, in the writer's thread.
    """

    def __init__(
        self,
        keeper: Keeper,
        path: Path,
        *,
        max_bytes: int,
        text: bool,
        prepare: Callable[[Path], None] | None = None,
    ) -> None:
        self.path = path
        self.text = text
        self._keeper = keeper
        self._max_bytes = max_bytes
        self._prepare = prepare
        self._buffer = Buffer()
        # The event loop's side.
        self._losing = False
        self._more = anyio.Event()
        # Shielded: whoever waits for the last lines is woken while all else is being cancelled. It ends with ``close``.
        self._running = anyio.CancelScope(shield=True)
        # Both sides', each written by one of them.
        self._waiting = False
        self._written = -1
        self._refusing = False
        self._diverged = False
        self._refusal: JournalRefused | None = None
        self._begun = False
        self._done = False
        self._reader, self._waker = socket.socketpair()
        self._reader.setblocking(False)
        self._waker.setblocking(False)
        # The thread's side.
        self._file: JournalFile | None = None
        self._files = 0
        self._unwritten = b""
        self._next_seq = 0
        self._told = False
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)

    # The event loop's side.

    async def begin(self) -> None:
        """Start the thread and wait until it has made the first file, or until it is known that it can't now.

        Shielded from cancellation, and bounded.

        Raises:
            JournalRefused: if there is such a file already. Nothing is left of the writer then.
        """
        self._thread.start()
        with anyio.move_on_after(BEGIN_S, shield=True):
            while not self._begun:
                await anyio.wait_readable(self._reader)
                self._reader.recv(4096)
        if self._refusal is not None:
            self._reader.close()
            raise self._refusal

    def append(self, record: Record, checkpoint: Callable[[], Checkpoint]) -> None:
        """Note a record. Never blocks.

        Args:
            record: the newest.
            checkpoint: gives where the machine stands after it, in case that records were lost.
        """
        if not self._losing and not self._diverged:
            self._losing = not self._buffer.add(Step(record, _now()))
        elif self._buffer.half_empty and not _begins_another(record):
            self._tell_loss(checkpoint())

    def said(self, request: int, role: str, text: str) -> None:
        """Note a prompt or an answer, if the journal is to hold them. Never blocks; of too many some are left out."""
        if self.text:
            self._buffer.add(Said(request, role, text, _now()))

    def overran(self, seq: int, waited_s: float) -> None:
        """Note that the effects of a step did not wait for it. Never blocks."""
        self._buffer.add(Overran(seq, waited_s, _now()))

    def is_written(self, seq: int) -> bool:
        """Whether that record is in the hands of the system."""
        return self._written >= seq

    async def wait_written(self, seq: int) -> None:
        """Wait until that record is written, or for as long as it is not known that it can't be. Cancelling changes nothing."""
        while not (self._written >= seq or self._refusing or self._losing):
            self._waiting = True
            if self._written >= seq or self._refusing:
                return
            await self._more.wait()

    async def run(self) -> None:
        """Wake those who wait, until closed or cancelled."""
        with self._reader, self._running:
            while True:
                await anyio.wait_readable(self._reader)
                with contextlib.suppress(BlockingIOError):
                    self._reader.recv(4096)
                self._waiting = False
                more, self._more = self._more, anyio.Event()
                more.set()

    async def close(self, checkpoint: Checkpoint) -> None:
        """Write what is left and the end, in bounded time. ``run`` must still run. Shielded from cancellation."""
        if self._losing or self._diverged:
            self._tell_loss(checkpoint)
        self._buffer.close()
        with anyio.move_on_after(CLOSE_S, shield=True):
            while not self._done:
                self._waiting = True
                if not self._done:
                    await self._more.wait()
        if not self._done:
            logger.warning("The journal {} could not be finished: the disk does not answer.", self.path)
        self._running.cancel()

    def _tell_loss(self, checkpoint: Checkpoint) -> None:
        reason = "The disk did not take what was held." if self._losing else "A step was derived otherwise."
        self._buffer.add(Lost(reason, checkpoint, _now()), even_if_full=True)
        self._losing = self._diverged = False

    # The thread's side.

    def _work(self) -> None:
        try:
            if not self._make_first():
                return
            while (item := self._buffer.next()) is not None:
                self._take(item)
            self._unwritten += self._keeper.closing(_now())
            self._flush()
            self._sync()
        finally:
            if self._file is not None:
                self._file.close()
            self._refusing = self._done = True
            self._wake()
            self._waker.close()

    def _make_first(self) -> bool:
        """Make the first file, now or later; give whether the run is to be written at all."""
        try:
            if self._prepare is not None:
                self._prepare(self.path)
            self._unwritten = self._keeper.opening(_now())
            self._open()
        except JournalRefused as refusal:
            self._refusal = refusal
            return False
        except OSError as error:
            self._refused(error)
        finally:
            self._begun = True
            self._wake()
        return True

    def _take(self, item: Item) -> None:
        if not self._unwritten:
            self._rotate()
        match item:
            case Step(record, wall):
                self._step(record, wall)
            case Lost(reason, checkpoint, wall):
                lost = checkpoint.next_seq - self._next_seq
                self._unwritten += self._keeper.gap(lost, reason, checkpoint, wall)
                self._next_seq = checkpoint.next_seq
            case Overran(seq, waited_s, wall):
                self._unwritten += self._keeper.overrun(seq, waited_s, wall)
            case Said(request, role, text, wall):
                self._unwritten += self._keeper.text(request, role, text, wall)
        self._flush()
        if isinstance(item, Step) and item.record.verdict is Verdict.MOVED and not self._unwritten:
            logger.info("The journal's head is {} at step {}.", self._keeper.head, item.record.seq)
            self._sync()

    def _step(self, record: Record, wall: datetime) -> None:
        if record.seq != self._next_seq:
            # Between a step that was derived otherwise and the gap that is on its way.
            return
        try:
            self._unwritten += self._keeper.step(record, wall)
        except Diverged as error:
            logger.critical("The journal can't follow the runner, which is a fault in runner-fsm: {}", error)
            self._diverged = True
        else:
            self._next_seq += 1

    def _flush(self) -> None:
        """Write what is to be written, for as long as it takes; at the end of the run, try once more and leave it."""
        while self._unwritten:
            try:
                if self._file is None:
                    self._open()
                assert self._file is not None
                while self._unwritten:
                    self._unwritten = self._unwritten[self._file.write(self._unwritten) :]
            except (OSError, JournalRefused) as error:
                self._refused(error)
                if self._buffer.wait_closed(AGAIN_S):
                    return
        if self._refusing:
            logger.info("The journal {} is written again.", self.path)
        self._refusing = False
        self._written = self._next_seq - 1
        if self._waiting:
            self._wake()

    def _refused(self, error: Exception) -> None:
        if not self._refusing:
            logger.warning("The journal {} can't be written, and the runner goes on without it: {}", self.path, error)
        self._refusing = True
        self._wake()

    def _open(self) -> None:
        path = self.path if not self._files else self.path.with_name(f"{self.path.name}.{self._files}")
        file = JournalFile(path)
        if self._file is not None:
            self._file.close()
        self._file = file
        self._files += 1

    def _rotate(self) -> None:
        """Begin the next file if this one is full. Where none can be made, this one goes on."""
        if self._file is None or self._file.size < self._max_bytes:
            return
        self._sync()
        try:
            self._open()
        except (OSError, JournalRefused) as error:
            if not self._told:
                logger.warning("The journal {} can't be continued in another file: {}", self.path, error)
            self._told = True
        else:
            self._unwritten = self._keeper.opening(_now())

    def _sync(self) -> None:
        if self._file is None:
            return
        try:
            self._file.sync()
        except OSError as error:
            if not self._told:
                logger.warning("The journal {} may not survive a crash of the machine: {}", self.path, error)
            self._told = True

    def _wake(self) -> None:
        # Full is as good as sent; closed, and nobody is there to be woken.
        with contextlib.suppress(OSError):
            self._waker.send(b"\0")


def _begins_another(record: Record) -> bool:
    """Whether the checkpoint after this record is the next incarnation's, which is not there yet."""
    return isinstance(record.event, Restart) and record.verdict is Verdict.STAYED


def _now() -> datetime:
    return datetime.now(UTC)
