"""Starting a real child: exec'd from a fresh interpreter, never forked from this one's memory, with one socket to it.

The child leads a session of its own, so that its whole group can be ended; it is put in a memory cgroup of its own where that
is permitted. Whatever fails on the way, nothing is left.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import anyio.lowlevel
import msgspec
from loguru import logger

from runner.channel.stream import SocketChannel
from runner.process.cgroup import CgroupError, ChildGroup, MemoryTree, find_tree
from runner.process.child import PosixChild
from runner.process.exit_watch import Descriptor, watch_exit
from runner.process.fork import let_go_in_forks
from runner.process.output import ChildOutput
from runner.protocols import SpawnError, WorkerSpec

FAULTS_VARIABLE = "RUNNER_FAULTS"
"""Names the faults of a drill to the worker. Never passed on from this process's own environment."""

FAST_SYNCH_VARIABLE = "MLX_METAL_FAST_SYNCH"

OOM_SCORE = 300
"""Added to the child's ``oom_score_adj`` (from -1000 to 1000): of the two the kernel is to take the child, which can be
started again, before the supervisor, which knows what happened."""

_ARGV = (sys.executable, "-P", "-m", "runner.worker")
# With -P the working directory is not on the path: a runner.py or an mlx.py that lies there does not matter.


class ProcessSpawner:
    """Starts worker processes.

    Call it from a thread that lives as long as the child is to live: Linux takes the end of the thread that started a process
    for the end of its parent.

    Args:
        argv: the worker's command. It is given ``--fd`` with the number of its end of the socket, ``--lifeline`` with that of a
            pipe that is closed when this process ends, ``--beat-interval`` (seconds) and ``--concurrency``.
    """

    def __init__(self, argv: tuple[str, ...] = _ARGV) -> None:
        self._argv = argv

    async def spawn(self, spec: WorkerSpec) -> PosixChild:
        """Start a child. It does not wait, so that there is nothing to cancel once it began.

        Raises:
            SpawnError: if the process can't be started, or can't be limited as asked.
        """
        await anyio.lowlevel.checkpoint()
        with contextlib.ExitStack() as undo:
            try:
                child = self._start(spec, undo)
            except (OSError, ValueError, subprocess.SubprocessError, CgroupError) as error:
                raise SpawnError(f"The worker can't be started ({self._argv[0]}). {error}") from error
            undo.pop_all()
        let_go_in_forks(child)
        return child

    def _start(self, spec: WorkerSpec, undo: contextlib.ExitStack) -> PosixChild:
        tree = find_tree()
        group = _make_group(tree, spec.memory_limit)
        if group is not None:
            undo.callback(group.remove)
        with contextlib.ExitStack() as passed:
            end, theirs = socket.socketpair()
            undo.callback(end.close)
            passed.callback(theirs.close)
            stdout, stdout_end = _pipe_from_child(undo, passed)
            stderr, stderr_end = _pipe_from_child(undo, passed)
            lifeline_end, held = os.pipe()
            passed.callback(os.close, lifeline_end)
            lifeline = Descriptor(held)
            undo.callback(lifeline.close)
            process = subprocess.Popen(
                [*self._argv, *_options(spec, theirs.fileno(), lifeline_end)],
                stdin=subprocess.DEVNULL,
                stdout=stdout_end,
                stderr=stderr_end,
                pass_fds=(theirs.fileno(), lifeline_end),
                start_new_session=True,
                env=_environment(spec),
            )
        undo.callback(_take_back, process)
        watch = watch_exit(process.pid)
        undo.callback(watch.close)
        if group is not None and not _enter(group, process.pid, limited=spec.memory_limit is not None):
            group = None
        _prefer_for_oom(process.pid)
        return PosixChild(
            process,
            watch=watch,
            lifeline=lifeline,
            channel=SocketChannel(end),
            output=ChildOutput(stdout, stderr, process.pid),
            tree=tree,
            group=group,
        )


def _pipe_from_child(undo: contextlib.ExitStack, passed: contextlib.ExitStack) -> tuple[Descriptor, int]:
    reader, writer = os.pipe()
    passed.callback(os.close, writer)
    ours = Descriptor(reader)
    undo.callback(ours.close)
    return ours, writer


def _options(spec: WorkerSpec, end: int, lifeline: int) -> tuple[str, ...]:
    named = {"fd": end, "lifeline": lifeline, "beat-interval": spec.beat_interval, "concurrency": spec.concurrency}
    return tuple(word for name, value in named.items() for word in (f"--{name}", str(value)))


def _environment(spec: WorkerSpec) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != FAULTS_VARIABLE}
    environment[FAST_SYNCH_VARIABLE] = "1" if spec.fast_synch else "0"
    if spec.faults:
        environment[FAULTS_VARIABLE] = msgspec.json.encode(spec.faults).decode()
    return environment


def _make_group(tree: MemoryTree | None, limit: int | None) -> ChildGroup | None:
    try:
        return ChildGroup.make(tree, limit)
    except CgroupError as error:
        if limit is not None:
            raise CgroupError(f"The memory limit can't be kept. {error}") from error
        logger.debug("The child has no memory cgroup of its own. {}", error)
        return None


def _enter(group: ChildGroup, pid: int, *, limited: bool) -> bool:
    try:
        group.add(pid)
    except CgroupError as error:
        if limited:
            raise
        # Permitted to make one and not to fill it: the counters that others share must do.
        logger.debug("{}", error)
        group.remove()
        return False
    return True


def _prefer_for_oom(pid: int) -> None:
    """Make it the kernel's first choice when memory runs out."""
    score = Path(f"/proc/{pid}/oom_score_adj")
    try:
        score.write_text(str(min(1000, int(score.read_text()) + OOM_SCORE)))
    except OSError as error:
        # Not on macOS, and not where the process is gone already; neither is worth more than a word.
        logger.debug("The child's oom_score_adj is left as it is: {}", error)


def _take_back(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
