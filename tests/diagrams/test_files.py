"""The checked-in pictures are what the machines are, and the text of each is the same everywhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fsm.drawing import LIFECYCLE, REQUEST, Drawn, Label, Overlay, dot, markdown, matrix, mermaid, picture
from fsm.drawing.label import lines_of
from runner.command.exit_codes import ExitCode
from runner.diagrams.files import Format, check, written
from runner.diagrams.svg import PINNED, engine_version, svg
from tests.command.commands import Started, run

DIAGRAMS = Path(__file__).parent.parent.parent / "diagrams"
BOTH = pytest.mark.parametrize("drawn", [LIFECYCLE, REQUEST], ids=lambda drawn: drawn.name)
SVG = "{http://www.w3.org/2000/svg}"


def test_the_directory_is_what_the_machines_are() -> None:
    """After a change to a table: ``runner diagram --write diagrams``."""
    assert engine_version() == PINNED
    assert check(DIAGRAMS).differences == ()


def test_a_file_that_differs_is_missing_or_unknown_is_named_with_the_remedy(tmp_path: Path) -> None:
    for path in DIAGRAMS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert run("diagram", "--check", str(tmp_path)) == (0, f"{tmp_path} is what the machine says.\n", "")
    (tmp_path / "lifecycle.mmd").write_text("stateDiagram-v2\n")
    (tmp_path / "request.dot").unlink()
    (tmp_path / "more.txt").touch()
    code, out, err = run("diagram", "--check", str(tmp_path))
    assert code == 1
    assert "lifecycle.mmd: differs" in out
    assert "+    [*] --> Idle" in out
    assert "request.dot: missing" in out
    assert "more.txt: unknown" in out
    assert f"runner diagram --write {tmp_path}" in err
    (tmp_path / "more.txt").unlink()
    assert run("diagram", "--write", str(tmp_path))[0] == 0
    assert run("diagram", "--check", str(tmp_path))[0] == 0


def test_the_text_does_not_depend_on_the_order_of_hashing() -> None:
    code = "from runner.diagrams.files import files; print(files(with_svg=False))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(outputs) == 1


def test_bytes_are_compared_and_brought_back_another_end_of_line_and_bytes_that_are_no_text_too(tmp_path: Path) -> None:
    directory = tmp_path / "diagrams"
    shutil.copytree(DIAGRAMS, directory)
    mermaid_file, dot_file = directory / "lifecycle.mmd", directory / "request.dot"
    mermaid_file.write_bytes(mermaid_file.read_bytes().replace(b"\n", b"\r\n"))
    dot_file.write_bytes(b"\xff\xfe")
    code, out, _ = run("diagram", "--check", str(directory))
    assert code == 1
    assert "-    [*] --> Idle\\r" in out
    assert "-\\xff\\xfe" in out
    assert run("diagram", "--write", str(directory)) == (0, f"wrote {mermaid_file}\nwrote {dot_file}\n", "")
    assert run("diagram", "--check", str(directory))[0] == 0


def test_to_compare_and_to_write_at_once_is_refused(tmp_path: Path) -> None:
    code, _, err = run("diagram", "--check", str(tmp_path), "--write", str(tmp_path))
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert "one of them" in err


@pytest.mark.parametrize("form", Format)
def test_standard_output_gets_the_same_bytes_whatever_the_locale(form: Format) -> None:
    plain = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "runner", "diagram", "--format", form.value]
    done = subprocess.run(command, env=plain, capture_output=True, check=True)
    assert done.stdout == written(LIFECYCLE, form).encode()


def test_a_reader_that_goes_away_ends_it_without_a_word() -> None:
    started = Started(["diagram", "--format", "scxml"])
    assert started.process.stdout is not None
    started.process.stdout.close()
    started.process.wait()
    assert started.process.stderr is not None
    with started.process.stderr:
        assert (started.process.returncode, started.process.stderr.read()) == (ExitCode.BROKEN_PIPE, "")


@BOTH
def test_every_move_of_the_table_is_drawn_with_its_trigger_and_origin_and_nothing_else_is(drawn: Drawn) -> None:
    arrows = {(arrow.source, arrow.dest): arrow for arrow in picture(drawn).arrows}
    moves = {
        (source, row.dest): row for row in drawn.table.rows for source in row.source if row.dest not in (None, source)
    }
    assert set(arrows) == set(moves)
    for row in drawn.table.rows:
        for source in row.source:
            if row.dest in (None, source):
                continue
            triggers = {text.partition(" [")[0] for label in arrows[source, row.dest].labels for text in label.triggers}
            assert set(row.trigger) <= triggers


@BOTH
def test_an_arrow_tells_where_its_events_come_from(drawn: Drawn) -> None:
    origins = {label.comes_from for arrow in picture(drawn).arrows for label in arrow.labels}
    expected = {"command", "worker report"} | (
        {"worker report, exit evidence", "process event", "liveness poll", "timeout"}
        if drawn is LIFECYCLE
        else {"lifecycle"}
    )
    assert origins == expected


def test_an_out_of_memory_is_said_to_come_from_the_worker_or_from_evidence_of_its_exit() -> None:
    for arrow in picture(LIFECYCLE).arrows:
        if arrow.dest == "Failed":
            assert Label("worker report, exit evidence", ("oom",)) in arrow.labels


@BOTH
def test_a_trigger_begins_a_line_and_never_stands_behind_the_guard_of_another(drawn: Drawn) -> None:
    for arrow in picture(drawn).arrows:
        for label in arrow.labels:
            lines = lines_of(label, label.comes_from)
            assert " ".join(lines) == " ".join((label.comes_from, *label.triggers))
            if len(lines) > 1:
                assert {text.partition(" [")[0] for text in label.triggers} <= {
                    line.partition(" [")[0] for line in lines
                }
            assert max(map(len, lines)) <= 28


@BOTH
def test_the_picture_is_no_wider_than_a_page(drawn: Drawn) -> None:
    root = ElementTree.fromstring(svg(dot(picture(drawn))))
    assert float(root.attrib["width"].removesuffix("pt")) < 1000


def test_a_guard_that_decides_is_on_the_arrow() -> None:
    assert "exited [by no signal of ours, code not 0, before bye]" in [
        text
        for arrow in picture(LIFECYCLE).arrows
        if (arrow.source, arrow.dest) == ("Shutdown", "Failed")
        for label in arrow.labels
        for text in label.triggers
    ]


@BOTH
def test_the_listing_has_every_row_and_the_matrix_every_pair(drawn: Drawn) -> None:
    rows = [line.split(" | ")[0].strip("| ") for line in markdown(drawn).splitlines()[2:]]
    assert rows == [row.id for row in drawn.table.rows]
    lines = matrix(drawn).splitlines()[2:]
    assert all(line.count("|") == 9 for line in markdown(drawn).splitlines())
    assert len(lines) == len(drawn.table.triggers)
    for line in lines:
        cells = line.strip("|").split(" | ")
        assert len(cells) == len(drawn.table.states) + 1
        assert all(cell.strip() for cell in cells)


@BOTH
def test_the_picture_is_well_formed_and_holds_every_state(drawn: Drawn) -> None:
    root = ElementTree.fromstring(svg(dot(picture(drawn))))
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert set(drawn.table.states) <= texts


def test_what_a_run_did_is_drawn_over_the_machine() -> None:
    overlay = Overlay(
        arrows={("Idle", "Loading"): 3, ("Loading", "Failed"): 1},
        states={"Idle": 4, "Loading": 9, "Failed": 2},
        failing=("Loading", "Failed"),
        by="oom",
    )
    assert "Loading --> Failed : 1 x<br>✗ oom" in mermaid(picture(LIFECYCLE), overlay)
    assert "Running --> Failed :  \n" in mermaid(picture(LIFECYCLE), overlay)
    drawing = dot(picture(LIFECYCLE), overlay)
    label = "\N{NO-BREAK SPACE}1 x\\l\N{NO-BREAK SPACE}oom\\l"
    assert f'Loading -> Failed [label="{label}", color="#b42318", fontcolor="#b42318", penwidth=4]' in drawing
    assert 'label="Idle\\n4 steps"' in drawing


@pytest.mark.parametrize("form", Format)
def test_each_format_can_be_printed_and_written_to_a_file(form: Format, tmp_path: Path) -> None:
    code, out, err = run("diagram", "--machine", "request", "--format", form.value)
    assert (code, err) == (0, "")
    assert out == written(REQUEST, form)
    path = tmp_path / "picture"
    assert run("diagram", "--machine", "request", "--format", form.value, "--output", str(path)) == (0, "", "")
    assert path.read_text() == out


def test_a_directory_that_is_not_there_is_told_of() -> None:
    code, _, err = run("diagram", "--check", "/no/such/place")
    assert code == 2
    assert "/no/such/place" in err
