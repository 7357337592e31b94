"""The independent watch of a drill: when did the kernel tell of the child's death, to somebody who did nothing but wait?

Here lives the end of it that is in this process; what waits is the program ``death_notice``.
"""

import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import anyio.to_thread

ANSWER_S = 5.0  # far more than a program takes to answer that is not stuck


class DeathWatch:
    """Watches one process at a time. Its block ends the program."""

    def __init__(self) -> None:
        self._program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "DeathWatch":
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    async def follow(self, pid: int) -> bool:
        """Watch a process from now on. Whether it was still there."""
        return await anyio.to_thread.run_sync(self._follow, pid) == "watching"

    async def death(self) -> float | None:
        """When it died, in seconds of the system's monotonic clock, for one that is dead; ``None`` if that is not known."""
        told = await anyio.to_thread.run_sync(self._answer)
        try:
            return float(told)
        except ValueError:
            return None

    def _follow(self, pid: int) -> str:
        program = self._started()
        assert program.stdin is not None
        program.stdin.write(f"{pid}\n".encode())
        program.stdin.flush()
        return self._answer()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._program is None:
            # A session of its own: Ctrl-C in the terminal is for the drill, which ends this program in order.
            self._program = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(__file__).with_name("death_notice.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        return self._program

    def _answer(self) -> str:
        if self._program is None:
            return ""
        assert self._program.stdout is not None
        # Never two lines at once: the second is written when somebody has died, and is asked for after that.
        if not select.select([self._program.stdout], [], [], ANSWER_S)[0]:
            # Its process does not die. Another one watches the next.
            self._end()
            return ""
        return self._program.stdout.readline().decode().strip()

    def _end(self) -> None:
        if self._program is not None:
            self._program.kill()
            self._program.communicate()
            self._program = None
