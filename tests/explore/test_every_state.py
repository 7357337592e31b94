"""Level 2: the guarantees in every state there is, and on every step between them; and that the end comes."""

import pytest

from fsm import lifecycle, requests
from fsm.explore import Edge, Exploration, Violated, explore
from fsm.lifecycle import Lifecycle
from fsm.states import State
from tests.explore.guarantees import hold

# One walk for all of them, also where tests run side by side.
pytestmark = pytest.mark.xdist_group("the walk")

NEVER_TAKEN = {
    "N7": "the end of the last request, when nobody waits for it, is not written down",
    "Q10": "a part of settling, whose row stands in the record",
    "Q11": "a part of settling, whose row stands in the record",
}


@pytest.fixture(scope="module")
def everything() -> Exploration:
    """The whole walk; half a minute."""
    return explore(check=hold)


def test_every_guarantee_holds_on_every_step(everything: Exploration) -> None:
    """The walk itself raises where one does not. Here it is said how far it went."""
    assert len(everything.nodes) > 50_000
    assert everything.edges > 1_000_000


def test_every_row_is_taken_but_those_that_say_why_not(everything: Exploration) -> None:
    rows = {row.id for row in (*lifecycle.ROWS, *requests.ROWS)}
    assert rows - set(everything.rows) == set(NEVER_TAKEN)


def test_once_its_end_is_due_no_fair_run_goes_on_for_ever(everything: Exploration) -> None:
    """Also from every state in which an out-of-memory has struck: until then it is Failed, and it is settled in the end."""
    assert list(everything.stuck()) == []


def test_from_every_state_a_settled_one_can_be_reached(everything: Exploration) -> None:
    leads_to: dict[int, list[int]] = {}
    for number, edges in everything.among_due.items():
        for dest, _ in edges:
            leads_to.setdefault(dest, []).append(number)
    reached = [number for number, node in enumerate(everything.nodes) if node.settled]
    known = set(reached)
    while reached:
        for number in leads_to.get(reached.pop(), []):
            if number not in known:
                known.add(number)
                reached.append(number)
    assert set(everything.among_due) <= known


def test_a_path_is_the_shortest_and_says_what_happens(everything: Exploration) -> None:
    number = next(number for number, node in enumerate(everything.nodes) if node.machine.state is State.RUNNING)
    assert everything.path(number) == ("user load", "spawn succeeds", "says hello", "says loaded")
    assert everything.path_along(everything.rows["X4"])[-1] == "exit is told"


class ForgetsItsEnd(Lifecycle):
    """A machine with a bug planted in it: it takes an exit with code 0 for none of its business."""

    def handle(self, event):  # type: ignore[no-untyped-def] # pyright: ignore
        if event.trigger == "exited" and event.exit.code == 0:  # pyright: ignore
            event = lifecycle.SupervisorLate(incarnation=1, at=0.0, late_s=0.0)
        return super().handle(event)  # pyright: ignore


def test_a_bug_that_never_comes_to_an_end_is_found() -> None:
    found = explore(machine=ForgetsItsEnd.resume, requests=1, unread=0)
    assert list(found.stuck())


class TellsTooEarly(Lifecycle):
    """A machine with a bug planted in it: a hello in a wrong protocol counts as the end of everything."""

    def handle(self, event):  # type: ignore[no-untyped-def] # pyright: ignore
        step = super().handle(event)  # pyright: ignore
        if event.trigger == "hello" and not event.protocol_ok:  # pyright: ignore
            step = super().handle(lifecycle.Settled(incarnation=1, at=0.0))
        return step


def test_a_bug_against_a_guarantee_is_found_with_the_shortest_way_to_it() -> None:
    with pytest.raises(Violated) as violated:
        explore(check=hold, machine=TellsTooEarly.resume, requests=1, unread=0)
    assert violated.value.guarantee.startswith("G5")
    assert violated.value.path == ("user start", "spawn succeeds", "says hello in another protocol")
    assert "3. says hello in another protocol" in str(violated.value)


def test_each_step_is_given_to_the_check() -> None:
    seen: list[Edge] = []
    found = explore(check=seen.append, requests=0, unread=0)
    assert len(seen) == found.edges
