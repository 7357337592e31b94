"""How a worker makes sure that it does not outlive its supervisor, where the kernel can do it without our help.

The reader thread does the same at the end of the socket, on every system. But it needs the interpreter: it can't act in
a process that is stopped, or whose main thread hangs in native code without letting go of the interpreter lock.
"""

import ctypes
import fcntl
import logging
import os
import signal
import sys
from typing import Any, cast

from runner.worker.ending import end_group

_PR_SET_PDEATHSIG = 1  # linux/prctl.h

logger = logging.getLogger(__name__)


def wake_at_parents_death() -> None:
    """Have the kernel wake us if we are stopped when the parent dies; the reader does the rest. Linux only.

    Not SIGKILL, which would end this process before its reader could end the group, and leave our children behind.
    """
    if sys.platform != "linux":
        return
    parent = os.getppid()
    cast("Any", ctypes.CDLL(None)).prctl(_PR_SET_PDEATHSIG, signal.SIGCONT, 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel knew that we care
        end_group()


def tie(fd: int) -> None:
    """Have the kernel kill our process group as soon as the other end of the pipe ``fd`` is closed. Linux only.

    Only the supervisor may hold that end, and nothing may be written to it: a byte kills as well. On other systems the
    reader thread is alone.
    """
    os.set_inheritable(fd, False)
    if sys.platform != "linux" or os.getpgrp() != os.getpid():
        return
    try:
        fcntl.fcntl(fd, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    except OSError as error:  # some sandboxes know no F_SETSIG
        logger.warning("The kernel does not tie this process to its parent: %s", error)
