"""A worker ends in order when told to. It never outlives its parent, and takes along what it has started itself."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.channel.messages import Bye, Chunk, Ended, Generate, Stop
from tests.worker.conftest import StartChild

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's part in this is Linux's")

WITH_A_CHILD = """
import runpy, subprocess
subprocess.Popen(["sleep", "600"])
runpy.run_module("runner.worker", run_name="__main__", alter_sys=True)
"""
"""A worker that has started a process of its own, which also holds its output open."""

STUCK = """
import ctypes, subprocess, sys
from runner.worker.lifeline import tie
subprocess.Popen(["sleep", "600"])
tie(int(sys.argv[sys.argv.index("--lifeline") + 1]))
print("ready", flush=True)
ctypes.PyDLL(None).sleep(600)
"""
"""A worker that hangs in native code without letting go of the interpreter lock, so that no thread of its can act."""

PARENT = """
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
lifeline, held = os.pipe()
subprocess.Popen(
    [sys.executable, "-P", "-c", sys.argv[1], "--fd", str(theirs.fileno()), *sys.argv[2:], str(lifeline)],
    pass_fds=[theirs.fileno(), lifeline], start_new_session=True,
)
theirs.close()
os.close(lifeline)
sys.stdin.read()
"""
"""A parent that does nothing but hold its ends of the socket and of the lifeline."""

BUSY = '[{"fault": "flood", "argument": "lines"}, {"fault": "oom", "argument": "6000"}]'
"""Print, so that one sees that it is up, then be inside MLX for minutes."""
FROZEN = '[{"fault": "flood", "argument": "lines"}, {"fault": "freeze"}]'


def environment(faults: str) -> dict[str, str]:
    return {**os.environ, "RUNNER_FAULTS": faults}


@contextlib.contextmanager
def parent(code: str, *options: str, faults: str = "") -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, code, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(faults),
    )
    with process:
        yield process


def wait_for(process: subprocess.Popen[bytes], start: bytes) -> None:
    assert process.stdout is not None
    assert any(line.startswith(start) for line in process.stdout), "it ended too early"


def all_gone(process: subprocess.Popen[bytes]) -> bool:
    """Wait until nobody holds the output any more: not the worker, not what it started."""
    assert process.stdout is not None
    process.stdout.read()
    return True


def test_stop_ends_every_request_and_the_process_in_order(start: StartChild, tiny: Path) -> None:
    child = start("--concurrency", "1")
    child.load(tiny)
    child.send(Generate(1, text="x", credit=2), Generate(2, text="x"))
    child.until(Chunk)
    child.until(Chunk)
    child.send(Stop())
    before, _ = child.until(Bye)
    assert before == [Ended(1, "cancelled", 2), Ended(2, "cancelled")]
    assert child.rest() == []
    assert child.code() == 0


def test_at_the_end_of_the_socket_it_kills_its_group_while_inside_mlx() -> None:
    ours, theirs = socket.socketpair()
    with subprocess.Popen(
        [sys.executable, "-P", "-c", WITH_A_CHILD, "--fd", str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(BUSY),
    ) as process:
        theirs.close()
        wait_for(process, b"199999 of")
        ours.close()
        assert all_gone(process)
        assert process.wait() == -signal.SIGKILL


def test_when_its_parent_is_killed_it_goes_with_what_it_started_while_inside_mlx() -> None:
    with parent(WITH_A_CHILD, "--prefill-step", faults=BUSY) as process:
        wait_for(process, b"199999 of")
        process.kill()
        assert all_gone(process)


@linux
def test_when_its_parent_is_killed_it_goes_with_what_it_started_although_stopped() -> None:
    with parent(WITH_A_CHILD, "--prefill-step", faults=FROZEN) as process:
        wait_for(process, b"199999 of")
        process.kill()
        assert all_gone(process)


@linux
@pytest.mark.parametrize("faults", [BUSY, FROZEN])
def test_a_lifeline_ends_the_group_whatever_the_worker_does(faults: str) -> None:
    with parent(WITH_A_CHILD, "--lifeline", faults=faults) as process:
        wait_for(process, b"199999 of")
        process.kill()
        assert all_gone(process)


@linux
def test_a_lifeline_ends_a_worker_that_holds_the_interpreter_lock_for_ever() -> None:
    with parent(STUCK, "--lifeline") as process:
        wait_for(process, b"ready")
        process.kill()
        assert all_gone(process)
