"""``runner drill``: the expectations are whole, and two quick faults go as they must."""

import json
import signal
import sys

import pytest

from fsm import Phase
from runner.command.drill.expected import EXPECTED, ONLY_IF_ALL, Moment
from runner.command.drill.plan import plan
from runner.faults import FaultKind
from tests.command.commands import Started, run


def test_every_fault_has_an_expectation_and_every_phase_has_its_faults() -> None:
    assert {fault for fault, _ in EXPECTED} == set(FaultKind)
    assert EXPECTED.keys() > ONLY_IF_ALL
    phases = set(Phase) - {Phase.UNKNOWN}
    assert {moment.phase for moment in Moment} == phases
    for (fault, argument), row in EXPECTED.items():
        if argument != "request":
            assert {moment.phase for moment in row} == phases, fault


def test_a_plan_holds_what_was_asked_for() -> None:
    assert len(plan([], [], every=True)) == sum(len(row) for row in EXPECTED.values())
    assert {case.fault for case in plan([], [], every=False)} == set(FaultKind)
    assert [case.name for case in plan(["crash"], [Moment.LOAD], every=False)] == ["crash SIGKILL", "crash SIGSEGV"]
    assert [case.name for case in plan(["crash SIGABRT"], [Moment.LOAD], every=False)] == ["crash SIGABRT"]
    with pytest.raises(ValueError, match="earthquake"):
        plan(["earthquake"], [], every=False)
    with pytest.raises(ValueError, match="None of these"):
        plan(["raise request"], [Moment.START], every=False)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_two_quick_faults_end_as_they_must(backend: str) -> None:
    code, out, err = run("drill", "exit 0", "exit-grandchild", "--phase", "start", "--backend", backend, "--json")
    told = json.loads(out)
    assert (code, err, told["ok"], told["backend"]) == (0, "", True, backend)
    assert [case["kind"] for case in told["cases"]] == ["killed_externally", "clean_exit"]
    for case in told["cases"]:
        assert (case["state"], case["phase"], case["announcements"], case["problems"]) == ("Failed", "start", 1, [])
        assert case["counted_from"] == "death"
        if sys.platform == "linux":
            assert case["left_over"] == []


def test_the_table_has_a_line_a_case() -> None:
    code, out, _ = run("drill", "crash SIGKILL", "raise request", "--phase", "decode")
    head, first, second, *rest = out.splitlines()
    assert code == 0
    assert head.split()[:3] == ["fault", "phase", "state"]
    assert first.split()[:5] == ["crash", "SIGKILL", "decode", "Failed", "killed_externally"]
    assert second.split()[:4] == ["raise", "request", "decode", "Running"]
    assert first.endswith("ok")
    assert second.endswith("ok")
    assert any("all as expected" in line for line in rest)


def test_an_unknown_fault_is_wrong_usage() -> None:
    code, _, err = run("drill", "earthquake")
    assert code == 2
    assert "exit-grandchild" in err


def test_ctrl_c_leaves_no_process() -> None:
    command = Started(["-v", "drill", "hang", "--phase", "load"])
    command.heard("Idle -> Loading")
    command.process.send_signal(signal.SIGINT)
    code, _, err = command.end()
    assert code == 130
    assert "Traceback" not in err
    assert not command.descendants()
