"""JSON lines in, answers out; a bad line is told and stops nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm.failure import Exit, Kind, Phase
from runner.diagnosis.batch import BadCase, answer, answer_line, parse_case
from runner.diagnosis.diagnose import diagnose


def test_a_whole_case() -> None:
    line = json.dumps(
        {
            "id": "x1",
            "exit": {"code": None, "signal": 9},
            "phase": "warm-up",
            "platform": "linux-cpu",
            "stderr": ["a", "b"],
            "counters": {"before": {"own": 0, "shared": 1}, "after": {"own": 1, "shared": 2}},
            "label": "oom",
        }
    )
    evidence = parse_case(line)
    assert evidence.exit == Exit(signal=9)
    assert (evidence.phase, evidence.platform, evidence.stderr) == (Phase.WARMUP, "linux-cpu", ("a", "b"))
    assert (evidence.own_rise, evidence.shared_rise) == (1, 1)
    answered = answer_line(line)
    assert (answered["id"], answered["kind"], answered["certainty"]) == ("x1", "oom", "certain")


def test_counters_may_be_rises() -> None:
    assert parse_case('{"counters": {"shared": 2}}').shared_rise == 2
    assert parse_case('{"counters": {"shared": 2}}').own_rise is None


def test_an_empty_case_and_unknown_words_are_cases() -> None:
    assert diagnose(parse_case("{}")).kind is Kind.UNKNOWN
    evidence = parse_case('{"phase": "lunch", "platform": "abacus", "stderr": "a\\nb", "exit": null}')
    assert (evidence.phase, evidence.platform, evidence.stderr) == (Phase.UNKNOWN, "other", ("a", "b"))


def test_an_answer_can_be_written_as_json() -> None:
    answered = json.loads(json.dumps(answer(diagnose(parse_case('{"stderr": ["CUDA error: out of memory"]}')))))
    assert answered["kind"] == "oom"
    assert answered["certainty"] == "certain"
    assert answered["evidence"] == ["CUDA error: out of memory"]
    assert answered["scope"] == "device"


@pytest.mark.parametrize("line", ["", "[]", "nonsense", '{"exit": 9}', '{"stderr": [1]}', b"\xff\xfe"])
def test_a_bad_line_is_told(line: str | bytes) -> None:
    with pytest.raises(BadCase):
        parse_case(line)
    assert "error" in answer_line(line)


def test_a_bad_case_keeps_its_id() -> None:
    assert answer_line('{"id": 7, "stderr": 5}')["id"] == 7


@given(st.text() | st.binary())
def test_no_line_raises_anything_else(line: str | bytes) -> None:
    answer_line(line)
