"""G7: whoever changes a journal is found out; and what can't be found out is what the documentation says."""

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fsm
from fsm.journal import Closing, Entry, Seal, read, verify
from fsm.journal.lines import AnyLine
from fsm.journal.read import Read
from fsm.states import Verdict
from tests.journal.runs import HAPPENINGS, HISTORIES, Written, write
from tests.machine.lives import RUNNING, STAMP

WRITTEN = st.builds(write, HISTORIES, HAPPENINGS)


def parsed(lines: list[bytes]) -> list[Read]:
    return [item for item in read(lines) if isinstance(item, Read)]


def resealed(contents: list[AnyLine], start: int, head: str, key: bytes | None = None) -> list[bytes]:
    """What an attacker does who computes every later hash anew."""
    seal = Seal(key)
    lines: list[bytes] = []
    for content in contents[start:]:
        line, head = seal.line(msgspec.structs.replace(content, prev=head))
        lines.append(line)
    return lines


@settings(max_examples=150, deadline=None)
@given(WRITTEN)
def test_what_was_not_touched_is_intact(written: Written) -> None:
    result = verify(written.lines)
    assert result.intact, result.problem
    assert result.derived
    assert result.closed
    assert result.head == written.heads[-1]


@settings(max_examples=200, deadline=None)
@given(WRITTEN, st.data())
def test_a_byte_that_was_changed_is_found(written: Written, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(written.lines) - 1))
    line = bytearray(written.lines[number])
    place = data.draw(st.integers(0, len(line) - 2))
    other = data.draw(st.integers(32, 126).filter(lambda byte: byte != line[place]))
    line[place] = other
    result = verify([*written.lines[:number], bytes(line), *written.lines[number + 1 :]])
    assert result.problem is not None
    # What was before it stands.
    assert result.problem.number in (number + 1, number + 2)


@settings(max_examples=200, deadline=None)
@given(WRITTEN, st.sampled_from(["drop", "swap", "duplicate", "insert"]), st.data())
def test_a_line_that_was_dropped_swapped_doubled_or_put_in_is_found(
    written: Written, what: str, data: st.DataObject
) -> None:
    lines = list(written.lines)
    number = data.draw(st.integers(0, len(lines) - 2))
    match what:
        case "drop":
            del lines[number]
        case "swap":
            lines[number], lines[number + 1] = lines[number + 1], lines[number]
        case "duplicate":
            lines.insert(number, lines[number])
        case _:
            other = data.draw(WRITTEN)
            lines.insert(number + 1, data.draw(st.sampled_from(other.lines)))
            assume(lines[number + 1] != lines[number + 2])
    assert not verify(lines).intact


@settings(max_examples=150, deadline=None)
@given(WRITTEN, st.data())
def test_an_end_that_was_cut_off_is_found_with_the_head(written: Written, data: st.DataObject) -> None:
    kept = data.draw(st.integers(1, len(written.lines) - 1))
    assert not verify(written.lines[:kept], head=written.heads[-1]).intact
    # Without it nothing is wrong with what is left, but that it did not end in order.
    result = verify(written.lines[:kept])
    assert (result.intact, result.closed) == (True, False)


def changed(content: AnyLine, data: st.DataObject) -> AnyLine:
    """A line as an attacker would rather have it."""
    if not isinstance(content, Entry):
        return msgspec.structs.replace(content, run="fedcba9876543210")
    what = data.draw(st.sampled_from(["dest", "verdict", "event", "cause", "seq", "rows"]))
    match what:
        case "dest":
            return msgspec.structs.replace(content, dest=data.draw(st.sampled_from(fsm.State)))
        case "verdict":
            return msgspec.structs.replace(content, verdict=data.draw(st.sampled_from(Verdict)))
        case "event":
            return msgspec.structs.replace(content, event=fsm.Shutdown(incarnation=1, at=content.event.at))
        case "cause":
            return msgspec.structs.replace(content, cause=None, settled=not content.settled)
        case "seq":
            return msgspec.structs.replace(content, seq=content.seq + 1)
        case _:
            return msgspec.structs.replace(content, rows=("L3",))


@settings(max_examples=250, deadline=None)
@given(WRITTEN, st.data())
def test_a_chain_that_was_computed_anew_is_found_with_the_head(written: Written, data: st.DataObject) -> None:
    contents = [item.line for item in parsed(written.lines)]
    number = data.draw(st.integers(0, len(contents) - 1))
    forged = changed(contents[number], data)
    assume(forged != contents[number])
    before = written.heads[number - 1] if number else "0" * 64
    lines = [
        *written.lines[:number],
        *resealed([*contents[:number], forged, *contents[number + 1 :]], number, before),
    ]
    assert not verify(lines, head=written.heads[-1]).intact
    # And without: found, unless this machine would have made just these steps of these events.
    result = verify(lines)
    if result.intact:
        assert_possible(lines)


def assert_possible(lines: list[bytes]) -> None:
    """Whoever makes a life that could have been can't be found without a head: say so by living it."""
    life = fsm.Lifecycle()
    for item in parsed(lines):
        if isinstance(item.line, Entry) and life.facts.incarnation == item.line.incarnation:
            record = life.handle(item.line.event).record
            assert (record.rows, record.dest, record.cause) == (item.line.rows, item.line.dest, item.line.cause)
        elif not isinstance(item.line, Closing):
            return


def test_a_failure_that_was_made_a_shutdown_is_found_without_a_head() -> None:
    oom = (fsm.OutOfMemory(**STAMP), fsm.Exited(exit=fsm.Exit(signal=9), **STAMP), fsm.Settled(**STAMP))
    written = write(RUNNING, list(oom))
    contents = [item.line for item in parsed(written.lines)]
    number = next(number for number, line in enumerate(contents) if isinstance(line, Entry) and line.cause)
    forged = msgspec.structs.replace(contents[number], dest=fsm.State.SHUTDOWN, cause=None)  # pyright: ignore[reportCallIssue]
    lines = [
        *written.lines[:number],
        *resealed([*contents[:number], forged, *contents[number + 1 :]], number, written.heads[number - 1]),
    ]
    result = verify(lines)
    assert result.problem is not None
    assert result.problem.number == number + 1
    assert "this machine would have made another step" in result.problem.what.lower()


@settings(max_examples=100, deadline=None)
@given(HISTORIES, HAPPENINGS, st.data())
def test_with_a_key_nobody_else_can_compute_the_chain_anew(
    history: object, happenings: list[object], data: st.DataObject
) -> None:
    key = b"a key that is kept elsewhere"
    written = write(history, happenings, key=key)
    assert verify(written.lines, key=key).intact
    contents = [item.line for item in parsed(written.lines)]
    number = data.draw(st.integers(0, len(contents) - 1))
    before = written.heads[number - 1] if number else "0" * 64
    for other in (None, b"another key"):
        lines = [*written.lines[:number], *resealed(contents, number, before, other)]
        assert not verify(lines, key=key).intact


def test_a_head_is_found_in_a_journal_that_went_on() -> None:
    written = write(RUNNING, [])
    for number, head in enumerate(written.heads):
        result = verify(written.lines, head=head)
        assert result.intact
        assert result.after_head == len(written.lines) - 1 - number
