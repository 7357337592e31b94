"""What is read out of a journal is what was; and what is no journal is said to be none."""

import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm.journal import (
    Entry,
    JournalError,
    Opening,
    Seal,
    SealMismatch,
    Torn,
    read,
    replay,
    replay_steps,
    verify,
)
from fsm.journal.lines import entry_of
from fsm.journal.read import Read
from fsm.journal.seal import ZERO
from fsm.lineage import Lineage
from tests.journal.runs import GAP, HAPPENINGS, HISTORIES, ROTATE, WALL, keeper, write
from tests.machine.lives import RUNNING, STAMP


@settings(max_examples=200, deadline=None)
@given(HISTORIES, HAPPENINGS)
def test_a_replay_stands_at_every_step_where_the_machine_stood(history: Any, happenings: list[Any]) -> None:
    written = write(history, happenings)
    seen = 0
    for status in replay_steps(written.lines):
        life = Lineage.resume(written.checkpoints[status.seq]).lifecycle
        assert (status.state, status.requests) == (life.state, life.requests)
        facts = life.facts
        assert (status.incarnation, status.settled, status.cause) == (facts.incarnation, facts.settled, facts.cause)
        assert (status.activity, status.process) == (facts.activity, facts.process)
        seen += 1
    assert seen == len(written.checkpoints)


@settings(max_examples=200, deadline=None)
@given(HISTORIES, HAPPENINGS)
def test_a_machine_that_goes_on_from_a_checkpoint_makes_the_same_steps(history: Any, happenings: list[Any]) -> None:
    life = Lineage(fsm.Lifecycle())
    for happening in [*history, *(happening for happening in happenings if happening not in (GAP, ROTATE))]:
        other = Lineage.resume(life.lifecycle.checkpoint)
        assert other.handle(happening) == life.handle(happening)
        assert other.lifecycle.checkpoint == life.lifecycle.checkpoint
        assert other.lifecycle.watched == life.lifecycle.watched


@settings(max_examples=200, deadline=None)
@given(HISTORIES, HAPPENINGS)
def test_what_is_left_out_changes_no_move(history: Any, happenings: list[Any]) -> None:
    whole, redacted = (write(history, happenings, text=text) for text in (True, False))
    for one, other in zip(read(whole.lines), read(redacted.lines), strict=True):
        assert isinstance(one, Read)
        assert isinstance(other, Read)
        if isinstance(one.line, Entry) and isinstance(other.line, Entry):
            assert (one.line.rows, one.line.dest, one.line.effects[:0]) == (other.line.rows, other.line.dest, ())
    assert verify(redacted.lines).intact


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_whatever_is_no_journal_is_a_problem_and_nothing_worse(lines: list[bytes]) -> None:
    assert not verify([line + b"\n" for line in lines]).intact


@settings(max_examples=200)
@given(
    st.recursive(
        st.none() | st.text() | st.integers() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_is_sealed_and_no_line_of_ours_is_a_problem_and_nothing_worse(value: Any) -> None:
    body = json.dumps({"kind": "step", "value": value}).encode()
    own = hashlib.sha256(body).hexdigest()
    assert not verify([body[:-1] + f',"hash":"{own}"}}\n'.encode()]).intact


def test_a_nesting_that_no_reader_can_follow_is_a_problem_and_nothing_worse() -> None:
    body = b'{"kind":"opening","settings":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001
    own = hashlib.sha256(body).hexdigest()
    assert not verify([body[:-1] + f',"hash":"{own}"}}\n'.encode()]).intact


def test_a_hash_can_be_checked_with_nothing_but_sha256() -> None:
    """As the documentation tells it: all before the last field, and a closing brace."""
    previous = "0" * 64
    for line in write(RUNNING, []).lines:
        text = line.decode().rstrip("\n")
        body, _, rest = text.rpartition(',"hash":"')
        assert hashlib.sha256((body + "}").encode()).hexdigest() == rest.removesuffix('"}')
        assert json.loads(text)["prev"] == previous
        previous = rest.removesuffix('"}')


def test_a_torn_last_line_is_reported_and_what_is_before_it_holds() -> None:
    lines = write(RUNNING, []).lines
    for cut in (1, 40, len(lines[-1]) - 1):
        result = verify([*lines[:-1], lines[-1][:cut]])
        assert result.intact
        assert result.torn == Torn(len(lines), cut)
        assert replay([*lines[:-1], lines[-1][:cut]]).state is fsm.State.RUNNING


def test_a_torn_line_in_the_middle_is_a_problem() -> None:
    lines = write(RUNNING, []).lines
    result = verify([lines[0], lines[1][:-5], *lines[2:]])
    assert result.problem is not None
    assert result.problem.number == 2


def test_a_journal_that_was_written_with_other_rules_is_checked_as_a_chain_and_that_is_said() -> None:
    seal, head = Seal(), ZERO
    lines: list[bytes] = []
    for item in read(write(RUNNING, []).lines):
        assert isinstance(item, Read)
        content: Any = msgspec.structs.replace(item.line, prev=head)
        if isinstance(content, Opening):
            content = msgspec.structs.replace(content, table="another")
        line, head = seal.line(content)
        lines.append(line)
    result = verify(lines)
    assert (result.intact, result.derived) == (True, False)
    assert not verify([*lines[:2], *lines[3:]]).intact


def test_a_seal_of_the_other_kind_is_wrong_usage_and_not_a_broken_journal() -> None:
    with pytest.raises(SealMismatch, match="give the key"):
        verify(write(RUNNING, [], key=b"key").lines)
    with pytest.raises(SealMismatch, match="not sealed with a key"):
        verify(write(RUNNING, []).lines, key=b"key")


@pytest.mark.parametrize("lines", [[], [b""], [b"\n"], [b"{"]])
def test_nothing_is_no_journal(lines: list[bytes]) -> None:
    assert not verify(lines).intact
    with pytest.raises(JournalError):
        replay(lines)


def test_a_replay_can_stop_at_a_step() -> None:
    lines = write(RUNNING, []).lines
    assert replay(lines, until=3).state is fsm.State.LOADING
    with pytest.raises(JournalError, match="step 99"):
        replay(lines, until=99)


def long_run(requests: int) -> Iterator[bytes]:
    writer, life, at = keeper(), fsm.Lifecycle(), 0.0
    yield writer.opening(WALL)
    for event in RUNNING:
        yield writer.step(life.handle(event).record, WALL)
    for request in range(1, requests + 1):
        for event in (
            fsm.Submit(request=request, **STAMP),
            fsm.RequestStarted(request=request, **STAMP),
            fsm.FirstToken(request=request, **STAMP),
            fsm.RequestDone(request=request, **STAMP),
        ):
            at += 0.001
            yield writer.step(life.handle(msgspec.structs.replace(event, at=at)).record, WALL)


def test_a_long_journal_is_verified_in_flat_memory() -> None:
    def peak(requests: int) -> int:
        tracemalloc.start()
        assert verify(long_run(requests)).steps == 5 + 4 * requests
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(1500) < 2 * peak(50)


def test_an_entry_gives_back_the_record_it_was_made_of() -> None:
    record = fsm.Lifecycle().handle(fsm.Load(**STAMP)).record
    assert entry_of(record, run="r", wall=WALL, prev=ZERO).record == record
