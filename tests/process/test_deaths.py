"""Whatever a worker does or leaves undone: one Failed, the right cause, everybody told once, nothing left, in bounded time."""

import os
import signal

import msgspec
import pytest

from fsm import Certainty, Exit, Kind, Phase, RequestErrorKind, RequestStarted, State
from runner import CommandRefused, Record, RequestCancelled, RequestFailed, RunnerFailed, RunnerSupervisor
from runner.process.procfs import members
from runner.process.spawn import ProcessSpawner
from tests.process.lives import PATIENT, announcements, records_of, runner_with

pytestmark = pytest.mark.anyio

# Phase, fault, argument, kinds that may come of it.
FAULTS = [
    ("start", "exit", "3", {Kind.UNKNOWN}),
    ("start", "raise", "", {Kind.PYTHON_EXCEPTION}),
    ("load", "crash", "SIGKILL", {Kind.KILLED_EXTERNALLY}),
    ("load", "exit", "0", {Kind.CLEAN_EXIT}),
    ("load", "hang", "", {Kind.LOAD_TIMEOUT}),
    ("load", "raise", "", {Kind.PYTHON_EXCEPTION}),
    ("warmup", "crash", "SIGSEGV", {Kind.SEGFAULT}),
    ("warmup", "garbage", "", {Kind.PROTOCOL_ERROR}),
    ("prefill", "hang", "", {Kind.PREFILL_TIMEOUT}),
    ("prefill", "crash", "SIGABRT", {Kind.UNKNOWN}),
    ("decode", "hang", "", {Kind.DECODE_TIMEOUT}),
    ("decode", "raise", "", {Kind.PYTHON_EXCEPTION}),
    ("decode", "crash", "SIGKILL", {Kind.KILLED_EXTERNALLY}),
    ("decode", "exit", "0", {Kind.CLEAN_EXIT}),
    ("decode", "flood", "", {Kind.PROTOCOL_ERROR}),
    ("decode", "garbage", "", {Kind.PROTOCOL_ERROR}),
    ("decode", "freeze", "", {Kind.HUNG}),
    ("decode", "torn", "50000000", {Kind.KILLED_EXTERNALLY}),
    ("decode", "exit-grandchild", "", {Kind.KILLED_EXTERNALLY}),
    ("decode", "ignore-term", "", {Kind.DECODE_TIMEOUT}),
]


@pytest.mark.parametrize(("phase", "fault", "argument", "kinds"), FAULTS)
async def test_a_fault_ends_in_failed_with_its_kind(phase: str, fault: str, argument: str, kinds: set[Kind]) -> None:
    async with runner_with(fault, phase, argument) as runner:
        with pytest.raises((RunnerFailed, RequestFailed)) as failed:
            await runner.load()
            await runner.generate("Hello", max_tokens=400).result()
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause == failed.value.cause
        assert record.cause.kind in kinds
        assert record.cause.remedy
        assert announcements(await records_of(runner)) == 1
        pid = runner.snapshot().pid
    assert pid is not None
    assert not members(pid)
    assert runner.state is State.FAILED


async def test_a_request_under_way_fails_once_with_the_cause_of_the_runner() -> None:
    async with runner_with() as runner:
        await runner.load()
        answers = [runner.generate("Hello", max_tokens=400) for _ in range(6)]
        await anext(answers[0])
        pid = runner.snapshot().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        for answer in answers:
            with pytest.raises(RequestFailed) as failed:
                await answer.result()
            assert failed.value.kind is RequestErrorKind.RUNNER_FAILED
            assert failed.value.cause == runner.cause
            assert failed.value.retryable
        assert str(runner.cause) == "Terminated (signal=9 (Killed))"
        with pytest.raises(CommandRefused, match=r"restart\(\)"):
            runner.generate("Hello")
        await runner.restart()
        await runner.load()
        answer = runner.generate("Hello", max_tokens=3)
        assert answer.id == 7
        assert (await answer.result()).incarnation == 2


async def test_an_exception_inside_a_request_ends_that_request_alone() -> None:
    async with runner_with("raise", "decode", "request") as runner:
        await runner.load()
        with pytest.raises(RequestFailed) as failed:
            await runner.generate("Hello", max_tokens=40).result()
        assert failed.value.kind is RequestErrorKind.EXCEPTION
        assert runner.state is State.RUNNING
        assert (await runner.generate("Hello", max_tokens=4).result()).tokens == 4


async def test_200_000_lines_of_output_are_survived() -> None:
    async with runner_with("flood", "decode", "lines") as runner:
        await runner.load()
        assert (await runner.generate("Hello", max_tokens=40).result()).tokens == 40
        assert runner.state is State.RUNNING


async def test_a_worker_that_never_reads_again_fails_by_its_deadline() -> None:
    async with runner_with("deaf", "idle") as runner:
        with pytest.raises((RunnerFailed, RequestFailed)):
            await runner.load()
            await runner.generate("Hello", max_tokens=4).result()
        assert runner.cause is not None
        assert runner.cause.kind in {Kind.LOAD_TIMEOUT, Kind.PREFILL_TIMEOUT}


async def test_a_cancel_that_is_not_honoured_fails_the_runner() -> None:
    settings = msgspec.structs.replace(PATIENT, cancel_timeout=0.5)
    async with runner_with("hang", "prefill", settings=settings) as runner:
        await runner.load()
        failed = False
        while not failed:
            # A cancel that comes before the worker has begun to read is honoured; then the next request is the one that hangs.
            async with runner.generate("Hello", max_tokens=400) as answer:
                async for record in runner.changes(since=0):
                    event = record.event if isinstance(record, Record) else None
                    if isinstance(event, RequestStarted) and event.request == answer.id:
                        break
            try:
                await answer.result()
            except RequestCancelled:
                continue
            except RequestFailed:
                failed = True
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause.kind is Kind.CANCEL_TIMEOUT


async def test_a_worker_that_ignores_everything_is_killed_at_shutdown() -> None:
    async with runner_with("ignore-term", "shutdown") as runner:
        await runner.load()
        record = await runner.shutdown()
        assert record.dest is State.SHUTDOWN
        assert record.event.trigger == "settled"


async def test_a_crash_during_shutdown_is_a_failure() -> None:
    async with runner_with("crash", "shutdown", "SIGSEGV") as runner:
        await runner.load()
        await runner.shutdown()
        assert runner.state is State.FAILED
        assert runner.cause is not None
        assert (runner.cause.kind, runner.cause.phase) == (Kind.SEGFAULT, Phase.SHUTDOWN)


async def test_a_hung_worker_tells_where_it_was() -> None:
    async with runner_with("hang", "decode") as runner:
        await runner.load()
        with pytest.raises(RequestFailed) as failed:
            await runner.generate("Hello", max_tokens=400).result()
        cause = failed.value.cause
        assert cause is not None
        assert any("most recent call first" in line for line in cause.evidence)


async def test_output_before_a_death_is_read_before_the_cause_is_fixed() -> None:
    """The traceback of an exception is written and then the process ends: both are in the one announcement."""
    async with runner_with("raise", "load") as runner:
        with pytest.raises(RunnerFailed) as failed:
            await runner.load()
        cause = failed.value.cause
        assert cause is not None
        assert cause.exit == Exit(code=1)
        assert "disagree" in cause.sentence or any("disagree" in line for line in cause.evidence)


async def test_an_allocation_that_does_not_fit_is_an_out_of_memory() -> None:
    """Under a limit of its own address space, where the allocator of the CPU build dies without a word."""
    async with runner_with("oom", "decode", "rlimit 20000") as runner:
        await runner.load()
        with pytest.raises(RequestFailed) as failed:
            await runner.generate("Hello", max_tokens=40).result()
        cause = failed.value.cause
        assert cause is not None
        assert cause.kind is Kind.OOM
        assert not any("rlimit" in line or "fault" in line.lower() for line in cause.evidence)


async def test_a_kill_from_outside_in_each_phase_is_told_as_that() -> None:
    async with runner_with() as runner:
        for load in (False, True):
            if load:
                await runner.load()
            while (pid := runner.snapshot().pid) is None:
                await anext(runner.changes())
            os.kill(pid, signal.SIGKILL)
            record = await runner.wait_for(State.FAILED)
            assert record.cause is not None
            assert (record.cause.kind, record.cause.certainty) == (Kind.KILLED_EXTERNALLY, Certainty.PROBABLE)
            await runner.restart()


async def test_a_process_that_cannot_be_started_fails_in_words() -> None:
    async with RunnerSupervisor("tiny", spawner=ProcessSpawner(("/no/such/program",))) as runner:
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert "/no/such/program" in record.cause.sentence


async def test_an_exception_during_shutdown_is_told_as_that() -> None:
    async with runner_with("raise", "shutdown") as runner:
        await runner.load()
        await runner.shutdown()
        assert runner.state is State.FAILED
        assert runner.cause is not None
        assert (runner.cause.kind, runner.cause.exit) == (Kind.PYTHON_EXCEPTION, Exit(code=1))
