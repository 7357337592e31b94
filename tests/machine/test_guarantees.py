"""G1 to G4 on the bare machine: every event, in any order, with any content."""

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm.testing import events
from tests.machine.lives import IDLE, LOADING, RUNNING, STAMP
from tests.spec import CAUSE_ORDER

HISTORIES = st.sampled_from([(), IDLE, LOADING, RUNNING])
ANY_EVENTS = st.lists(events(), max_size=25)


def rank(cause: fsm.FailureCause) -> int:
    return CAUSE_ORDER.index("oom" if cause.kind is fsm.Kind.OOM else cause.source.value)


def run(history: Any, drawn: list[Any]) -> tuple[fsm.Lifecycle, list[fsm.Record]]:
    machine = fsm.Lifecycle()
    return machine, [machine.handle(event).record for event in (*history, *drawn)]


def outcomes(records: list[fsm.Record]) -> list[fsm.Outcome]:
    return [effect.outcome for record in records for effect in record.effects if isinstance(effect, fsm.Release)]


@settings(max_examples=400)
@given(HISTORIES, ANY_EVENTS, ANY_EVENTS)
def test_an_out_of_memory_ends_in_failed_with_cause_oom_whatever_comes_before_and_after(
    history: Any, before: list[Any], after: list[Any]
) -> None:
    machine, _ = run(history, before)
    if machine.facts.settled:
        return
    machine.handle(fsm.OutOfMemory(**STAMP))
    assert machine.state is fsm.State.FAILED
    for event in (*after, fsm.Settled(exit=fsm.Exit(signal=9), **STAMP)):
        machine.handle(event)
        assert machine.state is fsm.State.FAILED
        assert machine.facts.cause is not None
        assert machine.facts.cause.kind is fsm.Kind.OOM
    assert machine.facts.settled


@settings(max_examples=300)
@given(HISTORIES, ANY_EVENTS)
def test_evidence_of_an_out_of_memory_at_the_very_end_still_counts(history: Any, before: list[Any]) -> None:
    machine, _ = run(history, before)
    machine.handle(fsm.Shutdown(**STAMP))
    if machine.facts.settled or machine.state is not fsm.State.SHUTDOWN:
        return
    found = fsm.FailureCause(
        kind=fsm.Kind.OOM, certainty=fsm.Certainty.CERTAIN, source=fsm.Source.EXIT, sentence="A counter rose."
    )
    machine.handle(fsm.Settled(exit=fsm.Exit(signal=9), cause=found, **STAMP))
    assert (machine.state, machine.facts.settled) == (fsm.State.FAILED, True)
    assert machine.facts.cause is not None
    assert machine.facts.cause.kind is fsm.Kind.OOM


@settings(max_examples=300)
@given(HISTORIES, ANY_EVENTS, ANY_EVENTS)
def test_settled_is_the_end(history: Any, before: list[Any], after: list[Any]) -> None:
    machine, _ = run(history, [*before, fsm.Shutdown(**STAMP), fsm.Settled(**STAMP)])
    assert machine.facts.settled
    facts, state = machine.facts, machine.state
    assert state in (fsm.State.FAILED, fsm.State.SHUTDOWN)
    for event in after:
        record = machine.handle(event).record
        assert (machine.facts, machine.state) == (facts, state)
        assert not record.effects


@settings(max_examples=300)
@given(HISTORIES, ANY_EVENTS)
def test_every_accepted_request_gets_exactly_one_outcome_and_nothing_after_it(history: Any, drawn: list[Any]) -> None:
    _, records = run(history, [*drawn, fsm.Shutdown(**STAMP), fsm.Settled(**STAMP), *drawn])
    accepted = [change.request for record in records for change in record.requests if change.source is None]
    assert len(accepted) == len(set(accepted)), "an id was used twice"
    assert sorted(outcome.request for outcome in outcomes(records)) == sorted(accepted)
    ended: set[int] = set()
    for record in records:
        for change in record.requests:
            assert change.request not in ended
            if change.dest.terminal:
                ended.add(change.request)


@settings(max_examples=300)
@given(HISTORIES, ANY_EVENTS)
def test_each_incarnation_is_announced_exactly_once(history: Any, drawn: list[Any]) -> None:
    _, records = run(history, [*drawn, fsm.Shutdown(**STAMP), fsm.Settled(**STAMP), *drawn])
    announced = [record for record in records for effect in record.effects if isinstance(effect, fsm.Announce)]
    assert len(announced) == 1
    assert announced[0].settled


@settings(max_examples=300)
@given(HISTORIES, ANY_EVENTS)
def test_a_cause_only_ever_gets_sharper_and_is_fixed_once_settled(history: Any, drawn: list[Any]) -> None:
    _, records = run(history, drawn)
    causes = [record.cause for record in records if record.cause is not None]
    for earlier, later in itertools.pairwise(causes):
        assert rank(later) <= rank(earlier)
        if later.kind is not earlier.kind and earlier.source is not fsm.Source.EXIT:
            assert rank(later) < rank(earlier)


@settings(max_examples=300)
@given(HISTORIES, st.lists(events(st.integers(0, 3)), max_size=25))
def test_what_is_about_another_incarnation_changes_nothing(history: Any, drawn: list[Any]) -> None:
    machine, _ = run(history, [])
    for event in drawn:
        facts, state, requests = machine.facts, machine.state, machine.requests
        record = machine.handle(event).record
        if event.incarnation != 1:
            assert (machine.facts, machine.state, machine.requests) == (facts, state, requests)
            assert record.verdict is fsm.Verdict.IGNORED


@settings(max_examples=200)
@given(HISTORIES, ANY_EVENTS)
def test_the_same_events_make_the_same_records(history: Any, drawn: list[Any]) -> None:
    assert run(history, drawn)[1] == run(history, drawn)[1]


@settings(max_examples=300)
@given(HISTORIES, ANY_EVENTS)
def test_no_step_says_no_and_yet_changes_something(history: Any, drawn: list[Any]) -> None:
    machine, _ = run(history, [])
    for event in drawn:
        before = (machine.state, machine.facts, machine.requests, machine.watched)
        record = machine.handle(event).record
        if record.verdict in (fsm.Verdict.REFUSED, fsm.Verdict.IGNORED):
            assert (machine.state, machine.facts, machine.requests, machine.watched) == before
            assert not record.effects
            assert record.why


@settings(max_examples=300)
@given(HISTORIES, ANY_EVENTS)
def test_whatever_runs_out_of_time_has_an_end(history: Any, drawn: list[Any]) -> None:
    """Let every deadline expire and the world be silent: a runner that was told to end, or failed, asks for its end."""
    machine, records = run(history, drawn)
    records.append(machine.handle(fsm.Shutdown(**STAMP)).record)
    for _ in range(10):
        for deadline in machine.watched:
            records.append(machine.handle(fsm.DeadlineExpired(deadline=deadline, after_s=1.0, **STAMP)).record)
    wanted = {type(effect) for record in records for effect in record.effects}
    assert machine.facts.settled or wanted & {fsm.Settle, fsm.GiveUp}
