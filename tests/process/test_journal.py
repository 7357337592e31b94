"""The journal of real runs: what it holds is what was, whatever becomes of the disk or of the supervisor."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from fsm.journal import (
    Entry,
    Gap,
    Keeper,
    Opening,
    Overrun,
    Seal,
    Status,
    Text,
    Torn,
    read,
    replay,
    replay_steps,
    verify,
)
from runner import CommandRefused, Journal, JournalRefused, RunnerFailed, RunnerSupervisor, Snapshot, State
from runner.journal import place
from runner.journal.buffer import HELD
from runner.journal.writer import JournalWriter
from tests.process.lives import PATIENT, runner_with

pytestmark = pytest.mark.anyio


def lines_of(path: Path) -> list[bytes]:
    return [line for file in place.files_of(path) for line in file.read_bytes().splitlines(keepends=True)]


def status_in(snapshot: Snapshot) -> dict[str, Any]:
    return {name: getattr(snapshot, name) for name in Status.__struct_fields__}


async def test_a_run_can_be_replayed_to_what_was_seen_of_it_at_every_step(tmp_path: Path) -> None:
    seen: dict[int, Snapshot] = {}

    async def look(runner: RunnerSupervisor) -> None:
        async for _ in runner.changes(since=0):
            snapshot = runner.snapshot()
            seen[snapshot.seq] = snapshot

    path = tmp_path / "J"
    async with anyio.create_task_group() as tasks, runner_with(journal=Journal(path=path, text=True)) as runner:
        tasks.start_soon(look, runner)
        await runner.load()
        await runner.generate("Hello", max_tokens=5).result()
        await runner.unload()
        with pytest.raises(CommandRefused):
            runner.generate("Hello")
        await runner.load()
        await runner.shutdown()
        await runner.restart()
        await runner.load()
        assert runner.journal == path
    checked = verify(lines_of(path))
    assert checked.intact, checked.problem
    assert (checked.closed, checked.incarnations, checked.lost) == (True, 2, 0)
    rebuilt = {after.seq: after for after in replay_steps(lines_of(path))}
    assert len(seen) > 10
    assert {seq: status_in(snapshot) for seq, snapshot in seen.items()} == {
        seq: {name: getattr(rebuilt[seq], name) for name in Status.__struct_fields__} for seq in seen
    }


async def test_a_failure_is_replayed_with_its_cause(tmp_path: Path) -> None:
    path = tmp_path / "J"
    async with runner_with("crash", "load", "SIGKILL", journal=Journal(path=path)) as runner:
        with pytest.raises(RunnerFailed) as failed:
            await runner.load()
    rebuilt = replay(lines_of(path))
    assert (rebuilt.state, rebuilt.settled, rebuilt.cause) == (State.FAILED, True, failed.value.cause)


@pytest.mark.parametrize("recorded", [False, True])
async def test_what_was_asked_and_answered_is_in_it_only_if_asked_for(tmp_path: Path, recorded: bool) -> None:
    path = tmp_path / "J"
    async with runner_with(journal=Journal(path=path, text=recorded)) as runner:
        await runner.load()
        answer = await runner.generate("A very private question", max_tokens=5).result()
    texts = [item.line for item in read(lines_of(path)) if not isinstance(item, Torn) and isinstance(item.line, Text)]
    assert [(text.request, text.role, text.text) for text in texts] == (
        [(1, "prompt", "A very private question"), (1, "answer", answer.text)] if recorded else []
    )
    assert (b"private" in path.read_bytes()) is recorded
    assert verify(lines_of(path)).intact


async def test_a_file_that_is_there_is_left_as_it_is_and_nothing_is_started(tmp_path: Path) -> None:
    path = tmp_path / "J"
    path.write_text("mine")
    with pytest.raises(JournalRefused):
        async with runner_with(journal=Journal(path=path)):
            pass
    assert path.read_text() == "mine"


async def test_only_its_owner_may_read_it_and_its_writer_holds_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "J"
    async with runner_with(journal=Journal(path=path)):
        assert path.stat().st_mode & 0o777 == 0o600
        assert place.is_live(path)
    assert not place.is_live(path)


async def test_without_a_place_to_write_the_runner_goes_on(tmp_path: Path) -> None:
    async with runner_with(journal=Journal(path=tmp_path / "no" / "J")) as runner:
        await runner.load()
        assert (await runner.generate("Hello", max_tokens=3).result()).tokens == 3
    assert list(tmp_path.iterdir()) == []


async def test_a_place_that_comes_later_gets_all_that_was_held(tmp_path: Path) -> None:
    path = tmp_path / "no" / "J"
    async with runner_with(journal=Journal(path=path)) as runner:
        await runner.load()
        path.parent.mkdir()
        await runner.generate("Hello", max_tokens=3).result()
    checked = verify(lines_of(path))
    assert checked.intact, checked.problem
    assert (checked.closed, checked.lost) == (True, 0)


async def test_a_long_run_goes_on_in_other_files(tmp_path: Path) -> None:
    path = tmp_path / "J"
    async with runner_with(journal=Journal(path=path, max_bytes=64 * 1024)) as runner:
        await runner.load()
        for _ in range(80):
            await runner.generate("Hello", max_tokens=1).result()
    assert len(place.files_of(path)) > 2
    checked = verify(lines_of(path))
    assert checked.intact, checked.problem
    assert checked.files == len(place.files_of(path))
    openings = [item.line for item in read(lines_of(path)) if not isinstance(item, Torn)]
    assert [line.file for line in openings if isinstance(line, Opening)] == list(range(checked.files))


class SlowDisk:
    """A place that takes its time to be there, as a network drive does that has to be woken."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.there = threading.Event()

    async def begin(self, settings: Mapping[str, bool | int | float | str | None]) -> JournalWriter:
        keeper = Keeper(run="slow", package="test", settings=settings, seal=Seal())
        writer = JournalWriter(keeper, self.path, max_bytes=2**20, text=False, prepare=self._come)
        await writer.begin()
        return writer

    def _come(self, path: Path) -> None:
        self.there.wait()


async def test_a_disk_that_does_not_answer_holds_nothing_up_and_that_is_written_down(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path / "J")
    async with runner_with(journal=disk) as runner:
        await runner.load()
        assert (await runner.generate("Hello", max_tokens=3).result()).tokens == 3
        disk.there.set()
    checked = verify(lines_of(disk.path))
    assert checked.intact, checked.problem
    items = [item.line for item in read(lines_of(disk.path)) if not isinstance(item, Torn)]
    late = {line.seq for line in items if isinstance(line, Overrun)}
    sends = {
        line.seq
        for line in items
        if isinstance(line, Entry)
        for effect in line.effects
        if type(effect).__name__ in {"Spawn", "SendLoad", "SendRequest"}
    }
    assert sends <= late


FULL = """
import anyio, resource, sys
from pathlib import Path
from runner import Journal, RunnerSupervisor
from runner.journal.buffer import HELD

async def main(path):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    async with RunnerSupervisor("tiny", journal=Journal(path=Path(path))) as runner:
        await runner.load()
        assert (await runner.generate("Hello", max_tokens=3).result()).tokens == 3
        for round in range(HELD * 2):
            runner.cancel(1)
            if round % 512 == 0:
                await anyio.sleep(0)
        assert (await runner.generate("Hello", max_tokens=3).result()).tokens == 3
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        # The disk is tried again after a while, and what was held goes first.
        for round in range(400):
            runner.cancel(1)
            await anyio.sleep(0.01)

anyio.run(main, sys.argv[1], backend=sys.argv[2])
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_disk_that_is_full_loses_what_could_not_be_held_and_says_how_much(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "J"
    subprocess.run([sys.executable, "-c", FULL, str(path), backend], check=True)
    checked = verify(lines_of(path))
    assert checked.intact, checked.problem
    assert checked.closed
    gaps = [item.line for item in read(lines_of(path)) if not isinstance(item, Torn) and isinstance(item.line, Gap)]
    assert sum(gap.lost for gap in gaps) == checked.lost
    assert HELD / 2 < checked.lost < HELD * 2
    assert checked.steps + checked.lost == replay(lines_of(path)).seq + 1


KILLED = """
import anyio, sys
from pathlib import Path
from runner import Journal, RunnerSupervisor

async def main(path):
    async with RunnerSupervisor("tiny", journal=Journal(path=Path(path), max_bytes=64 * 1024)) as runner:
        print("begun", flush=True)
        await runner.load()
        while True:
            await runner.generate("Hello", max_tokens=2).result()

anyio.run(main, sys.argv[1])
"""


@pytest.mark.parametrize("seed", range(8))
def test_a_supervisor_that_is_killed_leaves_a_journal_that_holds_up_to_its_last_whole_record(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "J"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        supervisor.stdout.readline()
        time.sleep(random.Random(seed).uniform(0, 3))
        supervisor.send_signal(signal.SIGKILL)
    checked = verify(lines_of(path))
    assert checked.intact, checked.problem
    assert not checked.closed
    assert not place.is_live(path)
    if checked.steps:
        assert replay(lines_of(path)).seq == checked.steps - 1


async def test_the_default_place_keeps_the_newest_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(place.STATE_VARIABLE, str(tmp_path))
    for _ in range(2):
        async with RunnerSupervisor("tiny", settings=PATIENT) as runner:
            assert runner.journal is not None
            assert runner.journal.parent == tmp_path / "journals"
    both = place.runs()
    assert len(both) == 2
    place.make_room(1)
    assert [run.path for run in place.runs()] == [both[0].path]


async def test_a_run_that_is_being_written_is_never_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(place.STATE_VARIABLE, str(tmp_path))
    async with RunnerSupervisor("tiny", settings=PATIENT) as runner:
        place.make_room(0)
        assert [(run.path, run.live) for run in place.runs()] == [(runner.journal, True)]
