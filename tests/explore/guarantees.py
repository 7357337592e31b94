"""The guarantees, said of one step of the world. Written by hand, as ``tests/spec.py`` is; the table is not asked."""

from fsm.explore import ABSENT, REAPED, Edge, Violated
from fsm.failure import Kind
from fsm.states import State


def hold(edge: Edge) -> None:
    """Raise ``Violated`` if a guarantee does not hold along this edge."""
    before, after = edge.source, edge.dest
    machine, world = after.machine, after.world
    facts = machine.facts
    told_oom = facts.cause is not None and facts.cause.kind is Kind.OOM
    if world.evidence and not (machine.state is State.FAILED and told_oom):
        raise Violated("G1: evidence of an out-of-memory came, and it does not end in Failed with cause oom")
    if told_oom and not world.evidence:
        raise Violated("An out-of-memory is told of which there was no evidence")
    if before.settled and machine != before.machine:
        raise Violated("G2: something changed after it was settled")
    if before.settled and edge.effects:
        raise Violated("G2: something was done after it was settled")
    if len(set(world.released)) != len(world.released):
        raise Violated("G3: a request got two outcomes")
    accepted = tuple(range(machine.first_request, machine.last_request + 1))
    if not set(world.released) <= set(accepted):
        raise Violated("G3: a request that was never accepted got an outcome")
    if after.settled and world.released != accepted:
        raise Violated("G3: a request got no outcome although all is over")
    if {request.request for request in machine.requests} != set(accepted) - set(world.released):
        raise Violated("G3: a request is neither alive nor over")
    if world.announced != int(after.settled):
        raise Violated("G4: the end is announced once, when it is settled, and not before")
    if after.settled and not world.gave_up and world.process not in (ABSENT, REAPED):
        raise Violated("G5: it is over, and the process is not")
    if machine.state is State.FAILED and facts.cause is None:
        raise Violated("A failure has no cause")
    if after.settled and machine.state is State.SHUTDOWN and facts.cause is not None:
        raise Violated("A shutdown that went well has a cause")
