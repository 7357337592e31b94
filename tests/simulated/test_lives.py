"""What can't be brought about with real processes, or would take an hour: the real supervisor in virtual time."""

import contextlib
import signal
from typing import Any

import anyio
import pytest

from fsm import Exit, Kind, State
from runner import Missed, ProcessUnkillable, Record, RequestFailed, RunnerFailed, RunnerSupervisor, Settings
from runner.channel.messages import (
    CancelRequest,
    Chunk,
    Ended,
    Fatal,
    Generate,
    LoadModel,
    LoadStep,
    ModelLoaded,
    ModelUnloaded,
    PrefillStep,
    Started,
    Stop,
    ToWorker,
    UnloadModel,
)
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


def answering(child: SimulatedChild) -> None:
    """A child that begins each answer and goes on when the test says so."""
    healthy(child)
    before = child.channel.on_message

    def answer(message: ToWorker) -> None:
        if isinstance(message, Generate):
            child.channel.say(
                Started(message.request, 3), PrefillStep(message.request, 3, 3), Chunk(message.request, "a")
            )
        elif not isinstance(message, CancelRequest):
            before(message)

    child.channel.on_message = answer


def test_a_token_that_could_be_read_counts_although_the_supervisor_came_late_to_read_it() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        async with anyio.create_task_group() as tasks:
            await runner.load()
            generation = runner.generate("Hello")
            tasks.start_soon(beat, child)
            await anyio.sleep(29.9)
            # It lies in the socket; the event loop is busy for longer than the span has left.
            child.channel.arrive(Chunk(generation.id, "b"))
            clock.jump(0.3)
            await anyio.sleep(0.5)
            assert runner.state is State.RUNNING
            child.channel.say(Ended(generation.id, "stop", 2))
            assert (await generation.result()).text == "ab"
            tasks.cancel_scope.cancel()

    live(life, prepare=answering)


def test_the_budget_of_one_load_does_not_judge_the_next() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        before = child.channel.on_message
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat, child)

            async def load_slowly() -> None:
                await anyio.sleep(10)
                child.channel.say(ModelLoaded(512))

            def answer(message: ToWorker) -> None:
                if isinstance(message, UnloadModel):
                    child.channel.say(ModelUnloaded())
                elif isinstance(message, LoadModel):
                    tasks.start_soon(load_slowly)
                else:
                    before(message)

            child.channel.on_message = answer
            await runner.load()
            await runner.unload()
            await anyio.sleep(85)
            # The first load's budget would be over in the middle of this one.
            await runner.load()
            tasks.cancel_scope.cancel()

    live(life, settings=Settings(load_budget=100))


def test_a_laptop_that_slept_through_the_budget_of_a_load_gets_it_anew() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        child.channel.on_message = lambda message: None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat, child)
            tasks.start_soon(_fails, runner)
            await anyio.sleep(5)
            clock.jump(3600)
            await anyio.sleep(5)
            assert runner.state is State.LOADING
            await anyio.sleep(60)
            tasks.cancel_scope.cancel()

    live(life, settings=Settings(load_budget=200))


async def _fails(runner: RunnerSupervisor) -> None:
    with pytest.raises(RunnerFailed):
        await runner.load()


def test_a_supervisor_that_is_late_at_every_poll_judges_all_the_same() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        await runner.load()
        start = anyio.current_time()
        while runner.state is State.RUNNING:
            await anyio.sleep(0.9)
            clock.jump(3.3)
            assert anyio.current_time() - start < 60
        assert runner.cause is not None
        assert runner.cause.kind is Kind.HUNG
        late = [record for record in await records(runner) if record.event.trigger == "supervisor_late"]
        assert len(late) == 1

    live(life)


def test_a_cancel_that_is_never_honoured_is_late_however_many_others_end() -> None:
    async def life(runner: RunnerSupervisor, child: SimulatedChild, clock: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat, child)
            await runner.load()
            stuck = runner.generate("stuck")
            await anyio.sleep(1)
            stuck.cancel()
            start = anyio.current_time()
            while runner.state is State.RUNNING:
                with contextlib.suppress(RequestFailed):
                    async with runner.generate("other") as other:
                        await anyio.sleep(4)
                        child.channel.say(Ended(other.id, "stop", 1))
                        await other.result()
                assert anyio.current_time() - start < 60
            assert runner.cause is not None
            assert runner.cause.kind is Kind.CANCEL_TIMEOUT
            with pytest.raises(RequestFailed):
                await stuck.result()
            tasks.cancel_scope.cancel()

    live(life, prepare=answering)
