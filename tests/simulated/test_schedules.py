"""Level 3: the real supervisor, in virtual time, under schedules that Hypothesis draws.

Whatever happens, in whatever order, and in whatever order trio runs what can run: the guarantees hold, every caller gets an
answer, and once the faults stop, all is over within the ladder's bound.
"""

import contextlib
import gc
import warnings
from typing import Any

import anyio
import trio._core._run
import trio.testing
from hypothesis import HealthCheck, example, given, register_random, settings
from hypothesis import strategies as st

from fsm import Exit
from fsm.testing import assert_guarantees
from runner import (
    CommandRefused,
    ProcessUnkillable,
    RequestCancelled,
    RequestFailed,
    RunnerFailed,
    RunnerSupervisor,
    State,
)
from runner.protocols import WorkerSpec
from tests.simulated.memory_journal import MemoryJournal
from tests.simulated.schedules import SCHEDULES, SERVING, Deafen, Die, User, Wait
from tests.simulated.world import SimulatedChild, located, obliging

# So that a failing order is the same when Hypothesis runs it again.
register_random(trio._core._run._r)  # pyright: ignore

BOUND = 60.0
"""Virtual seconds in which all must be over once nothing more goes wrong: the whole ladder, twice."""
TOLD = (CommandRefused, RunnerFailed, RequestFailed, RequestCancelled, ProcessUnkillable)


class Spawner:
    """A fresh child an incarnation. Each is a good one until the schedule says otherwise."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.children: list[SimulatedChild] = []

    async def spawn(self, spec: WorkerSpec) -> SimulatedChild:
        await anyio.sleep(self.delay)
        child = SimulatedChild()
        obliging(child)
        self.children.append(child)
        return child


class Life:
    """One run of the real supervisor under a schedule."""

    def __init__(self, schedule: list[Any], delay: float) -> None:
        self.schedule = schedule
        self.spawner = Spawner(delay)
        self.journal = MemoryJournal()
        self.asked = 0
        self.answered = 0

    async def run(self, clock: trio.testing.MockClock) -> None:
        # A child that is still being started when the last rung is over can't be told from one that can't be killed.
        unkillable = (ProcessUnkillable,) if self.spawner.delay else ()
        async with anyio.create_task_group() as users:
            with contextlib.suppress(*unkillable):
                async with RunnerSupervisor(
                    "any", spawner=self.spawner, locate=located, journal=self.journal
                ) as runner:
                    for happening in self.schedule:
                        await self._happen(runner, happening, users, clock)
                    for child in self.spawner.children:
                        # From here on nothing more goes wrong, but for what has.
                        child.heeds.add(9)
                    start = anyio.current_time()
                assert anyio.current_time() - start <= BOUND
            with anyio.fail_after(BOUND):
                while self.answered < self.asked:
                    await anyio.sleep(0.1)
        assert all(child.closed for child in self.spawner.children)
        assert_guarantees(self.journal.lines)

    async def _happen(
        self, runner: RunnerSupervisor, happening: Any, users: anyio.abc.TaskGroup, clock: trio.testing.MockClock
    ) -> None:
        match happening:
            case Wait(seconds, late):
                await anyio.sleep(seconds)
                clock.jump(late)
            case User():
                self.asked += 1
                users.start_soon(self._ask, runner, happening)
                await anyio.sleep(0)
            case _:
                if self.spawner.children:
                    happening.happen(self.spawner.children[-1])

    async def _ask(self, runner: RunnerSupervisor, user: User) -> None:
        try:
            with anyio.move_on_after(user.patience), contextlib.suppress(*TOLD):
                await self._verb(runner, user.verb)
        finally:
            self.answered += 1

    async def _verb(self, runner: RunnerSupervisor, verb: str) -> None:
        match verb:
            case "generate":
                async with runner.generate("Hello") as generation:
                    await generation.result()
            case "drop":
                generation = runner.generate("Hello")
                del generation
                gc.collect(0)
            case "cancel":
                runner.cancel(1)
            case "wait":
                await runner.wait_for(State.RUNNING)
            case _:
                await getattr(runner, verb)()


def live(schedule: list[Any], delay: float, seed: int) -> Life:
    clock = trio.testing.MockClock(autojump_threshold=0)
    life = Life(schedule, delay)
    trio._core._run._r.seed(seed)  # pyright: ignore
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        anyio.run(life.run, clock, backend="trio", backend_options={"clock": clock})
    return life


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SCHEDULES, st.sampled_from([0.0, 0.0, 0.0, 2.0]), st.integers(0, 2**32 - 1))
@example([*SERVING, Die(Exit(signal=9), True), User("restart", 1e6)], 0.0, 0)
def test_whatever_happens_the_guarantees_hold_and_it_comes_to_an_end(
    schedule: list[Any], delay: float, seed: int
) -> None:
    live(schedule, delay, seed)


def test_a_supervisor_that_slept_while_the_process_was_started_does_not_give_it_up_in_whatever_order_it_wakes() -> None:
    for seed in range(50):
        live([User("load", 5.0), User("shutdown", 0.0), Wait(0.0, late=5.0), Deafen(), Wait(11.0)], 0.0, seed)
