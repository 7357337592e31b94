"""Starting a real child: exec'd from a fresh interpreter, never forked from this one's memory, with one socket to it.

The child leads a session of its own, so that its whole group can be ended; it is put in a memory cgroup of its own where that
is permitted. Whatever fails on the way, nothing is left.
"""

import os
import signal
import socket
import subprocess
import sys
import weakref
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
from loguru import logger

from fsm import Exit
from runner.channel.stream import SocketChannel
from runner.diagnosis.evidence import Counters
from runner.process import procfs
from runner.process.cgroup import CgroupError, ChildGroup, MemoryTree, find_tree, shared_oom_kills
from runner.process.exit_watch import wait_exit
from runner.process.output import ChildOutput
from runner.protocols import SpawnError, WorkerSpec

FAULTS_VARIABLE = "RUNNER_FAULTS"
"""Names the faults of a drill to the worker. Never passed on from this process's own environment."""

FAST_SYNCH_VARIABLE = "MLX_METAL_FAST_SYNCH"

OOM_SCORE = 300
"""Added to the child's ``oom_score_adj`` (from -1000 to 1000): of the two the kernel is to take the child, which can be
started again, before the supervisor, which knows what happened."""

CLOSE_TIMEOUT = 1.0
"""Seconds that closing waits for the rest of a killed group to leave its cgroup."""

_ARGV = (sys.executable, "-P", "-m", "runner.worker")
# With -P the working directory is not on the path: a runner.py or an mlx.py that lies there does not matter.


class ProcessSpawner:
    """Starts worker processes.

    Args:
        argv: the worker's command; it is given ``--fd`` with the number of its end of the socket.
    """

    def __init__(self, argv: tuple[str, ...] = _ARGV) -> None:
        self._argv = argv

    async def spawn(self, spec: WorkerSpec) -> "PosixChild":
        """Start a child. It does not wait, so that there is nothing to cancel once it began.

        Raises:
            SpawnError: if the process can't be started, or can't be limited as asked.
        """
        await anyio.lowlevel.checkpoint()
        tree = find_tree()
        group = _make_group(tree, spec.memory_limit)
        ours, theirs = socket.socketpair()
        try:
            process = self._popen(spec, theirs)
        except OSError as error:
            ours.close()
            if group is not None:
                group.remove()
            raise SpawnError(f"{self._argv[0]}: {error}") from error
        finally:
            theirs.close()
        child = PosixChild(process, ours, tree, group)
        try:
            child.confine(limited=spec.memory_limit is not None)
        except CgroupError as error:
            await child.close()
            raise SpawnError(str(error)) from error
        return child

    def _popen(self, spec: WorkerSpec, end: socket.socket) -> "subprocess.Popen[bytes]":
        number = end.fileno()
        options = ("--beat-interval", str(spec.beat_interval), "--concurrency", str(spec.concurrency))
        environment = {name: value for name, value in os.environ.items() if name != FAULTS_VARIABLE}
        environment[FAST_SYNCH_VARIABLE] = "1" if spec.fast_synch else "0"
        if spec.faults:
            environment[FAULTS_VARIABLE] = msgspec.json.encode(spec.faults).decode()
        # Not bounded by a `with`: its life is that of the child.
        return subprocess.Popen(
            [*self._argv, "--fd", str(number), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(number,),
            start_new_session=True,
            env=environment,
        )


def _make_group(tree: MemoryTree | None, limit: int | None) -> ChildGroup | None:
    try:
        return ChildGroup.make(tree, limit)
    except CgroupError as error:
        if limit is not None:
            raise SpawnError(f"The memory limit can't be kept. {error}") from error
        logger.debug("The child has no memory cgroup of its own. {}", error)
        return None


class PosixChild:
    """A process of ours on Linux or macOS. Fulfils :class:`runner.protocols.Child`."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        end: socket.socket,
        tree: MemoryTree | None,
        group: ChildGroup | None,
    ) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._tree = tree
        self._group = group
        self.channel = SocketChannel(end)
        # The descriptors are ours from here on: the file objects would close them a second time.
        self.output = ChildOutput(os.dup(process.stdout.fileno()), os.dup(process.stderr.fileno()), process.pid)
        process.stdout.close()
        process.stderr.close()
        # The last net: a child that is still there when nobody holds this object any more, or when the interpreter ends.
        self._net = weakref.finalize(self, _kill_forgotten, process)

    @property
    def pid(self) -> int:
        """Its process id, which is its group's and its session's too."""
        return self._process.pid

    def confine(self, *, limited: bool) -> None:
        """Put it in its cgroup, and make it the kernel's first choice when memory runs out.

        Raises:
            CgroupError: if it must be limited and can't be.
        """
        if self._group is not None:
            try:
                self._group.add(self.pid)
            except CgroupError as error:
                self._group.remove()
                self._group = None
                if limited:
                    raise
                logger.debug("{}", error)
        score = Path(f"/proc/{self.pid}/oom_score_adj")
        try:
            score.write_text(str(min(1000, int(score.read_text()) + OOM_SCORE)))
        except OSError as error:
            # Not on macOS, and not where the process is gone already; neither is worth more than a word.
            logger.debug("The child's oom_score_adj is left as it is: {}", error)

    async def wait_exit(self) -> Exit:
        """Wait until it has ended and is reaped. See :class:`runner.protocols.Child`."""
        ended = await wait_exit(self._process)
        self._net.detach()
        return ended

    def signal_group(self, number: int) -> None:
        """Signal it and its descendants in its group. See :class:`runner.protocols.Child`.

        The group's number stays taken as long as anybody is in it, and once nobody is, the kernel says so. Only a group that
        emptied and whose number was given out anew could be hit wrongly: the supervisor calls this right after the death.
        """
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            # macOS answers with the second for a group of zombies.
            return

    def signal_process(self, number: int) -> None:
        """Signal it alone. Gone is no error."""
        self._process.send_signal(number)

    def counters(self) -> Counters:
        """The kernel's counts of out-of-memory kills, as far as they can be read."""
        own = self._group.oom_kills() if self._group is not None else None
        return Counters(own=own, shared=shared_oom_kills(self._tree))

    def resident(self) -> int | None:
        """Its resident size in bytes."""
        return procfs.resident(self.pid)

    def is_stopped(self) -> bool:
        """Whether it is stopped (state T)."""
        return procfs.state(self.pid) == "T"

    def cpu_seconds(self) -> float | None:
        """CPU time that it has used, in seconds."""
        return procfs.cpu_seconds(self.pid)

    async def close(self) -> None:
        """Kill what is left of it and let go of everything held for it. See :class:`runner.protocols.Child`."""
        if self._process.poll() is None:
            self.signal_group(signal.SIGKILL)
            with anyio.move_on_after(CLOSE_TIMEOUT):
                await self.wait_exit()
        self.channel.close()
        self.output.close()
        if self._group is not None and not self._group.remove():
            # Killed descendants leave their group one by one; there is no event for the last.
            with anyio.move_on_after(CLOSE_TIMEOUT):
                while not self._group.remove():  # noqa: ASYNC110
                    await anyio.sleep(0.01)
        if self._process.poll() is not None:
            self._net.detach()


def _kill_forgotten(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        logger.critical("Process {} was left alive; it is killed now.", process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
