"""The tables are checked at import: what is wrong in one is found before anything runs on it."""

import dataclasses
from typing import Any

import msgspec
import pytest

import fsm
from fsm import lifecycle, requests
from fsm.context import GUARDS, Facts


def table(rows: Any) -> fsm.Table[Any]:
    return fsm.Table(
        rows,
        states=tuple(state.value for state in fsm.State),
        triggers=(*lifecycle.COMMANDS, *lifecycle.WORLD),
        guards=GUARDS,
        facts=Facts,
    )


def test_the_shipped_tables_pass_their_own_checks() -> None:
    assert table(lifecycle.ROWS).rows == lifecycle.ROWS
    assert requests.TABLE.rows == requests.ROWS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dest": "Runing"}, "does not exist"),
        ({"guard": "no such guard"}, "does not exist"),
        ({"trigger": ("lod",)}, "does not exist"),
        ({"sets": {"procces": 1}}, "does not exist"),
        ({"id": "Z1"}, "Two rows"),
    ],
)
def test_a_wrong_name_in_a_row_is_found_when_the_table_is_made(change: dict[str, Any], message: str) -> None:
    place = next(number for number, row in enumerate(lifecycle.ROWS) if row.id == "L3")
    rows = list(lifecycle.ROWS)
    rows[place] = msgspec.structs.replace(rows[place], **change)
    with pytest.raises(fsm.TableError, match=message):
        table(rows)


def test_a_pair_that_nothing_decides_is_found_when_the_table_is_made() -> None:
    with pytest.raises(fsm.TableError, match="not decided"):
        table([row for row in lifecycle.ROWS if row.id != "N21"])


def test_a_row_that_can_never_be_taken_is_found_when_the_table_is_made() -> None:
    dead = fsm.Row(id="DEAD", source=("Idle",), trigger=("load",), why="Too late.")
    with pytest.raises(fsm.TableError, match="DEAD"):
        table([*lifecycle.ROWS, dead])


def test_events_are_frozen() -> None:
    event = fsm.Load(incarnation=1, at=0.0)
    with pytest.raises(AttributeError):
        event.at = 1.0  # pyright: ignore[reportAttributeAccessIssue]
    assert not dataclasses.is_dataclass(event)


def test_every_event_and_record_survives_the_way_through_json() -> None:
    machine = fsm.Lifecycle()
    for event in (fsm.Start(incarnation=1, at=0.5), fsm.OutOfMemory(incarnation=1, at=1.0, evidence=("a line",))):
        record = machine.handle(event).record
        assert msgspec.json.decode(msgspec.json.encode(record), type=fsm.Record) == record
