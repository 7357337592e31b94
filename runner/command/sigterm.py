"""SIGTERM for a main thread that waits in ``input()``.

Python runs a signal handler between two steps of the main thread. One that is about to wait for a key in the terminal's line
editor, and has not begun to, would sleep over it until the next key. So a thread that hears of the signal too wakes the main
thread until it has listened.
"""

import os
import signal
import threading
from types import FrameType, TracebackType

from runner.command.exit_codes import ExitCode

_AGAIN_S = 0.05


class EndsInOrder:
    """In its block, SIGTERM raises ``SystemExit`` with the exit code for it. At its end all signals that could disturb the
    ending are ignored: what is left is bounded, and must be done.
    """

    def __init__(self) -> None:
        self._heard = threading.Event()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._main = threading.get_ident()
        self._waker = threading.Thread(target=self._wake, name="sigterm", daemon=True)

    def __enter__(self) -> "EndsInOrder":
        signal.signal(signal.SIGTERM, self._end)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._waker.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        self._heard.set()
        os.close(self._writer)
        self._waker.join()
        os.close(self._reader)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._heard.set()
        raise SystemExit(ExitCode.TERMINATED)

    def _wake(self) -> None:
        while number := os.read(self._reader, 1):
            if number[0] == signal.SIGTERM:
                while not self._heard.wait(_AGAIN_S):
                    signal.pthread_kill(self._main, signal.SIGTERM)
                return
