"""A whole life with a real process and a real model, on both event loops."""

import gc
import os

import anyio
import msgspec
import pytest

from fsm import Activity, CommandRefused, RequestErrorKind, RequestState, State, Verdict
from runner import Missed, RequestCancelled, RequestFailed, RunnerFailed, RunnerSupervisor, Settings
from tests.process.lives import PATIENT, announcements, records_of, runner_with

pytestmark = pytest.mark.anyio


async def test_load_generate_unload_load_again_and_leave() -> None:
    async with RunnerSupervisor("tiny") as runner:
        assert runner.state is State.IDLE
        record = await runner.load()
        assert record.dest is State.RUNNING
        async with runner.generate("Hello", max_tokens=12) as answer:
            text = "".join([chunk.text async for chunk in answer])
        result = await answer.result()
        assert result.text == text
        assert (result.tokens, result.reason) == (12, "length")
        await runner.unload()
        assert runner.state is State.IDLE
        await runner.load()
        assert (await runner.generate("Hello", max_tokens=12).result()).text == text
        records = await records_of(runner)
    assert runner.state is State.SHUTDOWN
    assert runner.snapshot().settled
    assert [record.seq for record in records] == list(range(len(records)))
    steps = {record.activity for record in records if record.dest is State.LOADING}
    assert steps >= {Activity.IMPORTING, Activity.WEIGHTS, Activity.WARM_UP}


async def _ask(runner: RunnerSupervisor) -> str:
    async with runner:
        await runner.load()
        return (await runner.generate("Hello", max_tokens=3).result()).text


def test_a_supervisor_may_be_made_before_there_is_an_event_loop(anyio_backend_name: str) -> None:
    runner = RunnerSupervisor("tiny")
    assert anyio.run(_ask, runner, backend=anyio_backend_name)


async def test_the_same_seed_draws_the_same_answer() -> None:
    async with runner_with() as runner:
        await runner.load()
        texts = [(await runner.generate("Hello", max_tokens=20, temperature=1.0, seed=7).result()).text for _ in "ab"]
        other = (await runner.generate("Hello", max_tokens=20, temperature=1.0, seed=8).result()).text
    assert texts[0] == texts[1] != other


async def test_many_requests_at_once_each_get_their_own_answer() -> None:
    answers: dict[int, str] = {}

    async def ask(runner: RunnerSupervisor, number: int) -> None:
        answer = await runner.generate(f"Number {number}", max_tokens=8).result()
        answers[number] = answer.text

    async with runner_with() as runner:
        await runner.load()
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(ask, runner, number)
        alone = (await runner.generate("Number 3", max_tokens=8).result()).text
    assert len(answers) == 10
    assert answers[3] == alone


async def test_commands_that_do_not_fit_are_refused_by_name_and_nothing_is_lost() -> None:
    async with runner_with() as runner:
        with pytest.raises(CommandRefused, match="no model is loaded"):
            runner.generate("Hello")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.load)
            async for record in runner.changes(since=0):
                if not isinstance(record, Missed) and record.dest is State.LOADING:
                    break
            with pytest.raises(CommandRefused, match="under way") as refused:
                await runner.load()
            assert (refused.value.command, refused.value.state) == ("load", State.LOADING)
            with pytest.raises(CommandRefused, match="still loading"):
                runner.generate("Hello")
            with pytest.raises(CommandRefused, match="alive"):
                await runner.restart()
        assert runner.state is State.RUNNING
        with pytest.raises(CommandRefused, match="no request 99"):
            runner.cancel(99)
        assert (await runner.generate("Hello", max_tokens=3).result()).tokens == 3
        refusals = [record for record in await records_of(runner) if record.verdict is Verdict.REFUSED]
        assert len(refusals) == 5


async def test_an_argument_that_makes_no_sense_is_refused_before_there_is_a_request() -> None:
    async with runner_with() as runner:
        await runner.load()
        for arguments, word in (
            ({"prompt": "  "}, "empty"),
            ({"prompt": []}, "empty"),
            ({"prompt": [{"role": "user"}]}, "content"),
            ({"prompt": "x", "max_tokens": 0}, "max_tokens"),
            ({"prompt": "x", "temperature": -1}, "temperature"),
            ({"prompt": "x", "temperature": float("nan")}, "temperature"),
            ({"prompt": "x", "top_p": 0}, "top_p"),
            ({"prompt": "x", "stop": ["a", ""]}, "stop"),
            ({"prompt": "x", "stop": 5}, "stop"),
            ({"prompt": "x", "seed": 1.5}, "seed"),
            ({"prompt": "x", "seed": 2**64}, "seed"),
            ({"prompt": "x", "max_tokens": 1.5}, "max_tokens"),
            ({"prompt": "x", "max_tokens": 2**70}, "max_tokens"),
            ({"prompt": "x", "temperature": "hot"}, "temperature"),
            ({"prompt": 5}, "prompt"),
            ({"prompt": ["x"]}, "content"),
            ({"prompt": "half of a character: \ud800"}, "half of a character"),
            ({"prompt": [{"role": "user", "content": "\ud800"}]}, "turn 0"),
        ):
            with pytest.raises(CommandRefused, match=word):
                runner.generate(**arguments)  # pyright: ignore[reportArgumentType]
        assert not runner.snapshot().requests
        async with runner.generate("x", max_tokens=1) as answer:
            assert answer.id == 1


async def test_a_prompt_longer_than_the_context_fails_alone() -> None:
    async with runner_with() as runner:
        await runner.load()
        with pytest.raises(RequestFailed) as failed:
            await runner.generate("word " * 2000, max_tokens=4).result()
        assert failed.value.kind is RequestErrorKind.CONTEXT_LIMIT
        assert not failed.value.retryable
        assert runner.state is State.RUNNING
        assert (await runner.generate("Hello", max_tokens=4).result()).tokens == 4


async def test_leaving_the_block_cancels_the_request() -> None:
    async with runner_with() as runner:
        await runner.load()
        async with runner.generate("Hello", max_tokens=400) as answer:
            await anext(answer)
        with pytest.raises(RequestCancelled) as cancelled:
            await answer.result()
        assert 1 <= cancelled.value.outcome.tokens < 400
        assert runner.state is State.RUNNING


async def test_cancelling_the_task_that_reads_cancels_the_request() -> None:
    async with runner_with() as runner:
        await runner.load()
        with anyio.CancelScope() as scope:
            async with runner.generate("Hello", max_tokens=400) as answer:
                async for _ in answer:
                    scope.cancel()
        with pytest.raises(RequestCancelled):
            await answer.result()
        assert not runner.snapshot().requests


async def test_a_generation_that_is_dropped_is_cancelled_with_a_warning() -> None:
    async with runner_with() as runner:
        await runner.load()
        generation = runner.generate("Hello", max_tokens=400)
        number = generation.id
        await anext(generation)
        with pytest.warns(ResourceWarning, match="was dropped"):
            del generation
            gc.collect()
        async for record in runner.changes(since=0):
            assert not isinstance(record, Missed)
            if any(change.request == number and change.dest is RequestState.CANCELLED for change in record.requests):
                break


async def test_cancelling_the_wait_for_a_load_leaves_the_load_running() -> None:
    async with runner_with() as runner:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(runner.load)
                async for record in runner.changes(since=0):
                    if not isinstance(record, Missed) and record.dest is State.LOADING:
                        scope.cancel()
        assert runner.state is State.LOADING
        await runner.wait_for(State.RUNNING)


async def test_a_consumer_that_stops_reading_holds_back_its_own_request_alone() -> None:
    """It stops for longer than the decode deadline, which is no fault of the worker's."""
    settings = msgspec.structs.replace(PATIENT, decode_timeout=3)
    async with runner_with(settings=settings) as runner:
        await runner.load()
        async with runner.generate("Hello", max_tokens=400) as slow:
            await anext(slow)
            assert (await runner.generate("Other", max_tokens=100).result()).tokens == 100
            await anyio.sleep(2 * settings.decode_timeout)
            assert runner.state is State.RUNNING
            assert (await slow.result()).tokens == 400


async def test_unload_lets_requests_finish_and_closes_admission() -> None:
    async with runner_with() as runner:
        await runner.load()
        answer = runner.generate("Hello", max_tokens=60)
        await anext(answer)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.unload)
            async for record in runner.changes():
                if not isinstance(record, Missed) and record.activity is Activity.DRAINING:
                    break
            with pytest.raises(CommandRefused, match="unloaded"):
                runner.generate("Hello")
            assert (await answer.result()).tokens == 60
        assert runner.state is State.IDLE


async def test_shutdown_can_be_asked_for_in_every_state_and_any_number_of_times() -> None:
    async with runner_with() as runner:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(runner.shutdown)
        assert runner.state is State.SHUTDOWN
        await runner.shutdown()
        assert announcements(await records_of(runner)) == 1
        with pytest.raises(CommandRefused, match=r"restart\(\)"):
            await runner.load()
        with pytest.raises(RunnerFailed, match="shut down"):
            await runner.wait_for(State.RUNNING)
        await runner.restart()
        await runner.load()
        assert runner.snapshot().incarnation == 2


async def test_requests_that_outlast_the_drain_are_cancelled_at_shutdown() -> None:
    async with runner_with() as runner:
        await runner.load()
        answer = runner.generate("Hello", max_tokens=400)
        await anext(answer)
        await runner.shutdown()
        with pytest.raises(RequestCancelled):
            await answer.result()


async def test_a_slow_follower_misses_records_and_is_told_how_many() -> None:
    async with runner_with(settings=Settings(poll_interval=60, hung_after=100, busy_hung_after=200)) as runner:
        await runner.load()
        follower = runner.changes(since=0)
        for _ in range(400):
            await runner.generate("Hello", max_tokens=1).result()
        first = await anext(follower)
        assert isinstance(first, Missed)
        following = await anext(follower)
        assert not isinstance(following, Missed)
        assert following.seq == first.count


async def test_leaving_by_an_error_leaves_nothing_behind_and_the_error_comes_out() -> None:
    pid = None
    with pytest.raises(LookupError, match="mine"):
        async with runner_with() as runner:
            await runner.load()
            pid = runner.snapshot().pid
            raise LookupError("mine")
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)


async def test_leaving_by_a_cancellation_leaves_nothing_behind() -> None:
    with anyio.CancelScope() as scope:
        async with runner_with() as runner:
            await runner.load()
            scope.cancel()
            await anyio.sleep_forever()
    assert runner.snapshot().settled


async def test_a_setting_that_makes_no_sense_is_named() -> None:
    for wrong in (
        {"load_timeout": 0},
        {"poll_interval": -1.0},
        {"concurrency": 1.5},
        {"hung_after": 0.1},
        {"load_budget": 1.0},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Settings(**wrong)  # pyright: ignore[reportArgumentType]
