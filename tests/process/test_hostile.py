"""G5, G8 and G10 against workers and callers that do their worst."""

import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from fsm.journal import verify
from runner import CommandRefused, Journal, Kind, RunnerFailed, RunnerSupervisor, State
from runner.silence import logger
from tests.process.lives import PATIENT, records_of, runner_with
from tests.process.strange_workers import worker

pytestmark = pytest.mark.anyio


async def _here(name: str, progress: Any) -> Path:
    return Path("/")


def strange(code: str, **more: Any) -> RunnerSupervisor:
    # What such a worker does when it is asked to end is nothing; it is not waited for.
    settings = msgspec.structs.replace(PATIENT, ask_timeout=1)
    return RunnerSupervisor("tiny", spawner=worker(code), locate=_here, settings=settings, **more)


async def test_a_message_that_is_nested_deeper_than_anybody_reads_is_a_broken_protocol() -> None:
    code = 'hello(); end.sendall(frame(b"\\x92\\xa3bye" + b"\\x91" * 200_000 + b"\\xc0")); time.sleep(60)'
    async with strange(code) as runner:
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause.kind is Kind.PROTOCOL_ERROR


async def test_a_child_that_says_for_ever_what_does_not_fit_is_ended_and_leaves_few_records() -> None:
    code = 'hello(); word = frame(array(text("unloaded"))) * 1000\nwhile True: end.sendall(word)'
    async with strange(code) as runner:
        record = await runner.wait_for(State.FAILED)
        assert record.cause is not None
        assert record.cause.kind is Kind.PROTOCOL_ERROR
        assert "do not fit" in record.cause.sentence
    assert record.seq < 1100


async def test_texts_of_a_child_are_cut_before_they_are_kept() -> None:
    code = 'hello(); say(text("load_step"), text("x" * 1_000_000), number(1), number(2)); hear("stop"); os._exit(0)'
    async with strange(code) as runner:
        async for record in runner.changes(since=0):
            if getattr(record, "event", None) is not None and record.event.trigger == "load_progress":  # pyright: ignore
                assert len(record.event.step) <= 100  # pyright: ignore
                break


async def test_progress_is_not_written_down_more_often_than_a_person_reads() -> None:
    code = (
        'hello(); hear("load")\n'
        'for done in range(2000): say(text("load_step"), text("weights"), number(done), number(2000))\n'
        'say(text("loaded"), number(512)); hear("stop"); os._exit(0)'
    )
    async with strange(code) as runner:
        await runner.load()
        progress = [record for record in await records_of(runner) if record.event.trigger == "load_progress"]
        assert 1 <= len(progress) < 200


async def test_requests_that_the_worker_does_not_take_are_refused_and_the_runner_goes_on() -> None:
    code = 'hello(); hear("load"); say(text("loaded"), number(512)); time.sleep(60)'
    async with strange(code) as runner:
        await runner.load()
        accepted = []
        with pytest.raises(CommandRefused, match="does not take"):
            while True:
                accepted.append(runner.generate("x" * 10_000_000, raw=True))
        await anyio.sleep(0.2)
        assert runner.state is State.RUNNING
        # What must always go still does.
        for generation in accepted:
            generation.cancel()
        await anyio.sleep(0.2)
        assert runner.state is State.RUNNING


async def test_whoever_restarts_while_the_supervisor_is_left_is_refused_and_nothing_is_left_behind() -> None:
    refused = anyio.Event()

    async def restarter(runner: RunnerSupervisor) -> None:
        try:
            await runner.wait_for(State.FAILED)
            while True:
                await runner.restart()
                await runner.wait_for(State.FAILED)
        except (CommandRefused, RunnerFailed):
            refused.set()

    code = 'hello(); hear("stop"); say(text("bye")); os._exit(0)'
    async with anyio.create_task_group() as tasks:
        async with strange(code) as runner:
            tasks.start_soon(restarter, runner)
            await anyio.sleep(0.2)
            pid = runner.snapshot().pid
            assert pid is not None
            os.kill(pid, 9)
            while runner.state is not State.FAILED:
                await anyio.sleep(0)
        await refused.wait()


async def test_after_it_was_left_a_restart_is_refused_and_a_shutdown_finds_it_done() -> None:
    async with strange('hello(); hear("stop"); os._exit(0)') as runner:
        pass
    with pytest.raises(CommandRefused, match="being left"):
        await runner.restart()
    assert (await runner.shutdown()).settled


async def test_a_supervisor_that_is_cancelled_still_finishes_its_journal(tmp_path: Path) -> None:
    said: list[str] = []
    logger.enable("runner")
    sink = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    try:
        with anyio.CancelScope() as scope:
            async with runner_with(journal=Journal(path=tmp_path / "J")) as runner:
                await runner.load()
                scope.cancel()
                await anyio.sleep_forever()
    finally:
        logger.remove(sink)
        logger.disable("runner")
    assert said == []
    checked = verify((tmp_path / "J").read_bytes().splitlines(keepends=True))
    assert (checked.intact, checked.closed) == (True, True)


FORKED = """
import multiprocessing, sys, time, anyio
from runner import RunnerSupervisor

async def main():
    async with RunnerSupervisor("tiny", journal=None) as runner:
        await runner.load()
        fork = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        fork.start()
        print(runner.snapshot().pid, fork.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pidfd")
def test_a_fork_of_the_supervisor_does_not_keep_the_worker_alive() -> None:
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORKED], stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout is not None
        worker_pid, fork_pid = map(int, supervisor.stdout.readline().split())
        watch = os.pidfd_open(worker_pid)
        supervisor.kill()
        try:
            # As long as the fork lives, nothing but our own doing can end the worker.
            ready, _, _ = select.select([watch], [], [], 30)
            assert ready
            os.kill(fork_pid, 0)
        finally:
            os.close(watch)
            os.kill(fork_pid, 9)
