"""The labelled cases of real runners: every out-of-memory is found, nothing else is called one."""

import json
from pathlib import Path
from typing import Any

import pytest

from fsm.failure import Kind
from runner.diagnosis.batch import parse_case
from runner.diagnosis.diagnose import diagnose

CORPUS = Path(__file__).parent.parent / "corpus" / "crashes.jsonl"
LINES = CORPUS.read_text(encoding="utf-8").splitlines()
CASES: list[dict[str, Any]] = [json.loads(line) for line in LINES]
ENOUGH = 58  # of 61: what the project promised; all are right at the time of writing


def found(line: str) -> Kind:
    return diagnose(parse_case(line)).kind


def test_the_corpus_is_whole() -> None:
    assert len(CASES) == 61


def test_at_least_58_kinds_are_right() -> None:
    wrong = [
        (case["id"], case["label"], found(line).value)
        for case, line in zip(CASES, LINES, strict=True)
        if found(line) != case["label"]
    ]
    assert len(CASES) - len(wrong) >= ENOUGH, wrong


@pytest.mark.parametrize("line", LINES, ids=[case["id"] for case in CASES])
def test_oom_is_found_and_nothing_else_is_called_oom(line: str) -> None:
    assert (found(line) is Kind.OOM) == (json.loads(line)["label"] == "oom")
