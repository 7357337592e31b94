"""Exit status, counters, needs and the supervisor's own signals, weighed against each other."""

import signal

import pytest

from fsm.failure import Certainty, Exit, Kind, OomScope, Phase, Source
from runner.diagnosis.diagnose import NEIGHBOUR, diagnose
from runner.diagnosis.evidence import Counters, Evidence, Need, Report

KILLED = Exit(signal=signal.SIGKILL)
SEGV = Exit(signal=signal.SIGSEGV)
STILL = Counters(own=0, shared=3)
OWN_ROSE = Counters(own=1, shared=3)
SHARED_ROSE = Counters(own=0, shared=4)
TOO_MUCH = Need("weights", 9_000, 4_000)
FITS = Need("weights", 1_000, 4_000)


def test_a_kill_counted_in_the_childs_own_cgroup_is_certain() -> None:
    cause = diagnose(Evidence(exit=KILLED, before=STILL, after=OWN_ROSE))
    assert (cause.kind, cause.certainty, cause.scope) == (Kind.OOM, Certainty.CERTAIN, OomScope.HOST)
    assert cause.source is Source.EXIT
    assert cause.exit == KILLED


def test_a_kill_counted_in_the_childs_own_cgroup_outweighs_every_text() -> None:
    cause = diagnose(Evidence(exit=KILLED, before=STILL, after=OWN_ROSE, stderr=("No space left on device",)))
    assert cause.kind is Kind.OOM


def test_a_kill_counted_where_others_are_counted_too_is_probable() -> None:
    cause = diagnose(Evidence(exit=KILLED, phase=Phase.DECODE, before=STILL, after=SHARED_ROSE))
    assert (cause.kind, cause.certainty) == (Kind.OOM, Certainty.PROBABLE)


def test_a_shared_rise_with_our_own_sigkill_is_a_neighbours() -> None:
    cause = diagnose(Evidence(exit=KILLED, before=STILL, after=SHARED_ROSE, sent_signals=(signal.SIGKILL,)))
    assert cause.kind is Kind.UNKNOWN
    assert any(line.startswith(NEIGHBOUR) for line in cause.evidence)


def test_an_own_rise_with_our_own_sigkill_is_the_childs_but_less_sure() -> None:
    cause = diagnose(Evidence(exit=KILLED, before=STILL, after=OWN_ROSE, sent_signals=(signal.SIGKILL,)))
    assert (cause.kind, cause.certainty) == (Kind.OOM, Certainty.PROBABLE)


@pytest.mark.parametrize("after", [OWN_ROSE, SHARED_ROSE])
def test_a_rise_while_the_child_lives_is_noted_and_nothing_more(after: Counters) -> None:
    cause = diagnose(Evidence(child_alive=True, before=STILL, after=after))
    assert cause.kind is Kind.UNKNOWN
    assert any(line.startswith(NEIGHBOUR) for line in cause.evidence)


@pytest.mark.parametrize("exit", [SEGV, Exit(code=1), Exit(signal=signal.SIGTERM)])
def test_a_rise_with_another_end_is_a_neighbours(exit: Exit) -> None:
    cause = diagnose(Evidence(exit=exit, before=STILL, after=SHARED_ROSE))
    assert cause.kind is not Kind.OOM
    assert any(line.startswith(NEIGHBOUR) for line in cause.evidence)


@pytest.mark.parametrize("phase", list(Phase))
def test_sigkill_with_counters_unmoved_came_from_outside_in_every_phase(phase: Phase) -> None:
    cause = diagnose(Evidence(exit=KILLED, phase=phase, before=STILL, after=STILL))
    assert (cause.kind, cause.certainty) == (Kind.KILLED_EXTERNALLY, Certainty.PROBABLE)


@pytest.mark.parametrize("phase", list(Phase))
def test_sigkill_without_counters_is_judged_by_the_phase(phase: Phase) -> None:
    expected = Kind.OOM if phase in {Phase.LOAD, Phase.WARMUP} else Kind.KILLED_EXTERNALLY
    cause = diagnose(Evidence(exit=KILLED, phase=phase))
    assert (cause.kind, cause.certainty) == (expected, Certainty.PROBABLE)


def test_a_text_that_names_the_sender_outweighs_the_phase() -> None:
    said = ("[CRITICAL] WORKER TIMEOUT (pid:7)",)
    assert diagnose(Evidence(exit=KILLED, phase=Phase.LOAD, stderr=said)).kind is Kind.KILLED_EXTERNALLY


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT])
def test_a_silent_crash_is_oom_only_if_too_much_was_needed(number: int) -> None:
    ended = Exit(signal=number)
    short = diagnose(Evidence(exit=ended, need=TOO_MUCH, platform="linux-cpu"))
    assert (short.kind, short.certainty, short.scope) == (Kind.OOM, Certainty.PROBABLE, OomScope.HOST)
    assert "9,000" in short.evidence[0]
    fits = diagnose(Evidence(exit=ended, need=FITS, platform="linux-cpu"))
    assert fits.kind is (Kind.UNKNOWN if number == signal.SIGABRT else Kind.SEGFAULT)


def test_an_abort_with_a_text_is_what_the_text_says_however_much_was_needed() -> None:
    said = ("x.c:3: f: Assertion `p' failed.",)
    assert diagnose(Evidence(exit=Exit(signal=6), need=TOO_MUCH, stderr=said)).kind is Kind.ASSERTION


def test_sigbus_has_another_number_on_macos() -> None:
    assert diagnose(Evidence(exit=Exit(signal=10), platform="macos-metal")).kind is Kind.SEGFAULT
    assert diagnose(Evidence(exit=Exit(signal=10), platform="linux-cpu")).kind is Kind.UNKNOWN


@pytest.mark.parametrize(
    ("exit", "kind"),
    [
        (Exit(code=0), Kind.CLEAN_EXIT),
        (Exit(code=130), Kind.INTERRUPTED),
        (Exit(signal=signal.SIGINT), Kind.INTERRUPTED),
        (Exit(signal=signal.SIGHUP), Kind.INTERRUPTED),
        (Exit(signal=signal.SIGTERM), Kind.KILLED_EXTERNALLY),
        (Exit(signal=signal.SIGILL), Kind.ILLEGAL_INSTRUCTION),
        (Exit(signal=signal.SIGABRT), Kind.UNKNOWN),
        (Exit(code=1), Kind.UNKNOWN),
        (Exit(code=-11), Kind.SEGFAULT),
        (Exit(), Kind.UNKNOWN),
    ],
)
def test_an_exit_alone(exit: Exit, kind: Kind) -> None:
    assert diagnose(Evidence(exit=exit, phase=Phase.DECODE)).kind is kind


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_signal_that_we_sent_names_no_cause(number: int) -> None:
    assert diagnose(Evidence(exit=Exit(signal=number), sent_signals=(number,), phase=Phase.LOAD)).kind is Kind.UNKNOWN


def test_what_the_child_said_counts_even_if_we_ended_it() -> None:
    said = ("[METAL] Command buffer execution failed: Insufficient Memory (00000008:...)",)
    assert diagnose(Evidence(exit=KILLED, sent_signals=(signal.SIGKILL,), stderr=said)).kind is Kind.OOM


def test_exit_code_0_is_outweighed_by_a_certain_oom_alone() -> None:
    assert diagnose(Evidence(exit=Exit(code=0), stderr=("No space left on device",))).kind is Kind.CLEAN_EXIT
    assert diagnose(Evidence(exit=Exit(code=0), stderr=("CUDA error: out of memory",))).kind is Kind.OOM


def test_a_mask_of_oom_is_lifted_by_the_need() -> None:
    said = ("RuntimeError: [read] Unable to read 8 bytes from file.",)
    assert diagnose(Evidence(exit=Exit(code=1), stderr=said, need=FITS)).kind is Kind.MODEL_INVALID
    assert diagnose(Evidence(exit=Exit(code=1), stderr=said, need=TOO_MUCH)).kind is Kind.OOM


def test_an_engine_found_dead_after_sigterm_was_ended_from_outside() -> None:
    said = (
        "ERROR 01-01 00:00:00 [a.py:1] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
    )
    assert diagnose(Evidence(exit=Exit(signal=signal.SIGTERM), stderr=said)).kind is Kind.KILLED_EXTERNALLY


def test_the_workers_report_is_believed_and_carries_the_exit() -> None:
    report = Report("ValueError", "Model type foo not supported.")
    cause = diagnose(Evidence(exit=Exit(code=1), report=report, phase=Phase.LOAD))
    assert (cause.kind, cause.source, cause.exit) == (Kind.MODEL_INVALID, Source.REPORT, Exit(code=1))


def test_the_kernels_own_count_outweighs_the_workers_report() -> None:
    report = Report("ValueError", "something odd")
    cause = diagnose(Evidence(exit=KILLED, before=STILL, after=OWN_ROSE, report=report))
    assert (cause.kind, cause.source) == (Kind.OOM, Source.EXIT)


def test_an_exception_of_which_nothing_is_known_gives_way_to_an_oom_in_the_log() -> None:
    report = Report("RuntimeError", "the engine did not start")
    cause = diagnose(Evidence(exit=Exit(code=1), report=report, stderr=("cudaMalloc failed: out of memory",)))
    assert (cause.kind, cause.source) == (Kind.OOM, Source.EXIT)
    known = Report("FileNotFoundError", "No safetensors found in /m")
    cause = diagnose(Evidence(exit=Exit(code=1), report=known, stderr=("cudaMalloc failed: out of memory",)))
    assert (cause.kind, cause.source) == (Kind.MODEL_MISSING, Source.REPORT)
