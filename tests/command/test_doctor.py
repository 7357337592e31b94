"""``runner doctor``: what it says of this machine, on which the other tests run, and of one without mlx."""

import json

import pytest

from runner.command.doctor import engine as engine_check
from tests.command.commands import run


def test_a_runner_can_run_here() -> None:
    code, out, err = run("doctor", "--json")
    told = json.loads(out)
    assert (code, err, told["ok"]) == (0, "", True)
    assert told["versions"]["mlx"]
    assert told["engine"]["device"] in ("cpu", "gpu")
    assert told["memory"]["total"] > 0
    assert told["watch"]["death"]
    assert told["models"]["cache"]


def test_it_reads_well() -> None:
    code, out, _ = run("doctor")
    assert code == 0
    assert out.splitlines()[0] == "versions"
    assert out.splitlines()[-1] == "A runner can run here."


def test_an_engine_that_does_not_import_is_a_problem_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_check, "_PROGRAM", "raise ImportError('libmlx.so: cannot open shared object file')")
    (problem,) = engine_check.engine(None).section.problems
    assert problem.fatal
    assert "libmlx.so" in problem.what
    assert "mlx" in problem.remedy
