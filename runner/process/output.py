"""What the child prints: read line by line into the log, with a bounded head and tail kept as evidence.

The head is kept since the first cause of a cascade counts, the tail since the last words do. A child that prints without end
is read without end, but neither memory nor the log grows with it.
"""

import fcntl
import math
import os
import struct
import termios
from collections import deque

import anyio
from loguru import logger

from runner.process.exit_watch import Descriptor

LINE_LIMIT = 4096
"""Characters of a line that are kept."""
HEAD = 100
"""Lines kept from the beginning of standard error."""
TAIL = 200
"""Lines kept from its end."""
LOGGED_A_SECOND = 500
"""Lines a second that go to the log; more are counted and left out, since the log is slower than a child that floods."""
READ = 65536
"""Bytes a read: what a pipe holds on Linux."""
QUIET_S = 0.03
"""Without a line for so long, a dump of stacks is taken to be whole: it is written in one go, by one thread."""


class Lines:
    """One stream cut into lines.

    Args:
        descriptor: the reading end of a pipe; it belongs to this object from here on.
        name: ``stdout`` or ``stderr``.
        pid: of the child, for the log.
    """

    def __init__(self, descriptor: Descriptor, name: str, pid: int) -> None:
        os.set_blocking(descriptor.fileno(), False)
        self.descriptor = descriptor
        self.head: list[str] = []
        self.tail: deque[str] = deque(maxlen=TAIL)
        self.count = 0
        self._log = logger.bind(stream=name, pid=pid)
        self._name = name
        self._part = b""
        self._cut = False
        self._window = -math.inf
        self._logged = 0
        self._left_out = 0

    @property
    def open(self) -> bool:
        """Whether anything can still come."""
        return self.descriptor.fileno() >= 0

    def arrived(self) -> int:
        """Bytes that can be read without waiting."""
        if not self.open:
            return 0
        return struct.unpack("i", fcntl.ioctl(self.descriptor.fileno(), termios.FIONREAD, bytes(4)))[0]

    def read(self, now: float, limit: int = READ) -> int:
        """Read once without waiting: how many bytes came. At the end of the stream it lets go of it.

        Args:
            now: seconds, for the bound on what is logged.
            limit: bytes to read at most.
        """
        if not self.open:
            return 0
        try:
            data = os.read(self.descriptor.fileno(), limit)
        except BlockingIOError:
            return 0
        if not data:
            self.close(now)
            return 0
        # A progress bar rewrites its line with carriage returns; each state of it is a line here.
        first, *others = data.replace(b"\r", b"\n").split(b"\n")
        if not self._cut:
            self._part += first
        if others:
            self._keep(self._part, now)
            *whole, self._part = others
            self._cut = False
            for line in whole:
                if line:
                    self._keep(line, now)
        if len(self._part) > LINE_LIMIT:
            # What is over the limit is not kept anyway; a line without an end must not grow.
            self._part, self._cut = self._part[:LINE_LIMIT], True
        return len(data)

    def close(self, now: float) -> None:
        """Keep what is left of a last line, and let go of the stream."""
        self._keep(self._part, now)
        self._part = b""
        if self._left_out:
            self._tell_left_out()
        if self.open:
            anyio.notify_closing(self.descriptor)
            self.descriptor.close()

    def lines(self) -> tuple[str, ...]:
        """Head and tail, with a line between them that says how many are missing."""
        missing = self.count - len(self.head) - len(self.tail)
        gap = (f"[{missing} lines left out]",) if missing > 0 else ()
        return (*self.head, *gap, *self.tail)

    def _keep(self, raw: bytes, now: float) -> None:
        text = raw[:LINE_LIMIT].decode(errors="replace").rstrip()
        if not text:
            return
        self.count += 1
        if len(self.head) < HEAD:
            self.head.append(text)
        else:
            self.tail.append(text)
        if now - self._window >= 1:
            if self._left_out:
                self._tell_left_out()
            self._window, self._logged = now, 0
        if self._logged < LOGGED_A_SECOND:
            self._logged += 1
            self._log.debug("{}", text)
        else:
            self._left_out += 1

    def _tell_left_out(self) -> None:
        self._log.warning(
            "{} lines of {} were not logged: more than {} a second.", self._left_out, self._name, LOGGED_A_SECOND
        )
        self._left_out = 0


class ChildOutput:
    """Both streams of a child."""

    def __init__(self, stdout: Descriptor, stderr: Descriptor, pid: int) -> None:
        self._stdout = Lines(stdout, "stdout", pid)
        self._stderr = Lines(stderr, "stderr", pid)
        self._written = anyio.Event()

    async def run(self) -> None:
        """Read both streams until their ends or until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run, self._stdout)
            tasks.start_soon(self._run, self._stderr)

    async def _run(self, stream: Lines) -> None:
        while stream.open:
            try:
                await anyio.wait_readable(stream.descriptor)
            except anyio.ClosedResourceError:
                return
            if stream.read(anyio.current_time()) and stream is self._stderr:
                self._written.set()
                self._written = anyio.Event()

    def drain(self, bound: float) -> None:
        """Read what can be read without waiting, for ``bound`` seconds at most.

        Only what has arrived by now is read: a descendant that goes on writing can't keep the caller. What a process wrote has
        arrived when its death is noticed, so after a death this is everything.
        """
        now = anyio.current_time()
        end = now + bound
        # The last words of a process are on standard error: first that.
        for stream in (self._stderr, self._stdout):
            arrived = stream.arrived()
            while arrived > 0 and now < end and (got := stream.read(now, min(arrived, READ))):
                arrived -= got
                now = anyio.current_time()

    async def quiet(self) -> None:
        """Wait until something was written to standard error and then nothing for a moment."""
        await self._written.wait()
        while True:
            with anyio.move_on_after(QUIET_S):
                await self._written.wait()
                continue
            return

    def stderr_lines(self) -> tuple[str, ...]:
        """Standard error as far as it is kept: the first lines and the last ones."""
        return self._stderr.lines()

    def close(self) -> None:
        """Let go of both streams."""
        now = anyio.current_time()
        self._stdout.close(now)
        self._stderr.close(now)
