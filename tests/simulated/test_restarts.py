"""Restarts by policy, in virtual time: when they come, when they end, and who is told."""

import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from fsm import CommandRefused, Exit, Kind, State
from runner import ModelError, RestartPolicy, RunnerFailed, RunnerSupervisor, Settings
from runner.channel.messages import Fatal, LoadModel, ToWorker
from tests.simulated.world import ManyChildren, SimulatedChild, healthy, live_again, obliging

STEADY = RestartPolicy("on_failure", limit=3, backoff=1, factor=2, longest=30, jitter=0, window=300, healthy_after=60)
PATIENT = Settings(hung_after=50_000, busy_hung_after=50_000)
"""Nothing here beats."""


def dies_when_loading(child: SimulatedChild) -> None:
    healthy(child)
    before = child.channel.on_message

    def answer(message: ToWorker) -> None:
        if isinstance(message, LoadModel):
            child.end(Exit(signal=11))
        else:
            before(message)

    child.channel.on_message = answer


def kill(spawner: ManyChildren) -> None:
    spawner.newest.end(Exit(signal=signal.SIGSEGV))


def test_a_crash_loop_waits_longer_each_time_and_gives_up_at_the_limit_with_the_last_cause() -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        with pytest.raises(RunnerFailed):
            await runner.load()
        assert runner.snapshot().restart.state == "due"
        with pytest.raises(RunnerFailed) as failed:
            await runner.ready()
        assert failed.value.incarnation == 4
        waits = [after - before for before, after in zip(spawner.times, spawner.times[1:], strict=False)]
        assert waits == pytest.approx([1, 2, 4], abs=0.1)
        status = runner.snapshot().restart
        assert status.state == "gave_up"
        assert (status.attempts, status.limit) == (3, 3)
        assert "3 restarts within 300 s" in status.sentence
        assert "segfault" in status.sentence
        await anyio.sleep(10_000)
        assert len(spawner.children) == 4

    live_again(life, prepare=dies_when_loading, restart=STEADY, settings=PATIENT)


def test_a_model_that_was_loaded_is_loaded_again_and_one_that_was_not_is_not() -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await anyio.sleep(1)
        kill(spawner)
        await anyio.sleep(5)
        assert runner.state is State.IDLE
        assert runner.snapshot().incarnation == 2
        await runner.load()
        kill(spawner)
        await runner.wait_for(State.FAILED)
        due = runner.snapshot().restart
        assert due.state == "due"
        assert due.due_in is not None
        assert 0 < due.due_in <= 2
        await runner.ready()
        assert runner.snapshot().incarnation == 3
        await runner.unload()
        kill(spawner)
        await anyio.sleep(10)
        assert (runner.state, runner.snapshot().incarnation) == (State.IDLE, 4)

    live_again(life, prepare=obliging, restart=STEADY, settings=PATIENT)


def test_a_healthy_spell_lets_the_count_begin_anew() -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await runner.load()
        for number in range(10):
            await anyio.sleep(61)
            kill(spawner)
            await runner.wait_for(State.FAILED)
            assert runner.snapshot().restart.due_in == pytest.approx(1)
            await runner.ready()
            assert runner.snapshot().incarnation == number + 2
        for _ in range(3):
            await anyio.sleep(10)
            kill(spawner)
            await runner.wait_for(State.FAILED)
        assert runner.snapshot().restart.state == "gave_up"

    # Ten of them lie within the window.
    live_again(life, restart=RestartPolicy("on_failure", limit=3, backoff=1, jitter=0, window=10_000), settings=PATIENT)


@pytest.mark.parametrize(("when", "restarts"), [("never", False), ("on_failure", False), ("always", True)])
def test_a_clean_end_that_nobody_asked_for_is_restarted_by_always_alone(when: Any, restarts: bool) -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await runner.load()
        spawner.newest.end(Exit(code=0))
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause.kind is Kind.CLEAN_EXIT
        assert (runner.snapshot().restart.state == "due") == restarts
        await anyio.sleep(100)
        assert (len(spawner.children) == 2) == restarts

    live_again(life, restart=RestartPolicy(when), settings=PATIENT)


def test_what_somebody_shut_down_stays_down() -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await runner.load()
        # It crashes over the shutdown, which makes it Failed and yet not wanted back.
        spawner.newest.channel.on_message = lambda message: spawner.newest.end(Exit(code=3))
        with pytest.raises(RunnerFailed):
            await runner.shutdown()
            await runner.wait_for(State.RUNNING)
        await anyio.sleep(100)
        assert runner.snapshot().restart.state == "none"
        assert len(spawner.children) == 1
        await runner.restart()
        await runner.load()
        kill(spawner)
        await runner.wait_for(State.FAILED)
        assert runner.snapshot().restart.state == "due"
        await runner.shutdown()
        assert runner.snapshot().restart.state == "none"
        await anyio.sleep(100)
        assert len(spawner.children) == 2

    live_again(life, restart=RestartPolicy("always"), settings=PATIENT)


def test_leaving_while_a_restart_is_due_ends_at_once() -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await anyio.sleep(0.5)
        kill(spawner)
        await runner.wait_for(State.FAILED)
        assert runner.snapshot().restart.state == "due"

    policy = RestartPolicy("on_failure", backoff=10_000, longest=20_000)
    assert live_again(life, restart=policy, settings=PATIENT) < 1


def test_a_restart_by_hand_comes_before_the_one_that_is_due_and_begins_the_count_anew() -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await runner.load()
        kill(spawner)
        await runner.wait_for(State.FAILED)
        await runner.restart()
        await anyio.sleep(1000)
        assert (len(spawner.children), runner.state) == (2, State.IDLE)
        assert runner.snapshot().restart.attempts == 0

    live_again(life, restart=RestartPolicy("on_failure", backoff=100, longest=100), settings=PATIENT)


def test_a_cause_that_a_restart_cannot_mend_is_given_up_at_once() -> None:
    def lacks(child: SimulatedChild) -> None:
        healthy(child)

        def answer(message: ToWorker) -> None:
            if isinstance(message, LoadModel):
                child.channel.say(Fatal("ModuleNotFoundError", "No module named 'mlx_lm'", "", "load"))

        child.channel.on_message = answer

    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        with pytest.raises(RunnerFailed) as failed:
            await runner.load()
        assert failed.value.cause is not None
        assert failed.value.cause.kind is Kind.IMPORT_ERROR
        status = runner.snapshot().restart
        assert status.state == "gave_up"
        assert "import_error" in status.sentence
        await anyio.sleep(1000)
        assert len(spawner.children) == 1

    live_again(life, prepare=lacks, restart=STEADY, settings=PATIENT)


def test_a_model_that_is_gone_after_the_restart_is_said_and_not_tried_again() -> None:
    asked: list[str] = []

    async def locate(name: str, progress: Any) -> Path:
        asked.append(name)
        if len(asked) > 1:
            raise ModelError(Kind.MODEL_MISSING, "The model is gone.")
        return Path("/simulated")

    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await runner.load()
        kill(spawner)
        await runner.wait_for(State.FAILED)
        with pytest.raises(CommandRefused, match="The model is gone"):
            await runner.ready()
        assert runner.snapshot().restart.state == "gave_up"
        await anyio.sleep(1000)
        assert (runner.state, len(spawner.children)) == (State.IDLE, 2)

    live_again(life, restart=STEADY, settings=PATIENT, locate=locate)


def test_a_process_that_cannot_be_killed_gets_no_other_beside_it() -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await runner.load()
        spawner.newest.heeds = set()
        spawner.newest.channel.say(Fatal("RuntimeError", "stuck", "", "decode"))
        await runner.wait_for(State.FAILED)
        assert "could not be ended" in runner.snapshot().restart.sentence
        await anyio.sleep(1000)
        assert len(spawner.children) == 1

    with pytest.raises(BaseException, match="4711"):
        live_again(life, restart=STEADY, settings=PATIENT)


def test_a_load_that_was_under_way_is_begun_again() -> None:
    async def life(runner: RunnerSupervisor, spawner: ManyChildren) -> None:
        await anyio.sleep(1)
        spawner.newest.channel.on_message = lambda message: None
        async with anyio.create_task_group() as tasks:

            async def load() -> None:
                with pytest.raises(RunnerFailed):
                    await runner.load()

            tasks.start_soon(load)
            await runner.wait_for(State.LOADING)
            kill(spawner)
            await runner.ready(timeout=30)
        assert runner.snapshot().incarnation == 2

    live_again(life, restart=STEADY, settings=PATIENT)
