"""Every pair of state and trigger comes to what the hand-written matrix says."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm.testing import events
from tests.machine.lives import STAMP, TO, live, settle
from tests.spec import MATRIX, REQUEST_MATRIX, SETTLED, STATES


def letter(record: fsm.Record) -> str:
    match record.verdict:
        case fsm.Verdict.REFUSED:
            return "x"
        case fsm.Verdict.IGNORED:
            return "-"
        case fsm.Verdict.STAYED:
            return "="
        case fsm.Verdict.MOVED:
            return record.dest.value[0]


@pytest.mark.parametrize("state", STATES)
@settings(max_examples=150)
@given(data=st.data())
def test_what_comes_of_an_event_is_what_the_matrix_says(state: str, data: Any) -> None:
    event = data.draw(events())
    machine = live(*TO[state])
    assert machine.state.value == state
    record = machine.handle(event).record
    if event.trigger in MATRIX:
        assert letter(record) in MATRIX[event.trigger][STATES.index(state)]


@pytest.mark.parametrize("state", ["Failed", "Shutdown"])
@settings(max_examples=150)
@given(event=events())
def test_what_comes_of_an_event_once_settled(state: str, event: Any) -> None:
    machine = live(*TO[state])
    settle(machine)
    assert machine.facts.settled
    record = machine.handle(event).record
    if event.trigger in MATRIX:
        assert letter(record) == SETTLED.get(event.trigger, "-")


REQUEST_EVENTS: dict[str, Any] = {
    "request_started": fsm.RequestStarted,
    "request_progress": fsm.RequestProgress,
    "first_token": fsm.FirstToken,
    "request_done": fsm.RequestDone,
    "request_cancelled": fsm.RequestEnded,
    "request_failed": lambda **fields: fsm.RequestErred(kind=fsm.RequestErrorKind.EXCEPTION, message="no", **fields),
    "cancel": fsm.Cancel,
}
WAYS = {
    "Queued": (),
    "Prefill": (fsm.RequestStarted(request=1, **STAMP),),
    "Decode": (fsm.RequestStarted(request=1, **STAMP), fsm.FirstToken(request=1, **STAMP)),
}


@pytest.mark.parametrize("trigger", REQUEST_MATRIX)
@pytest.mark.parametrize("state", WAYS)
def test_what_comes_of_a_request_is_what_the_matrix_says(state: str, trigger: str) -> None:
    machine = live(*TO["Running"], fsm.Submit(request=1, **STAMP), *WAYS[state])
    record = machine.handle(REQUEST_EVENTS[trigger](request=1, **STAMP)).record
    expected = REQUEST_MATRIX[trigger][list(WAYS).index(state)]
    if expected == "-":
        assert record.verdict is fsm.Verdict.IGNORED
    elif expected == "=":
        assert machine.requests == {1: fsm.RequestState(state)}
    else:
        assert record.requests[0].dest.value == expected
        assert record.requests[0].dest.terminal == (1 not in machine.requests)


def test_a_refused_command_leaves_everything_as_it_was_and_says_what_to_do() -> None:
    machine = live(*TO["Loading"])
    facts = machine.facts
    record = machine.handle(fsm.Load(**STAMP)).record
    assert record.verdict is fsm.Verdict.REFUSED
    assert "wait_for" in record.why
    assert machine.facts == facts


def test_a_shutdown_asked_for_while_the_process_is_being_started_has_an_end() -> None:
    machine = live(fsm.Start(**STAMP))
    machine.handle(fsm.Shutdown(**STAMP))
    assert machine.watched == {fsm.Deadline.KILL}
    spawned = machine.handle(fsm.Spawned(pid=100, **STAMP))
    assert fsm.Kill() in spawned.effects


def test_an_exit_with_code_0_that_nobody_asked_for_is_a_failure() -> None:
    machine = live(*TO["Running"])
    machine.handle(fsm.Exited(exit=fsm.Exit(code=0), **STAMP))
    assert machine.state is fsm.State.FAILED
    assert machine.facts.cause is not None
    assert machine.facts.cause.kind is fsm.Kind.CLEAN_EXIT


def test_the_short_form_of_a_cause_names_the_signal() -> None:
    machine = live(*TO["Running"])
    machine.handle(fsm.Exited(exit=fsm.Exit(signal=9), **STAMP))
    assert str(machine.facts.cause) == "Terminated (signal=9 (Killed))"


def test_the_next_incarnation_goes_on_with_the_numbers() -> None:
    machine = live(*TO["Running"], fsm.Submit(request=7, **STAMP))
    with pytest.raises(fsm.NotSettled):
        machine.next_incarnation()
    settled = settle(machine)
    following = machine.next_incarnation()
    assert following.facts.incarnation == 2
    record = following.handle(fsm.Start(incarnation=2, at=1.0)).record
    assert record.seq == settled.record.seq + 1
