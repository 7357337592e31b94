"""The death of a child, told by the kernel at once. Not by polling, and not when its pipes close, which a grandchild can delay.

A watch is a descriptor that becomes readable when the process has ended. It is opened right after the start, while the process
id can't belong to anybody else, so that nothing can fail later for want of a descriptor. Watching does not reap: until
``reap`` is called the dead process keeps its number.
"""

import contextlib
import errno
import os
import select
import sys
import threading
from subprocess import Popen
from typing import Protocol

from fsm import Exit


class ExitWatch(Protocol):
    """A descriptor that is readable once the process has ended, waited for with ``anyio.wait_readable``."""

    def fileno(self) -> int:
        """The descriptor."""
        ...

    def close(self) -> None:
        """Let go of it. The process is left as it is."""
        ...


class Descriptor:
    """A descriptor that is ours to close, once; closed at the latest when nobody holds it any more."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """Its number, -1 once it is closed."""
        return self._number

    def close(self) -> None:
        """Close it; a second time is no error."""
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    __del__ = close


def watch_exit(pid: int) -> ExitWatch:
    """Watch a child of ours.

    Never asyncio's ``Process.wait``: it waits for the pipes too, was seen to be three seconds late with a grandchild that held
    one, and does not exist on trio.

    Raises:
        OSError: if there is no descriptor or no thread left.
    """
    try:
        if sys.platform == "darwin":
            # macOS has no descriptor of a process, but queues of events, which can be waited for like one.
            return watch_with_kqueue(pid)
        if sys.platform == "linux":
            # Linux since 5.3.
            return Descriptor(os.pidfd_open(pid))
    except ProcessLookupError:
        # It ended before it could be watched.
        return _ended()
    except OSError as error:
        # An older kernel, or a sandbox that forbids the call. What is short (descriptors) is short for a thread as well.
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
    return watch_with_thread(pid)


def watch_with_kqueue(pid: int) -> ExitWatch:
    """A queue of its own with one event, the exit of the process."""
    if sys.platform != "darwin":
        raise NotImplementedError("Only macOS and the BSDs have kqueue.")
    queue = select.kqueue()
    event = select.kevent(
        pid,
        filter=select.KQ_FILTER_PROC,
        flags=select.KQ_EV_ADD | select.KQ_EV_ONESHOT,
        fflags=select.KQ_NOTE_EXIT,
    )
    try:
        queue.control([event], 0)
    except OSError:
        queue.close()
        raise
    return queue


def watch_with_thread(pid: int) -> ExitWatch:
    """A thread that waits without reaping, and closes a pipe at the end. It ends with the child."""
    reader, writer = os.pipe()

    def wait() -> None:
        # Reaped by somebody else in this program: it has ended all the same.
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        os.close(writer)

    try:
        threading.Thread(target=wait, name=f"exit watch of {pid}", daemon=True).start()
    except RuntimeError as error:
        os.close(reader)
        os.close(writer)
        raise OSError(errno.EAGAIN, "No thread is left to watch the child") from error
    return Descriptor(reader)


def _ended() -> ExitWatch:
    """A watch of a process that has ended: the end of an empty pipe can be read at once."""
    reader, writer = os.pipe()
    os.close(writer)
    return Descriptor(reader)


def reap(process: "Popen[bytes]") -> Exit:
    """Reap a child whose end was noticed. Its number is free from then on.

    Both fields of the answer are ``None`` if the kernel or somebody else in this program (a SIGCHLD that is ignored, a
    ``waitpid(-1)``) reaped it before.
    """
    try:
        # Blocks for microseconds at most: kqueue tells of the end a moment before the status is there.
        _, status = os.waitpid(process.pid, 0)
    except ChildProcessError:
        process.returncode = 0
        return Exit()
    # So that Popen does not wait for it again: the number may be another's by then.
    process.returncode = code = os.waitstatus_to_exitcode(status)
    return Exit(signal=-code) if code < 0 else Exit(code=code)
