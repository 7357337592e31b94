"""The machine as SCXML, run by an interpreter from elsewhere, goes where ours goes."""

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm.context import GUARDS
from fsm.drawing import LIFECYCLE, REQUEST, Drawn, scxml
from fsm.drawing.scxml import guard_name
from fsm.requests import TRIGGERS
from tests.machine.events import events

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statemachine.io.scxml.processor import SCXMLProcessor


def interpreted(drawn: Drawn) -> Any:
    processor = SCXMLProcessor()
    processor.parse_scxml(drawn.name, scxml(drawn))
    return processor.start()


def state_of(machine: Any) -> str:
    (state,) = machine.configuration
    return state.id


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@settings(max_examples=150, deadline=None)
@given(st.lists(events(st.sampled_from([1, 1, 1, 2])), max_size=25))
def test_the_lifecycle_goes_the_same_way(drawn: list[Any]) -> None:
    ours, theirs = fsm.Lifecycle(), interpreted(LIFECYCLE)
    for event in drawn:
        if event.trigger not in LIFECYCLE.table.triggers:
            ours.handle(event)
            continue
        context = ours._context(event)  # pyright: ignore[reportPrivateUsage]
        said = {guard_name(name): bool(guard.test(context)) for name, guard in GUARDS.items()}
        ours.handle(event)
        theirs.send(event.trigger, **said)
        assert state_of(theirs) == ours.state.value, event


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TRIGGERS), max_size=12))
def test_the_request_goes_the_same_way(triggers: list[str]) -> None:
    ours, theirs = fsm.RequestMachine(1), interpreted(REQUEST)
    for trigger in triggers:
        said = {"cancelling": ours.cancelling}
        ours.fire(trigger)
        theirs.send(trigger, **said)
        assert state_of(theirs) == ours.state.value, trigger


def test_a_document_of_another_machine_would_be_found_out() -> None:
    processor = SCXMLProcessor()
    processor.parse_scxml(
        "wrong", scxml(REQUEST).replace('event="first_token" target="Decode"', 'event="first_token" target="Done"')
    )
    machine = processor.start()
    for trigger in ("request_started", "first_token"):
        machine.send(trigger, cancelling=False)
    assert state_of(machine) == "Done"
