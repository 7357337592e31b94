"""One child of ours while it lives and when it ends: signals, counts, reaping, and letting go of what was held for it.

How it is started is in ``spawn.py``. The one thing to be careful of is its number: from the reaping on it can be another
process's, so everything that goes by number ends there.
"""

import contextlib
import os
import signal
import subprocess
import weakref

import anyio
from loguru import logger

from fsm import Exit
from runner.channel.stream import SocketChannel
from runner.diagnosis.evidence import Counters
from runner.process import procfs
from runner.process.cgroup import ChildGroup, MemoryTree, shared_oom_kills
from runner.process.exit_watch import Descriptor, ExitWatch, reap
from runner.process.output import ChildOutput

CLOSE_TIMEOUT = 1.0
"""Seconds that closing waits for a killed child to be gone, and again for its descendants to leave its cgroup. SIGKILL takes
milliseconds, and longer only with much memory or in a system call that can't be interrupted."""


class PosixChild:
    """A process of ours on Linux or macOS. Fulfils ``runner.protocols.Child``.

    Args:
        process: started as the leader of a session, reaped by nobody but this object.
        watch: tells of its end.
        lifeline: its other end is the child's; at the end of this program the kernel closes it, and the child is killed.
        channel: to it.
        output: of it.
        tree: the memory hierarchy, if there is one.
        group: its own memory cgroup, if it has one.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        *,
        watch: ExitWatch,
        lifeline: Descriptor,
        channel: SocketChannel,
        output: ChildOutput,
        tree: MemoryTree | None,
        group: ChildGroup | None,
    ) -> None:
        self.channel = channel
        self.output = output
        self._process = process
        self._lifeline = lifeline
        self._watch = watch
        self._tree = tree
        self._group = group
        self._exit: Exit | None = None
        self._reaping = anyio.Lock()
        held = contextlib.ExitStack()
        if group is not None:
            held.callback(group.remove)
        held.callback(lifeline.close)
        held.callback(watch.close)
        # The last net: nobody holds this object any more, or the interpreter ends, and it was never closed.
        self._net = weakref.finalize(self, _let_go, process, held, os.getpid())
        self._held = held

    @property
    def pid(self) -> int:
        """Its process id, which is its group's and its session's too."""
        return self._process.pid

    async def wait_exit(self) -> Exit:
        """Wait until it has ended and is reaped. See ``runner.protocols.Child``."""
        async with self._reaping:
            if self._exit is None:
                if self._watch.fileno() < 0:
                    raise anyio.ClosedResourceError
                await anyio.wait_readable(self._watch)
                # Dead and not reaped, it still keeps the group's number from being given out anew: the last moment at which
                # a signal to what is left of the group can hit nobody else.
                self.signal_group(signal.SIGKILL)
                self._exit = reap(self._process)
        return self._exit

    def signal_group(self, number: int) -> None:
        """Signal it and its descendants in its group. See ``runner.protocols.Child``."""
        if self._exit is None:
            # macOS answers with the second for a group of zombies.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def signal_process(self, number: int) -> None:
        """Signal it alone. Gone is no error."""
        if self._exit is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def catches(self, number: int) -> bool:
        """Whether it has a handler for a signal. See ``runner.protocols.Child``."""
        return self._exit is None and procfs.catches(self.pid, number)

    def forget_in_fork(self) -> None:
        """Close a fork's copies of what ties the child to the supervisor. See ``runner.process.fork``."""
        self._lifeline.close()
        self.channel.forget()

    def counters(self) -> Counters:
        """The kernel's counts of out-of-memory kills, as far as they can be read."""
        own = self._group.oom_kills() if self._group is not None else None
        return Counters(own=own, shared=shared_oom_kills(self._tree))

    def resident(self) -> int | None:
        """Its resident size in bytes."""
        return procfs.resident(self.pid) if self._exit is None else None

    def is_stopped(self) -> bool:
        """Whether it is stopped (state T)."""
        return self._exit is None and procfs.state(self.pid) == "T"

    def cpu_seconds(self) -> float | None:
        """CPU time that it has used, in seconds."""
        return procfs.cpu_seconds(self.pid) if self._exit is None else None

    async def close(self) -> None:
        """Kill what is left of it and let go of everything held for it. See ``runner.protocols.Child``."""
        with anyio.CancelScope(shield=True):
            if self._exit is None:
                self.signal_group(signal.SIGKILL)
                with anyio.move_on_after(CLOSE_TIMEOUT):
                    await self.wait_exit()
            self.channel.close()
            self.output.close()
            try:
                if self._group is not None:
                    await self._empty(self._group)
                if self._exit is None:
                    self._reap_late()
            finally:
                self._net.detach()
                if self._watch.fileno() >= 0:
                    anyio.notify_closing(self._watch)
                self._held.close()

    def _reap_late(self) -> None:
        """One that could not be killed may have ended while its cgroup was emptied."""
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                self._process.returncode = -signal.SIGKILL

    async def _empty(self, group: ChildGroup) -> None:
        """End the descendants that left the process group: they can't leave the cgroup."""
        with anyio.move_on_after(CLOSE_TIMEOUT):
            # They go one by one, and there is no event for the last.
            while not group.remove():
                group.kill()
                await anyio.sleep(0.01)
            return
        logger.warning("The memory cgroup {} is still in use and stays.", group.path)


def _let_go(process: "subprocess.Popen[bytes]", held: contextlib.ExitStack, owner: int) -> None:
    """Kill a forgotten child and close what was held for it."""
    if os.getpid() != owner:
        # A fork of this program, which has copies of its objects, ends. The child is not its to kill.
        return
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(CLOSE_TIMEOUT)
        if process.returncode in (None, -signal.SIGKILL):
            logger.critical("Process {} was left alive by who started it, and was killed.", process.pid)
    held.close()
