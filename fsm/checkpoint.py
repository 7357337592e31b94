"""Where a machine stands, as a value: enough to go on from there without what came before."""

import msgspec

from fsm.context import Facts
from fsm.states import RequestState, State


class RequestCheckpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where one request stands that has not ended."""

    request: int
    state: RequestState


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where an incarnation stands between two steps. ``fsm.Lifecycle.resume`` makes a machine of it that goes on alike."""

    state: State
    facts: Facts
    requests: tuple[RequestCheckpoint, ...] = ()
    cancelling: tuple[int, ...] = ()
    """Of these, those with a cancel on its way, in the order in which they were cancelled."""
    first_request: int = 1
    """Lowest id that this incarnation could accept."""
    last_request: int = 0
    """Highest id that was accepted by this incarnation or one before it."""
    next_seq: int = 0
    """Number of the record that comes next."""
