"""``runner diagnose``: one case by options, many by lines."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.command.commands import Started, run


@pytest.mark.parametrize("name", ["9", "KILL", "SIGKILL", "kill"])
def test_a_signal_by_number_or_name(name: str) -> None:
    code, out, _ = run("diagnose", "--signal", name, "--phase", "load", "--json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["kind"], answer["certainty"]) == ("oom", "probable")


def test_a_text_of_stderr(tmp_path: Path) -> None:
    text = "ModuleNotFoundError: No module named 'mlx'\n"
    file = tmp_path / "stderr"
    file.write_text(text)
    code, out, _ = run("diagnose", "--exit", "1", "--stderr", str(file))
    assert code == 0
    assert out.startswith("import_error (certain)\n")
    assert "What to do: " in out
    assert run("diagnose", "--exit", "1", "--stderr", "-", input=text)[1] == out


@pytest.mark.parametrize(
    "arguments",
    [[], ["--exit", "1", "--signal", "9"], ["--signal", "SIGNOTHING"], ["--exit", "1", "--platform", "moon"]],
)
def test_wrong_usage(arguments: list[str]) -> None:
    code, out, err = run("diagnose", *arguments)
    assert (code, out) == (2, "")
    assert err


def test_a_batch_is_answered_line_by_line_while_it_is_written() -> None:
    command = Started(["diagnose", "--batch"], stdin=subprocess.PIPE)
    stdin, stdout = command.process.stdin, command.process.stdout
    assert stdin is not None
    assert stdout is not None
    for number in (1, 2):
        stdin.write(json.dumps({"id": number, "exit": {"code": 0}}) + "\n")
        stdin.flush()
        answer = json.loads(stdout.readline())
        assert (answer["id"], answer["kind"]) == (number, "clean_exit")
    assert command.end() == (0, "", "")


def test_a_bad_line_is_answered_and_the_others_too() -> None:
    code, out, err = run("diagnose", "--batch", input='{"exit": {"code": 0}}\nnothing\n{"exit": {"signal": 11}}\n')
    answers = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (1, "")
    assert "error" in answers[1]
    assert [answers[0]["kind"], answers[2]["kind"]] == ["clean_exit", "segfault"]
