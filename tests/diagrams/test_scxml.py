"""The machine as SCXML, run by an interpreter from elsewhere, takes the rows that ours takes and goes where ours goes."""

import itertools
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm.context import GUARDS
from fsm.drawing import LIFECYCLE, REQUEST, Drawn, scxml
from fsm.drawing.scxml import guard_name
from fsm.requests import TRIGGERS
from fsm.table import Guard, Holder, Table
from fsm.testing import events
from tests.machine.lives import IDLE, LOADING, RUNNING, SHUTDOWN

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statemachine.io.scxml.processor import SCXMLProcessor

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
BOTH = pytest.mark.parametrize("drawn", [LIFECYCLE, REQUEST], ids=lambda drawn: drawn.name)

Said = Mapping[str, bool]
"""What each guard says."""


class Interpreted:
    """A document in the other interpreter."""

    def __init__(self, document: str, initial: str = "") -> None:
        if initial:
            document = re.sub(' initial="[A-Za-z]+"', f' initial="{initial}"', document, count=1)
        # One a machine: its datamodel is made for the first machine that it starts, and for no other.
        processor = SCXMLProcessor()
        processor.parse_scxml("document", document)
        self._machine: Any = processor.start()

    def send(self, trigger: str, said: Said) -> None:
        self._machine.send(trigger, **{guard_name(guard): value for guard, value in said.items()})

    @property
    def state(self) -> str:
        (state,) = self._machine.configuration
        return state.id

    @property
    def row(self) -> str:
        return self._machine.model.row


def told(table: Table[Any]) -> Table[Said]:
    """The same rows on ``transitions``, with guards that say what they are told to say."""

    def saying(name: str) -> Callable[[Said], bool]:
        return lambda said: said[name]

    return Table(
        table.rows,
        states=table.states,
        triggers=table.triggers,
        guards={name: Guard(name, guard.text, saying(name)) for name, guard in table.guards.items()},
        facts=msgspec.defstruct("AnyFacts", sorted({name for row in table.rows for name in row.sets})),
    )


def every_case(table: Table[Any]) -> Iterator[tuple[str, str, Said]]:
    """Every state and trigger, with each answer that the guards in question can give."""
    for state, trigger in itertools.product(table.states, table.triggers):
        guards = [row.guard for row in table.deciding(state, trigger) if row.guard]
        for answers in itertools.product([False, True], repeat=len(guards)):
            yield state, trigger, dict(zip(guards, answers, strict=True))


def disagreements(drawn: Drawn, document: str) -> tuple[set[tuple[str, str]], set[str]]:
    """States and triggers for which the two interpreters part; and the rows that ours took."""
    ours, parted, taken = told(drawn.table), set[tuple[str, str]](), set[str]()
    theirs: dict[str, Interpreted] = {}
    for state, trigger, said in every_case(drawn.table):
        holder = Holder(state)
        row = ours.fire(holder, trigger, said)
        taken.add(row.id)
        machine = theirs.pop(state, None) or Interpreted(document, state)
        machine.send(trigger, said)
        if (machine.state, machine.row) != (holder.state, row.id):
            parted.add((state, trigger))
        if machine.state == state:
            theirs[state] = machine
    return parted, taken


@BOTH
def test_every_row_is_taken_in_the_same_cases_and_leads_to_the_same_state(drawn: Drawn) -> None:
    parted, taken = disagreements(drawn, scxml(drawn))
    assert parted == set()
    assert taken == {row.id for row in drawn.table.rows}


@pytest.mark.parametrize(
    ("right", "wrong", "where"),
    [
        ('event="first_token" target="Decode"', 'event="first_token" target="Done"', ("Prefill", "first_token")),
        ('cond="_event.data.cancelling"', "", ("Decode", "cancel")),
        ("expr=\"'Q12'\"", "expr=\"'Q13'\"", ("Done", "cancel")),
    ],
)
def test_a_document_that_leads_elsewhere_lacks_a_condition_or_names_another_row_is_found_out(
    right: str, wrong: str, where: tuple[str, str]
) -> None:
    document = scxml(REQUEST)
    assert right in document
    assert where in disagreements(REQUEST, document.replace(right, wrong))[0]


LIFECYCLE_DOCUMENT = scxml(LIFECYCLE)
HISTORIES = st.sampled_from([(), IDLE, LOADING, RUNNING, SHUTDOWN])


# Most of the time goes into reading the document, once a life.
@settings(max_examples=60, deadline=None)
@given(HISTORIES, st.lists(events(st.sampled_from([1, 1, 1, 2])), max_size=25))
def test_the_lifecycle_goes_the_same_way(history: tuple[Any, ...], drawn: list[Any]) -> None:
    ours, theirs = fsm.Lifecycle(), Interpreted(LIFECYCLE_DOCUMENT)
    for event in (*history, *drawn):
        context = ours._context(event)  # pyright: ignore[reportPrivateUsage]
        record = ours.handle(event).record
        if event.trigger in LIFECYCLE.table.triggers:
            theirs.send(event.trigger, {name: guard.test(context) for name, guard in GUARDS.items()})
            assert theirs.row == record.rows[0], event
        assert theirs.state == ours.state.value, event


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TRIGGERS), max_size=12))
def test_the_request_goes_the_same_way(triggers: list[str]) -> None:
    ours, theirs = fsm.RequestMachine(1), Interpreted(scxml(REQUEST))
    for trigger in triggers:
        said = {"cancelling": ours.cancelling}
        row, _ = ours.fire(trigger)
        theirs.send(trigger, said)
        assert (theirs.state, theirs.row) == (ours.state.value, row.id), trigger


@BOTH
def test_no_two_guards_have_the_same_name_in_a_document(drawn: Drawn) -> None:
    names = [guard_name(guard) for guard in drawn.table.guards]
    assert all(name.isidentifier() for name in names)
    assert len(set(names)) == len(names)
