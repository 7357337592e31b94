"""Standard output for text that comes bit by bit, written without ever blocking the event loop.

A reader that is slow (a pager, a terminal that was stopped with Ctrl-S) holds back the writing alone: meanwhile Ctrl-C is
heard, and the supervisor keeps its deadlines.
"""

import os
import select
import stat
import sys

import anyio
import anyio.lowlevel

_AT_ONCE = select.PIPE_BUF  # bytes; a pipe that can be written to takes so many without blocking


class Stdout:
    """Standard output of this process."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._number = sys.stdout.fileno()
        mode = os.fstat(self._number).st_mode
        # Files and /dev/null can always be written to, and can't be waited for.
        self._waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(self._number)
        self._midline = False

    async def write(self, text: str) -> None:
        """Write all of ``text``. Cancelling it leaves a part of it written.

        Raises:
            BrokenPipeError: if nobody reads any more.
        """
        await anyio.lowlevel.checkpoint()
        data = text.encode(sys.stdout.encoding, "replace")
        while data:
            if self._waits:
                await anyio.wait_writable(self._number)
            try:
                written = os.write(self._number, data[:_AT_ONCE])
            except BlockingIOError:
                # Somebody else wrote to the same pipe in between.
                continue
            self._midline = not data[:written].endswith(b"\n")
            data = data[written:]

    async def end_line(self) -> None:
        """End the line that was begun, if one was."""
        if self._midline:
            await self.write("\n")

    def leave_line(self) -> None:
        """On a terminal, end the line that an interruption left, so that the shell's prompt does not stand in it."""
        if self._midline and os.isatty(self._number):
            os.write(self._number, b"\n")
            self._midline = False
