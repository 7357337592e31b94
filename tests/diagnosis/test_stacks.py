"""Stacks are found in a log, and only they."""

from runner.diagnosis.stacks import LINES, stacks_in

DUMP = (
    "Thread 0x00007f (most recent call first):",
    '  File "reader.py", line 54 in _run',
    "Current thread 0x00007e (most recent call first):",
    '  File "engine.py", line 9 in step',
)


def test_a_log_without_stacks_has_none() -> None:
    assert stacks_in(("INFO loading", "INFO loaded")) == ()


def test_the_threads_of_one_dump_belong_together_and_what_stands_before_does_not() -> None:
    assert stacks_in(("INFO loading", *DUMP)) == DUMP


def test_of_two_dumps_the_last_is_taken() -> None:
    assert stacks_in((*DUMP, "INFO later", *DUMP)) == DUMP


def test_a_long_dump_is_cut() -> None:
    assert len(stacks_in((DUMP[0], *['  File "x.py", line 1 in f'] * 100))) == LINES
