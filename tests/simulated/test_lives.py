"""What can't be brought about with real processes, or would take an hour: the real supervisor in virtual time."""

import signal
from typing import Any

import anyio
import pytest

from fsm import Exit, Kind, State
from runner import Missed, ProcessUnkillable, Record, RunnerFailed, RunnerSupervisor, Settings
from runner.channel.messages import Fatal, LoadModel, LoadStep, ModelLoaded, Stop
from tests.simulated.world import SimulatedChild, beat, healthy, live


async def records(runner: RunnerSupervisor) -> list[Record]:
    last = runner.snapshot().seq
    found: list[Record] = []
    async for record in runner.changes(since=0):
        assert not isinstance(record, Missed)
        found.append(record)
        if record.seq == last:
            break
    return found


def test_a_process_that_cannot_be_killed_is_reported_after_the_whole_ladder() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        await runner.load()
        child.heeds = set()
        child.channel.on_message = lambda message: None
        start = anyio.current_time()
        with pytest.raises(ProcessUnkillable) as error:
            await runner.shutdown()
        assert error.value.pid == child.pid
        # Asked 3 s, terminated 5 s, killed 5 s.
        assert anyio.current_time() - start == pytest.approx(13)
        assert child.signals[:2] == [signal.SIGTERM, signal.SIGKILL]
        assert runner.snapshot().settled

    with pytest.raises(ProcessUnkillable):
        live(life)


def test_a_start_that_never_comes_back_does_not_hold_a_shutdown_for_ever() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        with pytest.raises(ProcessUnkillable):
            await runner.shutdown()

    with pytest.raises(ProcessUnkillable):
        live(life, spawn_delay=10_000)


def test_a_process_that_comes_to_be_after_the_shutdown_was_asked_for_is_killed() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        record = await runner.shutdown()
        assert record.dest is State.SHUTDOWN
        assert signal.SIGKILL in child.signals
        assert child.closed

    assert live(life, spawn_delay=2) < 5


def test_a_report_that_is_read_only_after_the_exit_was_told_still_names_the_cause() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        await runner.load()
        child.end(Exit(code=1))
        child.channel.say(Fatal("MemoryError", "", "", "decode"))
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause.kind is Kind.OOM
        assert record.cause.exit == Exit(code=1)

    live(life)


def test_a_channel_that_ends_just_before_the_process_is_no_cause_of_its_own() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        await runner.load()
        child.channel.shut()
        await anyio.sleep(0.2)
        child.end(Exit(signal=11))
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause.kind is Kind.SEGFAULT

    live(life)


def test_a_channel_that_ends_while_the_process_lives_on_is_a_broken_protocol() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        await runner.load()
        child.channel.shut()
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause.kind is Kind.PROTOCOL_ERROR
        assert child.signals[0] == signal.SIGTERM

    live(life)


@pytest.mark.parametrize(("busy", "after"), [(False, 10), (True, 30)])
def test_a_process_without_a_beat_is_hung_and_a_busy_one_later(busy: bool, after: float) -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        await runner.load()
        child.heeds = {9}
        if busy:
            child.cpu = anyio.current_time
        start = anyio.current_time()
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause.kind is Kind.HUNG
        assert after <= anyio.current_time() - start <= after + 2
        assert signal.SIGTERM not in child.signals

    live(life)


def test_a_stopped_process_is_hung_after_three_polls() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        await runner.load()
        child.stopped = True
        start = anyio.current_time()
        await runner.wait_for(State.FAILED)
        assert anyio.current_time() - start <= 4

    live(life)


def _slow_load(child: SimulatedChild, steps: int, every: float) -> Any:
    async def load() -> None:
        while not any(isinstance(message, LoadModel) for message in child.channel.told):
            await anyio.sleep(1)
        for number in range(steps):
            await anyio.sleep(every)
            child.channel.say(LoadStep("weights", number, steps))
        child.channel.say(ModelLoaded(512))

    return load


def _hello_only(child: SimulatedChild) -> None:
    healthy(child)
    answer = child.channel.on_message
    child.channel.on_message = lambda message: answer(message) if isinstance(message, Stop) else None


def test_a_load_that_is_slow_but_goes_on_is_left_alone() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat, child)
            tasks.start_soon(_slow_load(child, 20, 50))
            await runner.load()
            tasks.cancel_scope.cancel()
        assert runner.state is State.RUNNING

    assert live(life, prepare=_hello_only) > 1000


def test_a_load_that_stands_still_fails_after_its_deadline_and_one_over_its_budget_too() -> None:
    for settings, every, sentence in (
        (Settings(), 61, "no progress for 60 s"),
        (Settings(load_budget=200), 50, "budget of 200 s"),
    ):

        async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any, every: float = every) -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(beat, child)
                tasks.start_soon(_slow_load(child, 20, every))
                with pytest.raises(RunnerFailed) as failed:
                    await runner.load()
                tasks.cancel_scope.cancel()
            assert failed.value.cause is not None
            assert failed.value.cause.kind is Kind.LOAD_TIMEOUT
            assert sentence in failed.value.cause.sentence  # noqa: B023

        live(life, prepare=_hello_only, settings=settings)


def test_a_supervisor_that_slept_judges_nobody_by_it() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat, child)
            tasks.start_soon(runner.load)
            await anyio.sleep(5)
            clock.jump(3600)
            await anyio.sleep(5)
            assert runner.state is State.LOADING
            assert any(record.event.trigger == "supervisor_late" for record in await records(runner))
            child.channel.say(ModelLoaded(512))
            await runner.wait_for(State.RUNNING)
            tasks.cancel_scope.cancel()

    live(life, prepare=_hello_only)


def test_a_worker_that_never_says_hello_fails_after_the_start_deadline() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        start = anyio.current_time()
        with pytest.raises(RunnerFailed) as failed:
            await runner.load()
        assert failed.value.cause is not None
        assert failed.value.cause.kind is Kind.START_TIMEOUT
        assert anyio.current_time() - start == pytest.approx(30, abs=1)

    live(life, prepare=lambda child: None)


def test_waiting_for_a_state_with_a_time_limit_ends_with_it() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat, child)
            with pytest.raises(TimeoutError):
                await runner.wait_for(State.RUNNING, timeout=100)
            tasks.cancel_scope.cancel()
        assert runner.state is State.IDLE

    live(life)
