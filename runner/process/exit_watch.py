"""The death of a child, told by the kernel at once. Not by polling, and not when its pipes close, which a grandchild can delay."""

import os
import select
import sys
import threading
from subprocess import Popen

import anyio

from fsm import Exit


async def wait_exit(process: "Popen[bytes]") -> Exit:
    """Wait for the end of a child of ours, and reap it.

    Cancelling it leaves the child as it is, to be waited for again.
    """
    # Once reaped, its number can belong to another process: it must not be opened any more.
    if process.poll() is None:
        if hasattr(os, "pidfd_open"):
            await _wait_pidfd(process.pid)
        elif sys.platform == "darwin":
            await _wait_kqueue(process.pid)
        else:
            await _wait_thread(process.pid)
    code = process.wait()
    return Exit(signal=-code) if code < 0 else Exit(code=code)


async def _wait_pidfd(pid: int) -> None:
    """Linux since 5.3: a descriptor that becomes readable when the process ends."""
    descriptor = os.pidfd_open(pid)
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)


async def _wait_kqueue(pid: int) -> None:
    """macOS: a queue of its own with one event; the queue itself can be waited for like a socket."""
    if sys.platform == "darwin":
        queue = select.kqueue()
        try:
            event = select.kevent(
                pid,
                filter=select.KQ_FILTER_PROC,
                flags=select.KQ_EV_ADD | select.KQ_EV_ONESHOT,
                fflags=select.KQ_NOTE_EXIT,
            )
            try:
                queue.control([event], 0)
            except ProcessLookupError:
                # It ended before it could be watched, and waits to be reaped.
                return
            await anyio.wait_readable(queue.fileno())
        finally:
            queue.close()


async def _wait_thread(pid: int) -> None:
    """Elsewhere: a thread that waits without reaping, and writes to a pipe at the end. It ends with the child."""
    reader, writer = os.pipe()

    def wait() -> None:
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        finally:
            os.close(writer)

    threading.Thread(target=wait, name=f"exit watch of {pid}", daemon=True).start()
    try:
        await anyio.wait_readable(reader)
    finally:
        os.close(reader)
