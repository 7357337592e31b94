"""Faults come when and how they were ordered, look like the real thing, and are named nowhere."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from runner.channel.frames import FRAME_LIMIT, FrameError
from runner.channel.messages import (
    Beat,
    Bye,
    Chunk,
    Ended,
    Fatal,
    FromWorker,
    Generate,
    Hello,
    LoadModel,
    ModelLoaded,
    ModelUnloaded,
    Need,
    Refused,
    Sampling,
    Stop,
    UnloadModel,
)
from tests.worker.child import Child
from tests.worker.conftest import StartChild

PHASES = ["start", "idle", "load", "warmup", "prefill", "decode", "unload", "shutdown"]

NAMES = re.compile(r"\b(fault|faults|RUNNER_FAULTS|inject\w*|drill|oom|ignore.term|flood|garbage|torn|deaf)\b", re.I)
"""What would tell a reader of frames and output that something was ordered. "Segmentation fault" is the system's."""


def order(fault: str, phase: str = "idle", argument: str = "") -> list[dict[str, str]]:
    return [{"fault": fault, "phase": phase, "argument": argument}]


def live(child: Child, directory: Path) -> list[FromWorker]:
    """Lead one whole life, load, answer, unload, stop, for as long as the worker plays along."""
    next_step = {
        Hello: LoadModel(str(directory)),
        ModelLoaded: Generate(1, text="hello", sampling=Sampling(max_tokens=3)),
        Ended: UnloadModel(),
        Refused: UnloadModel(),
        ModelUnloaded: Stop(),
    }
    seen: list[FromWorker] = []
    for message in child.messages():
        if not isinstance(message, Beat):
            seen.append(message)
        if (command := next_step.get(type(message))) is not None:
            child.send(command)
    return seen


@pytest.mark.parametrize("phase", PHASES)
def test_an_exception_outside_a_request_ends_the_worker_with_a_report(
    start: StartChild, tiny: Path, phase: str
) -> None:
    child = start(faults=order("raise", phase))
    fatal = live(child, tiny)[-1]
    assert isinstance(fatal, Fatal)
    assert (fatal.exception, fatal.phase) == ("RuntimeError", phase)
    assert child.code() == 1
    assert not NAMES.search(fatal.traceback)


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_an_exception_inside_a_request_ends_that_request_alone(start: StartChild, tiny: Path, phase: str) -> None:
    child = start(faults=order("raise", phase, "request"))
    seen = live(child, tiny)
    refused = next(message for message in seen if isinstance(message, Refused))
    assert refused.kind == "exception"
    assert refused.message.startswith("RuntimeError: ")
    assert refused.traceback.startswith("Traceback")
    assert any(isinstance(message, Chunk) for message in seen) == (phase == "decode")
    assert isinstance(seen[-1], Bye)
    assert child.code() == 0


@pytest.mark.parametrize(("phase", "last"), [("start", None), ("idle", Hello), ("load", Need), ("decode", Chunk)])
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "KILL", "15"])
def test_a_crash_is_a_death_by_that_signal_at_that_phase(
    start: StartChild, tiny: Path, phase: str, last: type | None, name: str
) -> None:
    child = start(faults=order("crash", phase, name))
    seen = live(child, tiny)
    number = {"SIGSEGV": signal.SIGSEGV, "SIGABRT": signal.SIGABRT, "KILL": signal.SIGKILL, "15": signal.SIGTERM}[name]
    assert child.code() == -number
    assert last is None or isinstance([m for m in seen if type(m).__name__ != "LoadStep"][-1], last)


@pytest.mark.parametrize("code", [0, 3])
def test_an_exit_leaves_with_that_code_and_without_a_word(start: StartChild, tiny: Path, code: int) -> None:
    child = start(faults=order("exit", "decode", str(code)))
    assert not any(isinstance(message, Fatal | Bye) for message in live(child, tiny))
    assert child.code() == code


@pytest.mark.parametrize("phase", ["load", "decode"])
def test_running_out_of_memory_is_a_true_allocation(start: StartChild, tiny: Path, phase: str) -> None:
    child = start(faults=order("oom", phase, "rlimit"))
    seen = live(child, tiny)
    needs = [message for message in seen if isinstance(message, Need)]
    assert needs[-1].what == "allocation"
    assert needs[-1].bytes > needs[-1].headroom
    assert child.code() not in (0, 1) or any(isinstance(message, Fatal) for message in seen)


def test_a_hang_beats_on_and_does_not_stop(start: StartChild) -> None:
    child = start("--beat-interval", "0.01", faults=order("hang"))
    child.until(Hello)
    child.send(Stop())
    assert all(isinstance(child.next(), Beat) for _ in range(20))
    child.process.terminate()
    assert child.code() == -signal.SIGTERM


def test_ignoring_sigterm_leaves_only_sigkill(start: StartChild) -> None:
    child = start("--beat-interval", "0.01", faults=order("ignore-term"))
    child.until(Hello)
    for _ in range(3):
        child.next()
    child.process.terminate()
    child.send(Stop())
    assert all(isinstance(child.next(), Beat) for _ in range(20))
    child.process.kill()
    assert child.code() == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="asks the kernel for a stopped child")
def test_a_freeze_stops_the_whole_process(start: StartChild) -> None:
    child = start(faults=order("freeze"))
    status = os.waitid(os.P_PID, child.process.pid, os.WSTOPPED)
    assert status is not None
    assert status.si_status == signal.SIGSTOP


def test_a_flood_sends_more_than_there_is_credit_for(start: StartChild, tiny: Path) -> None:
    child = start(faults=order("flood", "decode"))
    child.load(tiny)
    child.send(Generate(5, text="x", credit=2))
    assert all(child.until(Chunk)[1].request == 5 for _ in range(1000))


def test_a_flood_of_lines_does_no_harm(start: StartChild) -> None:
    child = start(faults=order("flood", "idle", "lines"))
    child.send(Stop())
    child.until(Bye)
    assert child.code() == 0
    assert child.output().count("\n") == 200_000


def test_garbage_is_no_frame(start: StartChild) -> None:
    child = start(faults=order("garbage"))
    child.until(Hello)
    with pytest.raises(FrameError):
        child.until(Bye)


def test_a_torn_frame_is_announced_half_sent_and_never_completed(start: StartChild) -> None:
    size = 5_000_000
    child = start("--beat-interval", "1000", faults=order("torn", "idle", str(size)))
    assert child.rest()
    assert child.code() == -signal.SIGKILL
    assert len(child.raw) > size // 2
    assert size < FRAME_LIMIT


def test_a_deaf_worker_reads_nothing_but_still_sees_its_parent_go(start: StartChild) -> None:
    child = start("--beat-interval", "0.01", faults=order("deaf"))
    for _ in range(5):
        child.next()
    child.send(LoadModel("/nowhere"))
    assert all(isinstance(child.next(), Beat) for _ in range(20))
    child.socket.close()
    assert child.code() == -signal.SIGKILL


def test_a_grandchild_holds_the_output_after_the_death(start: StartChild) -> None:
    child = start(faults=order("exit-grandchild"))
    assert child.rest()
    assert child.code() == -signal.SIGKILL
    os.killpg(child.process.pid, 0)  # raises if nobody is left in the group


def test_an_unknown_order_is_refused_with_the_known_ones(start: StartChild) -> None:
    child = start(faults=order("earthquake"))
    assert child.code() == 1
    assert "earthquake" in child.output()


@pytest.mark.parametrize(
    "orders",
    [
        order("oom", "load", "rlimit"),
        order("crash", "prefill", "SIGSEGV"),
        order("crash", "idle", "SIGABRT"),
        order("raise", "decode"),
        order("raise", "decode", "request"),
        order("flood", "load", "lines"),
        order("exit", "warmup", "7"),
    ],
    ids=json.dumps,
)
def test_nothing_that_a_worker_sends_or_prints_names_what_was_ordered(
    start: StartChild, tiny: Path, orders: list[dict[str, str]]
) -> None:
    child = start(faults=orders)
    live(child, tiny)
    child.code()
    told = child.raw.decode(errors="replace") + child.output().replace("Segmentation fault", "")
    assert NAMES.search(told) is None


@pytest.mark.skipif(sys.platform != "linux", reason="stacks are asked for through a file of the kernel's")
@pytest.mark.parametrize("kind", ["hang", "ignore-term"])
def test_the_stacks_of_a_hung_worker_do_not_name_what_was_ordered(start: StartChild, kind: str) -> None:
    child = start("--beat-interval", "0.01", faults=order(kind))
    for _ in range(5):
        child.next()
    child.process.send_signal(signal.SIGUSR1)
    for _ in range(20):
        child.next()
    assert "in wait" in child.output()
    assert NAMES.search(child.output()) is None
