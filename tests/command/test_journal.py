"""``runner journal``: a stranger learns what happened, and whether it can be believed."""

import json
import re
from pathlib import Path

import pytest

from fsm.journal import verify
from runner.command.drill.table import LEGEND
from tests.command.commands import run


@pytest.fixture(scope="module")
def oom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of a runner that really ran out of memory in the middle of an answer."""
    path = tmp_path_factory.mktemp("journal") / "J"
    code, out, err = run("drill", "oom", "--phase", "decode", "--journal", str(path))
    assert (code, err) == (0, "")
    assert f"runner journal explain {path}" in out
    assert LEGEND in out
    return path


def test_a_stranger_is_told_what_led_to_an_out_of_memory(oom: Path) -> None:
    code, out, err = run("journal", "explain", str(oom))
    assert (code, err) == (0, "")
    paragraph, _, rest = out.partition("\n")
    assert re.match(r"Incarnation 1 \(process \d+\) failed: (probably )?oom, in phase decode\.", paragraph)
    assert "Requests that ended: 1 Failed (1 of them with the runner)." in paragraph
    assert re.search(r"^> +\d+\.\d+ s +#\d+ +exited .*Running → Failed$", rest, re.MULTILINE)
    assert "Evidence:\n  needed 6,400,000,000 bytes" in rest
    assert "What to do: " in rest
    assert "fault" not in out
    told = json.loads(run("journal", "explain", str(oom), "--json")[1])
    assert (told["failed"], told["cause"]["kind"]) == (True, "oom")


def test_it_is_intact_and_its_head_is_the_one_that_is_printed(oom: Path) -> None:
    code, out, _ = run("journal", "verify", str(oom))
    assert code == 0
    assert out.splitlines()[-1].startswith("intact")
    head = run("journal", "head", str(oom))[1].strip()
    assert f"head {head}" in out
    code, out, _ = run("journal", "verify", str(oom), "--head", head)
    assert code == 0
    assert "with 0 lines after it" in out
    assert json.loads(run("journal", "verify", str(oom), "--json")[1])["head"] == head


def test_the_first_bad_record_is_named_with_what_is_wrong_with_it(oom: Path, tmp_path: Path) -> None:
    lines = oom.read_bytes().splitlines(keepends=True)
    forged = tmp_path / "forged"
    forged.write_bytes(b"".join([*lines[:5], lines[5].replace(b"Loading", b"Running"), *lines[6:]]))
    code, out, _ = run("journal", "verify", str(forged))
    assert code == 1
    assert "BROKEN at line 6, step 4: It does not have the hash that it carries" in out
    head = run("journal", "head", str(oom))[1].strip()
    cut = tmp_path / "cut"
    cut.write_bytes(b"".join(lines[:-3]))
    assert run("journal", "verify", str(cut))[0] == 0
    code, out, _ = run("journal", "verify", str(cut), "--head", head)
    assert code == 1
    assert "the end was cut off" in out


def test_a_torn_end_is_told_and_no_error(oom: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    torn.write_bytes(oom.read_bytes()[:-7])
    code, out, _ = run("journal", "verify", str(torn))
    assert code == 0
    assert "the last line was never finished" in out
    assert "never finished" in run("journal", "show", str(torn))[1]


def test_steps_that_were_made_by_other_rules_have_an_exit_code_of_their_own(oom: Path, tmp_path: Path) -> None:
    """Sealed again, as the version that wrote it would have."""
    from msgspec.structs import replace

    from fsm.journal import Opening, Seal, read
    from fsm.journal.read import Read

    head, out = "0" * 64, b""
    for item in read(oom.read_bytes().splitlines(keepends=True)):
        assert isinstance(item, Read)
        content = replace(item.line, prev=head)
        if isinstance(content, Opening):
            content = replace(content, table="0" * 64)
        line, head = Seal().line(content)
        out += line
    other = tmp_path / "other"
    other.write_bytes(out)
    code, told, _ = run("journal", "verify", str(other))
    assert code == 3
    assert "NOT derived" in told


def test_a_table_of_the_run_can_be_read_and_cut_to_a_request_or_a_time(oom: Path) -> None:
    out = run("journal", "show", str(oom))[1]
    lines = out.splitlines()
    assert lines[0].split() == ["step", "seconds", "event", "from", "to", "what", "and", "why"]
    assert any(re.match(r" +\d+ +[\d.]+ +exited +Running +Failed ", line) for line in lines)
    of_request = run("journal", "show", str(oom), "--request", "1")[1].splitlines()
    assert len(of_request) < len(lines)
    assert all("request 1" in line for line in of_request[1:])
    later = run("journal", "show", str(oom), "--since", "6")[1].splitlines()
    assert later[1].split()[0] == "6"
    assert run("journal", "show", str(oom), "--since", "0s")[1] != out.splitlines()[0]
    assert run("journal", "show", str(oom), "--since", "soon")[0] == 2


def test_as_json_it_is_the_journal_itself(oom: Path) -> None:
    out = run("journal", "show", str(oom), "--json")[1]
    assert out.encode() == oom.read_bytes()
    assert verify(out.encode().splitlines(keepends=True)).intact


def test_it_can_be_piped_in(oom: Path) -> None:
    code, out, _ = run("journal", "verify", "-", input=oom.read_text())
    assert code == 0
    assert "intact" in out


def test_where_the_runner_stood_is_rebuilt_at_any_step(oom: Path) -> None:
    assert json.loads(run("journal", "replay", str(oom), "--json")[1])["state"] == "Failed"
    assert json.loads(run("journal", "replay", str(oom), "--json", "--until", "3")[1])["state"] == "Loading"
    assert re.search(r"^state +Failed$", run("journal", "replay", str(oom))[1], re.MULTILINE)
    assert run("journal", "replay", str(oom), "--until", "9999")[0] == 1


def test_two_runs_part_where_they_differ(oom: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run("generate", "--model", "tiny", "--max-tokens", "4", "--journal", str(other), "Hello")
    assert run("journal", "diff", str(oom), str(oom)) == (0, "The two runs made the same steps.\n", "")
    code, out, _ = run("journal", "diff", str(oom), str(other))
    assert code == 1
    assert re.match(r"They part at step \d+", out)


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg"])
def test_the_path_of_the_run_is_drawn_on_the_machine(oom: Path, form: str) -> None:
    for command in (
        ("journal", "diagram", str(oom), "--format", form),
        ("diagram", "--journal", str(oom), "--format", form),
    ):
        code, out, err = run(*command)
        assert (code, err) == (0, "")
        assert "exited (oom)" in out


def test_the_run_is_drawn_over_time(oom: Path, tmp_path: Path) -> None:
    out = run("journal", "timeline", str(oom))[1]
    assert re.search(r"^incarnation 1 +\.*l+R+F+ +oom at [\d.]+ s$", out, re.MULTILINE)
    assert re.search(r"^request 1 +[pd]+ +Failed at", out, re.MULTILINE)
    assert max(len(line) for line in out.splitlines()) <= 100
    picture = tmp_path / "timeline.svg"
    assert run("journal", "timeline", str(oom), "--format", "svg", "--output", str(picture)) == (0, "", "")
    assert "<title>Running" in picture.read_text()


def test_runs_are_listed_the_newest_first_and_named_by_id_or_last() -> None:
    for _ in range(2):
        assert run("generate", "--model", "tiny", "--max-tokens", "2", "Hello")[0] == 0
    runs = [json.loads(line) for line in run("journal", "list", "--json")[1].splitlines()]
    assert len(runs) >= 2
    assert runs[0]["began"] >= runs[1]["began"]
    assert runs[0]["run"] in run("journal", "list")[1]
    for name in ("last", runs[0]["run"], runs[0]["run"][:10]):
        assert run("journal", "head", name) == run("journal", "head", runs[0]["path"])


@pytest.mark.parametrize("command", ["show", "explain", "verify", "replay", "head", "timeline", "diagram"])
def test_what_is_no_journal_is_named(command: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 10)
    for name, expected in (("/no/such/file", 2), (str(tmp_path), 2), (str(tmp_path / "binary"), 1)):
        code, out, err = run("journal", command, name)
        assert code == expected, (command, name, out, err)
        assert "Traceback" not in err
    code, out, err = run("journal", command, str(tmp_path / "empty"))
    assert code in (0, 1, 2)
    assert "Traceback" not in err


def test_a_key_is_wanted_where_the_journal_has_one(tmp_path: Path) -> None:
    key, journal = tmp_path / "key", tmp_path / "J"
    key.write_text("kept elsewhere\n")
    options = ("--journal", str(journal), "--journal-key", str(key))
    assert run("generate", "--model", "tiny", "--max-tokens", "2", *options, "Hello")[0] == 0
    assert run("journal", "verify", str(journal), "--journal-key", str(key))[0] == 0
    code, _, err = run("journal", "verify", str(journal))
    assert code == 2
    assert "give the key" in err
    key.write_text("another")
    assert run("journal", "verify", str(journal), "--journal-key", str(key))[0] == 1


def test_a_file_that_is_missing_in_the_middle_is_named(oom: Path, tmp_path: Path) -> None:
    lines = oom.read_bytes().splitlines(keepends=True)
    first = tmp_path / "J"
    first.write_bytes(b"".join(lines[:10]))
    (tmp_path / "J.2").write_bytes(b"".join(lines[10:]))
    code, _, err = run("journal", "verify", str(first))
    assert code == 2
    assert "J.1 is missing" in err
