"""When the supervisor is killed, its child and the child's own children end, whatever they are doing."""

import os
import select
import signal
import subprocess
import sys

import pytest

from runner.process.procfs import members

SUPERVISOR = """
import sys, anyio
from runner import Fault, FaultKind, Missed, RunnerSupervisor
from fsm import Phase, State

async def main(phase):
    # A load or a prefill that hangs holds the child in that phase.
    faults = [Fault(FaultKind.HANG, Phase(phase))] if phase in ("load", "prefill") else []
    async with RunnerSupervisor("tiny", faults=faults) as runner, anyio.create_task_group() as tasks:
        if phase != "idle":
            tasks.start_soon(runner.load)
        if phase in ("prefill", "decode"):
            await runner.wait_for(State.RUNNING)
            answer = runner.generate("Hello", max_tokens=400)
        async for record in runner.changes(since=0):
            if not isinstance(record, Missed) and record.event.trigger == WAITS_FOR[phase]:
                print(runner.snapshot().pid, flush=True)

WAITS_FOR = {"idle": "hello", "load": "load_progress", "prefill": "request_started", "decode": "first_token"}
anyio.run(main, sys.argv[1])
"""


@pytest.mark.parametrize("phase", ["idle", "load", "prefill", "decode"])
def test_nothing_outlives_a_supervisor_that_is_killed(phase: str) -> None:
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR, phase], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        child = int(supervisor.stdout.readline())
        assert members(child)
        watch = os.pidfd_open(child)
        supervisor.kill()
        # A net under a hang; the child is gone long before.
        ready, _, _ = select.select([watch], [], [], 30)
        os.close(watch)
    assert supervisor.returncode == -signal.SIGKILL
    assert ready
    assert not members(child)
