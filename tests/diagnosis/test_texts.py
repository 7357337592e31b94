"""Known texts prove what they prove, and no more."""

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm.failure import Exit, FailureCause, Kind, Phase
from runner.diagnosis.diagnose import diagnose
from runner.diagnosis.evidence import PLATFORMS, Counters, Evidence, Need, Report
from runner.diagnosis.finding import EVIDENCE_LINES, EVIDENCE_WIDTH
from runner.diagnosis.rules import NOISE, RULES, SIGNAL_TEXTS
from tests.diagnosis.texts import ENDS, OOM, OTHER

NOT_OOM = [text for text, _ in OTHER]

HARMLESS = st.sampled_from(
    [
        "bloom filter built",
        "zoom to the room",
        "groom, broom, mushroom, doom, Bloom-7B",
        "INFO no oom detected",
        "OOM protection enabled",
        "oom_score_adj set to 1000",
        "0 OOM events",
        "Out of memory budget check disabled",
        "DEBUG prompt: 'CUDA out of memory'",
        "WARNING: pinned memory: out of memory, using pageable memory",
        "UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown",
    ]
)


def lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n"))


@pytest.mark.parametrize("text", OOM)
def test_memory_ran_out(text: str) -> None:
    assert diagnose(Evidence(stderr=lines(text))).kind is Kind.OOM


@pytest.mark.parametrize(("text", "kind"), OTHER)
def test_something_else_happened_or_nothing_is_known(text: str, kind: Kind) -> None:
    assert diagnose(Evidence(stderr=lines(text))).kind is kind


@pytest.mark.parametrize(("kind", "exit", "phase", "text"), ENDS)
def test_with_the_exit_and_the_phase(kind: Kind, exit: Exit, phase: Phase, text: str) -> None:
    assert diagnose(Evidence(exit=exit, phase=phase, stderr=lines(text))).kind is kind


def test_every_row_has_a_name_of_its_own() -> None:
    names = [row.id for row in (*RULES, *NOISE, *SIGNAL_TEXTS)]
    assert len(names) == len(set(names))


def test_the_first_cause_of_a_cascade_counts_and_not_its_last_line() -> None:
    cascade = ("OSError: [Errno 28] No space left on device", "RuntimeError: CUDA error: out of memory")
    assert diagnose(Evidence(stderr=cascade)).kind is Kind.DISK_FULL
    assert diagnose(Evidence(stderr=cascade[::-1])).kind is Kind.OOM


def test_the_evidence_begins_with_the_root_and_is_cut_to_size() -> None:
    root = "RuntimeError: CUDA error: out of memory"
    cause = diagnose(Evidence(stderr=("something before it", root, *[root + " again " + "x" * 900] * 99)))
    assert cause.evidence[0] == root
    assert len(cause.evidence) == EVIDENCE_LINES
    assert max(len(line) for line in cause.evidence) <= EVIDENCE_WIDTH


def test_the_decisive_words_of_a_long_line_are_shown() -> None:
    cause = diagnose(Evidence(stderr=("x " * 700 + "CUDA error: out of memory",)))
    assert "out of memory" in cause.evidence[0]


def test_a_text_after_a_returning_progress_bar_is_read() -> None:
    bar = "Prefill:  5%|#    |\rPrefill: 10%|##   |\x1b[0mlibc++abi: terminating: [malloc] Unable to allocate 9 bytes."
    assert diagnose(Evidence(stderr=(bar,))).kind is Kind.OOM


anything = st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
numbers = st.none() | st.integers(-300, 300)


@given(
    stderr=st.lists(anything | st.sampled_from([*OOM, *NOT_OOM]), max_size=12).map(tuple),
    exit=st.builds(Exit, code=numbers, signal=numbers),
    phase=st.sampled_from(Phase),
    platform=st.sampled_from(PLATFORMS),
    before=st.builds(Counters, own=numbers, shared=numbers),
    after=st.builds(Counters, own=numbers, shared=numbers),
    sent=st.lists(st.integers(1, 64), max_size=3).map(tuple),
    alive=st.booleans(),
    need=st.none() | st.builds(Need, what=st.text(max_size=9), bytes=st.integers(), headroom=st.integers()),
    report=st.none() | st.builds(Report, exception=anything, message=anything, traceback=st.tuples(anything)),
)
def test_no_evidence_raises(
    stderr: tuple[str, ...],
    exit: Exit,
    phase: Phase,
    platform: str,
    before: Counters,
    after: Counters,
    sent: tuple[int, ...],
    alive: bool,
    need: Need | None,
    report: Report | None,
) -> None:
    cause = diagnose(
        Evidence(
            exit=exit,
            phase=phase,
            platform=next(known for known in PLATFORMS if known == platform),
            stderr=stderr,
            before=before,
            after=after,
            sent_signals=sent,
            child_alive=alive,
            need=need,
            report=report,
        )
    )
    assert cause.sentence
    assert cause.remedy
    assert msgspec.json.decode(msgspec.json.encode(cause), type=FailureCause) == cause
    assert len(cause.evidence) <= EVIDENCE_LINES
    assert all(len(line) <= EVIDENCE_WIDTH for line in cause.evidence)


@given(text=st.sampled_from(NOT_OOM), before=st.lists(HARMLESS, max_size=4), after=st.lists(HARMLESS, max_size=4))
def test_words_that_hold_oom_turn_nothing_into_one(text: str, before: list[str], after: list[str]) -> None:
    assert diagnose(Evidence(stderr=(*before, *lines(text), *after))).kind is not Kind.OOM


@given(text=st.sampled_from(OOM), before=st.lists(HARMLESS, max_size=4), after=st.lists(HARMLESS, max_size=4))
def test_words_that_hold_oom_hide_no_real_one(text: str, before: list[str], after: list[str]) -> None:
    assert diagnose(Evidence(stderr=(*before, *lines(text), *after))).kind is Kind.OOM


HUGE = [
    "a" * 100_000,
    "A.b" * 33_000,
    " " * 99_999 + "x",
    "0" * 100_000,
    "out of " * 15_000,
    "CUDA " * 20_000,
    "cuda(((" * 14_000,
    "\x1b[" * 50_000,
    "model: " * 14_000,
    "download 40" * 9_000,
    "| " * 50_000,
    "(A a) " * 16_000,
    '"GET ' * 20_000,
    "a = " * 25_000,
    "File " * 20_000,
    "Assertion " * 10_000,
    "command buffer " * 7_000,
    "no no no " * 11_000,
]


@pytest.mark.parametrize("line", HUGE, ids=[line.strip()[:12] for line in HUGE])
def test_a_huge_line_is_read_in_linear_time(line: str) -> None:
    begun = time.process_time()
    diagnose(Evidence(stderr=(line,) * 5, exit=Exit(signal=6)))
    # Some 0.1 s here; a pattern that backtracks would take minutes. The bound is wide, for slow machines.
    assert time.process_time() - begun < 10
