"""How a worker ends. All ways out that the worker chooses itself are here, so that none leaves a process behind."""

import os
import signal
import sys
from typing import NoReturn


def end_group() -> NoReturn:
    """Kill the whole process group with SIGKILL, this process included. From any thread, whatever the others do.

    Used when the supervisor is gone: there is nobody left to tell, and a model in memory serves nobody. A worker that
    does not lead a group of its own (started by hand from a shell) kills itself alone.
    """
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL does not return")


def begin_to_leave() -> None:
    """From here on the end is our own: the SIGTERM that a report earns must not take the place of our exit status.

    From the main thread only. What hangs after this is ended by the SIGKILL that follows a SIGTERM.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def leave(code: int) -> NoReturn:
    """Write out what is buffered, then end with ``code`` at once.

    No interpreter shutdown and no C++ destructors: they can hang or crash after everything that mattered is done, and
    that would be read as a failure.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # nobody reads it any more
    os._exit(code)
