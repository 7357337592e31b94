"""The kit, on a supervisor as others write it: the right one passes, and a bug that is planted in it is found."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import fsm
from fsm.testing import LifecycleModel

SEARCH = settings(
    max_examples=150,
    stateful_step_count=15,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=(HealthCheck.filter_too_much, HealthCheck.too_slow),
)


class Supervisor:
    """Somebody's supervisor. It stands on our machine, so that it is right; what it adds can be wrong."""

    def __init__(self) -> None:
        self.life = fsm.Lifecycle()
        self.ended: dict[int, fsm.RequestState] = {}

    def apply(self, event: Any) -> None:
        for change in self.life.handle(event).record.requests:
            if change.dest.terminal:
                self.ended[change.request] = change.dest

    def state(self) -> fsm.State:
        return self.life.state

    def cause(self) -> fsm.Kind | None:
        cause = self.life.facts.cause
        return cause.kind if cause is not None and self.life.facts.settled else None

    def outcomes(self) -> dict[int, fsm.RequestState]:
        return self.ended


class TakesCode0ForSuccess(Supervisor):
    """A process that ends with code 0 has not failed, has it?"""

    def state(self) -> fsm.State:
        cause = self.life.facts.cause
        exited = cause is not None and cause.kind is fsm.Kind.CLEAN_EXIT
        return fsm.State.SHUTDOWN if exited else self.life.state


class LateWordBringsItBack(Supervisor):
    """A message that was on its way overwrites the status."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = False
        self.shown = fsm.State.IDLE

    def apply(self, event: Any) -> None:
        super().apply(event)
        self.asked = self.asked or self.life.state is fsm.State.LOADING
        self.shown = fsm.State.RUNNING if isinstance(event, fsm.Loaded) and self.asked else self.life.state

    def state(self) -> fsm.State:
        return self.shown


class ForgetsRequestsOfTheDead(Supervisor):
    """Who asked waits for ever."""

    def apply(self, event: Any) -> None:
        if isinstance(event, fsm.Settled):
            self.life.handle(event)
        else:
            super().apply(event)


class TakesAnyKillForAKill(Supervisor):
    """An out-of-memory is told as somebody's kill."""

    def cause(self) -> fsm.Kind | None:
        kind = super().cause()
        return fsm.Kind.KILLED_EXTERNALLY if kind is fsm.Kind.OOM else kind


def search(system: type[Supervisor]) -> None:
    class Model(LifecycleModel):
        adapter = system

    run_state_machine_as_test(Model, settings=SEARCH)  # pyright: ignore[reportUnknownMemberType]


def test_a_supervisor_that_is_right_passes() -> None:
    search(Supervisor)


@pytest.mark.parametrize(
    "wrong", [TakesCode0ForSuccess, LateWordBringsItBack, ForgetsRequestsOfTheDead, TakesAnyKillForAKill]
)
def test_a_bug_that_was_planted_is_found(wrong: type[Supervisor]) -> None:
    with pytest.raises(AssertionError):
        search(wrong)
