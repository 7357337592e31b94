"""A worker says hello first, lives visibly, and is always open to signals."""

import os
import signal
import sys

import pytest

from runner.channel.messages import PROTOCOL, Beat, Bye, Fatal, Hello, Need, Stop
from tests.worker.child import Child, Gone
from tests.worker.conftest import StartChild

BUSY = {"fault": "oom", "phase": "idle", "argument": "6000"}
"""Minutes of MLX in the main thread, in a few hundred megabytes."""


def busy(start: StartChild) -> Child:
    child = start("--beat-interval", "0.02", faults=[BUSY])
    child.until(Need)
    return child


def test_hello_is_the_first_message_and_names_protocol_process_and_versions(start: StartChild) -> None:
    child = start("--beat-interval", "0.001")
    hello = child.next()
    assert isinstance(hello, Hello)
    assert (hello.protocol, hello.pid) == (PROTOCOL, child.process.pid)
    assert {"python", "mlx", "mlx-lm"} <= hello.versions.keys()


def test_it_beats_while_it_has_nothing_to_do_and_says_how_much_memory_it_holds(start: StartChild) -> None:
    child = start("--beat-interval", "0.01")
    child.until(Hello)
    beats = [child.next() for _ in range(3)]
    assert all(isinstance(beat, Beat) and beat.gauge.resident > 1_000_000 for beat in beats)


def test_it_beats_while_the_main_thread_is_inside_mlx(start: StartChild) -> None:
    child = busy(start)
    assert all(isinstance(child.next(), Beat) for _ in range(5))


def test_sigterm_ends_it_while_the_main_thread_is_inside_mlx(start: StartChild) -> None:
    child = busy(start)
    child.process.terminate()
    assert child.code() == -signal.SIGTERM


def test_sigint_is_left_to_the_parent(start: StartChild) -> None:
    child = start()
    child.until(Hello)
    child.process.send_signal(signal.SIGINT)
    child.send(Stop())
    child.until(Bye)
    assert child.code() == 0


def test_sigusr1_shows_the_stacks_of_all_threads_and_nothing_else_happens(start: StartChild) -> None:
    child = start("--beat-interval", "0.05")
    child.until(Beat)  # so that all threads are there
    child.process.send_signal(signal.SIGUSR1)
    child.send(Stop())
    child.until(Bye)
    assert child.code() == 0
    assert child.output().count("most recent call first") >= 3


def test_stop_before_any_load_is_answered_with_bye_and_code_0(start: StartChild) -> None:
    child = start()
    child.send(Stop())
    child.until(Bye)
    assert child.rest() == []
    assert child.code() == 0


def test_what_is_no_frame_ends_it_with_a_report(start: StartChild) -> None:
    child = start()
    child.until(Hello)
    child.socket.sendall(b"\xff" * 64)
    _, fatal = child.until(Fatal)
    assert fatal.exception == "runner.channel.frames.FrameError"
    assert fatal.phase == "idle"
    assert child.code() == 1


@pytest.mark.parametrize("option", [("--concurrency", "0"), ("--beat-interval", "0"), ("--prefill-step", "0")])
def test_an_option_that_makes_no_sense_is_refused_by_name(start: StartChild, option: tuple[str, str]) -> None:
    child = start(*option)
    with pytest.raises(Gone):
        child.next()
    assert child.code() == 2
    assert option[0] in child.output()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_engine_is_imported_before_a_load(start: StartChild) -> None:
    child = start()
    child.until(Hello)
    with open(f"/proc/{child.process.pid}/maps") as maps:  # noqa: PTH123 - a file of the kernel's
        assert "libmlx" not in maps.read()
    assert os.getsid(child.process.pid) == child.process.pid
