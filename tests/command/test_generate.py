"""``runner generate``: an answer, or one clear sentence; and nothing is left, however it ends."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from fsm.journal import verify
from runner.models.tiny import write_tiny
from tests.command.commands import Started, run, worker_of


def test_the_answer_goes_to_standard_output_and_ends_with_a_line_end() -> None:
    code, out, err = run("generate", "--model", "tiny", "--max-tokens", "12", "Hello")
    assert (code, err) == (0, "")
    assert out.endswith("\n")
    assert out.strip()


@pytest.mark.parametrize("prompt", [[], ["-"]])
def test_the_prompt_can_come_from_standard_input(prompt: list[str]) -> None:
    given = run("generate", "--model", "tiny", "--max-tokens", "12", "Hello")
    assert run("generate", "--model", "tiny", "--max-tokens", "12", *prompt, input="Hello\n") == given


def test_json_is_one_object_with_all_that_is_known() -> None:
    code, out, _ = run("generate", "--model", "tiny", "--max-tokens", "5", "--json", "Hello")
    answer = json.loads(out)
    assert code == 0
    assert (answer["tokens"], answer["reason"], answer["model"], answer["incarnation"]) == (5, "length", "tiny", 1)
    assert answer["text"]
    assert 0 < answer["first_token_s"] <= answer["seconds"]
    assert answer["prompt_tokens"] > 0


def test_sampling_options_reach_the_model() -> None:
    drawn = [
        run("generate", "-m", "tiny", "--max-tokens", "20", "--temperature", "1", "--seed", seed, "Hello")[1]
        for seed in ("7", "7", "8")
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    stopped = run(
        "generate",
        "-m",
        "tiny",
        "--max-tokens",
        "20",
        "--stop",
        drawn[0][3:5],
        "--temperature",
        "1",
        "--seed",
        "7",
        "Hello",
    )
    assert stopped[1].strip() == drawn[0][:3].strip()


def test_an_empty_prompt_is_refused_before_anything_is_started() -> None:
    code, out, err = run("generate", "--model", "tiny", "  ")
    assert (code, out) == (3, "")
    assert "the prompt is empty" in err


def test_a_wrong_path_is_told_in_a_sentence_with_a_remedy() -> None:
    code, out, err = run("generate", "--model", "/no/such/model", "Hello")
    assert (code, out) == (3, "")
    assert "/no/such/model" in err
    assert "What to do: " in err


def test_a_truncated_weights_file_is_found_before_the_load(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    weights = tmp_path / "model.safetensors"
    os.truncate(weights, weights.stat().st_size - 100)
    code, _, err = run("generate", "--model", str(tmp_path), "Hello")
    assert code == 3
    assert "model.safetensors" in err


def test_errors_are_json_too_if_json_was_asked_for() -> None:
    code, out, err = run("generate", "--model", "/no/such/model", "--json", "Hello")
    assert (code, err) == (3, "")
    error = json.loads(out)["error"]
    assert (error["kind"], error["code"]) == ("model_missing", 3)


def test_a_prompt_longer_than_the_context_fails_the_request() -> None:
    code, out, err = run("generate", "--model", "tiny", "word " * 2000)
    assert (code, out) == (4, "")
    assert "context_limit" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-tokens", "0"],
        ["--top-p", "0"],
        ["--memory-limit", "much"],
        ["--load-timeout", "-1"],
        ["--stop", ""],
        ["--colour"],
    ],
)
def test_wrong_usage_names_the_option(arguments: list[str]) -> None:
    code, _, err = run("generate", "--model", "tiny", *arguments, "Hello")
    assert code == 2
    assert arguments[0] in err


def full_pipe() -> tuple[int, int]:
    """A pipe that takes no more: whoever writes to it has to wait."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b" " * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    return reader, writer


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("moment", ["Idle -> Loading", "Loading -> Running"])
def test_a_signal_at_any_moment_leaves_no_process(number: signal.Signals, code: int, moment: str) -> None:
    """The output is one that nobody reads, so the answer can't be over before the signal comes."""
    reader, writer = full_pipe()
    command = Started(["-v", "generate", "--model", "tiny", "--max-tokens", "400", "Hello"], stdout=writer)
    os.close(writer)
    command.heard(moment)
    assert worker_of(command.mark) is not None
    command.process.send_signal(number)
    ended, _, err = command.end()
    assert not command.descendants()
    os.close(reader)
    assert ended == code
    assert "Traceback" not in err


def test_a_command_that_is_killed_takes_its_worker_with_it() -> None:
    reader, writer = full_pipe()
    command = Started(["-v", "generate", "--model", "tiny", "--max-tokens", "400", "Hello"], stdout=writer)
    os.close(writer)
    command.heard("Loading -> Running")
    command.process.kill()
    command.end()
    while command.descendants():
        pass
    os.close(reader)


def test_an_output_that_nobody_reads_ends_it_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = Started(["generate", "--model", "tiny", "Hello"], stdout=writer)
    os.close(writer)
    code, _, err = command.end()
    assert (code, err) == (141, "")
    assert not command.descendants()


def test_a_worker_that_is_killed_is_told_with_cause_and_remedy() -> None:
    reader, writer = full_pipe()
    command = Started(["-v", "generate", "--model", "tiny", "--max-tokens", "400", "Hello"], stdout=writer)
    os.close(writer)
    command.heard("Loading -> Running")
    worker = worker_of(command.mark)
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    command.heard("Running -> Failed")
    while os.read(reader, 65536):
        pass
    code, _, err = command.end()
    os.close(reader)
    assert code == 1
    assert "The runner failed: killed_externally (probable)" in err
    assert "What to do: " in err


def test_the_log_can_be_json() -> None:
    code, _, err = run("--log-format", "json", "-v", "generate", "--model", "tiny", "--max-tokens", "2", "Hello")
    lines = [json.loads(line) for line in err.splitlines()]
    assert code == 0
    changes = [line["message"].split(" (")[0] for line in lines if line["name"] == "runner.supervisor"]
    assert changes == ["Idle -> Loading", "Loading -> Running", "Running -> Shutdown"]


def test_the_log_tells_the_head_of_the_journal_at_every_change_of_state(tmp_path: Path) -> None:
    journal = tmp_path / "J"
    _, _, err = run("-v", "generate", "--model", "tiny", "--max-tokens", "2", "--journal", str(journal), "Hello")
    heads = re.findall(r"The journal's head is ([0-9a-f]{64}) at step", err)
    assert len(heads) == 3
    for head in heads:
        checked = verify(journal.read_bytes().splitlines(keepends=True), head=head)
        assert checked.intact, checked.problem


def test_a_journal_is_refused_where_one_is_and_its_options_must_agree(tmp_path: Path) -> None:
    journal = tmp_path / "J"
    journal.touch()
    code, _, err = run("generate", "--model", "tiny", "--journal", str(journal), "Hello")
    assert code == 3
    assert "Choose another name" in err
    for options in (("--journal", "x"), ("--journal-key", "x"), ("--record-text",)):
        code, _, err = run("generate", "--model", "tiny", "--no-journal", *options, "Hello")
        assert code == 2
        assert options[0] in err
    (tmp_path / "empty").touch()
    for key in ("nowhere", str(tmp_path / "empty")):
        assert run("generate", "--model", "tiny", "--journal-key", key, "Hello")[0] == 2


def test_a_failure_names_the_journal_that_tells_what_led_to_it(tmp_path: Path) -> None:
    journal = tmp_path / "J"
    code, _, err = run("generate", "--model", "tiny", "--memory-limit", "1MiB", "--journal", str(journal), "Hello")
    assert code == 1
    assert f"runner journal explain {journal}" in err
    assert journal.exists()


def test_a_model_file_that_lies_in_the_working_directory_does_not_matter(tmp_path: Path) -> None:
    for name in ("mlx.py", "fsm.py", "runner.py"):
        (tmp_path / name).write_text("raise SystemExit('shadowed')")
    script = [str(Path(os.sys.executable).with_name("runner")), "generate", "-m", "tiny", "--max-tokens", "2", "Hello"]  # pyright: ignore
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
