"""The parts of the kit: paths, edges, and guarantees over a journal."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

import fsm
from fsm.journal import Entry, Seal, read
from fsm.journal.read import Read
from fsm.testing import Path, all_edges, assert_guarantees, shortest_paths
from tests.journal.runs import HAPPENINGS, HISTORIES, write
from tests.machine.lives import RUNNING, STAMP

PATHS = shortest_paths()


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_a_path_leads_to_its_row(path: Path) -> None:
    life = fsm.Lifecycle()
    rows: tuple[str, ...] = ()
    for event in path.events:
        rows = life.handle(event).record.rows
    assert path.row in rows


def test_there_is_a_path_to_nearly_every_row_and_an_edge_for_every_move() -> None:
    assert len(PATHS) > 100
    edges = all_edges()
    assert ("Running", "oom", "Failed") in edges
    assert ("Loading", "loaded", "Running") in edges
    assert len(set(edges)) == len(edges)


@settings(max_examples=100, deadline=None)
@given(HISTORIES, HAPPENINGS)
def test_the_journal_of_any_life_keeps_the_guarantees(history: Any, happenings: list[Any]) -> None:
    written = write(history, happenings)
    try:
        assert_guarantees(written.lines)
    except AssertionError as error:
        # A life that is written down by hand can begin the next before the last is over only by a restart that was allowed.
        raise AssertionError(f"{happenings}") from error


OOM = (fsm.OutOfMemory(**STAMP), fsm.Exited(exit=fsm.Exit(signal=9), **STAMP), fsm.Settled(**STAMP))
LIFE = (fsm.Submit(request=1, **STAMP), *OOM)


def forged(change: Any) -> list[bytes]:
    """A journal that a faulty machine would have written, well sealed."""
    seal, head = Seal(), "0" * 64
    lines: list[bytes] = []
    for item in read(write(RUNNING, list(LIFE)).lines):
        assert isinstance(item, Read)
        content: Any = item.line
        if isinstance(content, Entry):
            content = change(content)
        line, head = seal.line(msgspec.structs.replace(content, prev=head))
        lines.append(line)
    return lines


def test_a_journal_that_this_machine_would_not_have_written_is_refused() -> None:
    with pytest.raises(AssertionError, match="G7"):
        assert_guarantees(forged(lambda entry: msgspec.structs.replace(entry, settled=False)))


def test_what_is_intact_passes() -> None:
    assert_guarantees(write(RUNNING, list(LIFE)).lines)
