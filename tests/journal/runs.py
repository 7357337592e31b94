"""Journals of random lives: several files, restarts, gaps, and a machine that saw the same without any journal."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st

import fsm
from fsm.checkpoint import Checkpoint
from fsm.journal import Keeper, Seal
from fsm.lineage import Lineage
from fsm.testing import events
from tests.machine.lives import IDLE, LOADING, RUNNING

WALL = datetime(2026, 1, 1, tzinfo=UTC)
HISTORIES = st.sampled_from([(), IDLE, LOADING, RUNNING])
GAP, ROTATE = "gap", "rotate"


class Written(msgspec.Struct):
    """A journal, and what it must hold."""

    lines: list[bytes]
    heads: list[str]
    """After each line."""
    checkpoints: dict[int, Checkpoint]
    """Where a machine stood after each step, by number."""


def keeper(key: bytes | None = None, *, text: bool = True) -> Keeper:
    return Keeper(run="0123456789abcdef", package="test", settings={"poll": 1.0}, seal=Seal(key), text=text)


def write(history: Any, happenings: list[Any], *, key: bytes | None = None, text: bool = True) -> Written:
    """Write down a life. Events get rising times and, after a restart, the number of the incarnation."""
    writer = keeper(key, text=text)
    life = Lineage(fsm.Lifecycle())
    written = Written([], [], {})

    def add(line: bytes) -> None:
        written.lines.append(line)
        written.heads.append(writer.head)

    add(writer.opening(WALL))
    for number, happening in enumerate([*history, *happenings]):
        wall = WALL + timedelta(seconds=number)
        if happening == ROTATE:
            add(writer.opening(wall))
            continue
        if happening == GAP:
            before = life.lifecycle.next_seq
            for _ in range(2):
                life.handle(fsm.Shutdown(incarnation=life.lifecycle.facts.incarnation, at=float(number)))
            checkpoint = life.lifecycle.checkpoint
            add(writer.gap(checkpoint.next_seq - before, "The disk was full.", checkpoint, wall))
            written.checkpoints[checkpoint.next_seq - 1] = checkpoint
            continue
        offset = life.lifecycle.facts.incarnation - 1
        event = msgspec.structs.replace(happening, at=float(number), incarnation=happening.incarnation + offset)
        handled = life.lifecycle
        record = life.handle(event).record
        add(writer.step(record, wall))
        written.checkpoints[record.seq] = handled.checkpoint
    add(writer.closing(WALL))
    return written


HAPPENINGS = st.lists(
    st.one_of(
        *([events(st.sampled_from([1, 1, 1, 1, 2]))] * 8),
        st.just(fsm.Restart(incarnation=1, at=0.0)),
        st.just(GAP),
        st.just(ROTATE),
    ),
    min_size=1,
    max_size=20,
)
