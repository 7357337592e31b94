"""The Sphinx extension, in a project that Sphinx builds."""

import subprocess
import sys
from pathlib import Path

import pytest

from fsm.drawing import REQUEST

PAGE = """
Our runner
==========

.. fsm-machine:: lifecycle

.. fsm-machine:: request
   :format: matrix

.. fsm-machine:: lifecycle
   :format: mermaid
"""


def build(source: Path, page: str, builder: str = "html") -> subprocess.CompletedProcess[str]:
    (source / "conf.py").write_text('extensions = ["runner.diagrams.sphinx"]\n')
    (source / "index.rst").write_text(page)
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", builder, str(source), str(source / "out")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_page_shows_the_machine_as_it_is_installed(tmp_path: Path) -> None:
    done = build(tmp_path, PAGE)
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "out" / "index.html").read_text()
    assert "<svg" in html
    assert "The lifecycle of a runner" in html
    assert "ignored (Q13)" in html
    assert "stateDiagram-v2" in html


def test_the_picture_is_no_wider_than_the_page_and_no_table_stands_beside_it(tmp_path: Path) -> None:
    assert build(tmp_path, "Our runner\n==========\n\n.. fsm-machine:: lifecycle\n").returncode == 0
    html = (tmp_path / "out" / "index.html").read_text()
    assert '<svg style="max-width: 100%; height: auto"' in html
    assert "spawn_failed" in html
    assert "<table" not in html


@pytest.mark.parametrize(("builder", "name"), [("text", "index.txt"), ("latex", "projectnamenotset.tex")])
def test_where_no_picture_can_be_shown_every_row_stands_in_its_place(tmp_path: Path, builder: str, name: str) -> None:
    done = build(tmp_path, "Our runner\n==========\n\n.. fsm-machine:: request\n", builder)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / name).read_text()
    assert all(row.why.split()[0] in text and row.id in text for row in REQUEST.table.rows)


@pytest.mark.parametrize("wrong", [".. fsm-machine:: motor", ".. fsm-machine:: request\n   :format: jpeg"])
def test_a_machine_or_a_format_that_is_not_there_is_named(tmp_path: Path, wrong: str) -> None:
    done = build(tmp_path, f"Our runner\n==========\n\n{wrong}\n")
    assert done.returncode != 0
    assert "lifecycle" in done.stderr or "svg" in done.stderr
