"""A model is in the cache whole or not at all, whoever is interrupted, killed, or comes at the same time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from fsm import Kind
from runner.models import ModelError, Progress, errand, list_models, remove, resolve
from runner.models.cache import CACHE_VARIABLE, place
from runner.models.tiny import write_tiny
from tests.models.gguf_files import METADATA, Packing, tensors, write_gguf

pytestmark = pytest.mark.anyio


async def build_slowly(model: Path, scratch: Path) -> None:
    write_tiny(model)
    (scratch / "half").write_bytes(b"x" * 1000)
    await anyio.sleep_forever()


async def build(model: Path, scratch: Path) -> None:
    write_tiny(model)


def leftovers(cache_dir: Path) -> list[Path]:
    return list((cache_dir / "building").iterdir()) + list((cache_dir / "models").glob("*"))


async def test_a_cancel_leaves_nothing(cache_dir: Path) -> None:
    with anyio.move_on_after(0.2) as scope:
        await place("a@1", build_slowly, need=0)
    assert scope.cancelled_caught
    assert leftovers(cache_dir) == []
    assert (await place("a@1", build, need=0)).name == "a@1"


async def test_an_error_leaves_nothing_and_comes_through(cache_dir: Path) -> None:
    async def fail(model: Path, scratch: Path) -> None:
        write_tiny(model)
        raise ModelError(Kind.AUTH, "no")

    with pytest.raises(ModelError) as caught:
        await place("a@1", fail, need=0)
    assert caught.value.kind is Kind.AUTH
    assert leftovers(cache_dir) == []


async def test_two_that_ask_at_once_get_one_building() -> None:
    built: list[Path] = []
    found: list[Path] = []
    waited: list[Progress] = []

    async def build_once(model: Path, scratch: Path) -> None:
        built.append(model)
        await anyio.sleep(0.2)
        write_tiny(model)

    async def ask() -> None:
        found.append(await place("a@1", build_once, need=0, report=waited.append))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(ask)
    assert len(built) == 1
    assert len(set(found)) == 1
    assert {progress.step for progress in waited} == {"waiting"}


async def test_who_waits_for_another_can_be_cancelled() -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: place("a@1", build_slowly, need=0))
        await anyio.sleep(0.1)
        with anyio.move_on_after(0.2) as scope:
            await place("a@1", build, need=0)
        assert scope.cancelled_caught
        tasks.cancel_scope.cancel()


async def test_what_is_just_being_made_is_not_removed(cache_dir: Path) -> None:
    await place("a.gguf@1", build, need=0)
    weights = cache_dir / "models" / "a.gguf@1" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: place("a.gguf@1", build_slowly, need=0))
        await anyio.sleep(0.1)
        with pytest.raises(ModelError, match="preparing") as caught:
            await remove("a.gguf@1")
        assert caught.value.kind is Kind.RESOURCE_LIMIT
        tasks.cancel_scope.cancel()


async def test_more_than_the_disk_has_is_not_begun(cache_dir: Path) -> None:
    with pytest.raises(ModelError, match="are free") as caught:
        await place("a@1", build, need=1 << 62)
    assert caught.value.kind is Kind.DISK_FULL
    assert leftovers(cache_dir) == [] if (cache_dir / "models").exists() else True


async def test_a_cache_that_can_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RUNNER_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(ModelError, match="can't be prepared") as caught:
        await resolve("tiny")
    assert "RUNNER_CACHE_DIR" in caught.value.remedy


async def test_a_killed_process_leaves_nothing_that_is_taken_for_whole(cache_dir: Path) -> None:
    code = (
        "import anyio, sys, tests.models.test_cache as t\n"
        "async def build(model, scratch):\n"
        "    t.write_tiny(model); print('half', flush=True); await anyio.sleep_forever()\n"
        "anyio.run(lambda: t.place('a@1', build, need=0))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process, process.stdout:
        assert process.stdout.readline() == b"half\n"
        process.send_signal(signal.SIGKILL)
    assert list_models() == []
    assert (await place("a@1", build, need=0)).is_dir()
    assert list((cache_dir / "building").iterdir()) == []


def children() -> set[int]:
    """Processes that prepare models for this test's cache, whoever started them."""
    ours = os.environ[CACHE_VARIABLE].encode()
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"runner.worker.convert" in (entry / "cmdline").read_bytes():
                found |= {int(entry.name)} if ours in (entry / "environ").read_bytes() else set()
        except OSError:
            continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
async def test_a_cancelled_conversion_leaves_no_process(tmp_path: Path, cache_dir: Path) -> None:
    before = children()
    file = write_gguf(tmp_path / "a.gguf", METADATA, tensors(Packing.F32))
    with anyio.CancelScope() as scope:
        await resolve(str(file), progress=lambda _: scope.cancel())
    assert scope.cancelled_caught
    assert children() == before
    assert leftovers(cache_dir) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
async def test_a_cancel_ends_a_child_that_hangs(tmp_path: Path) -> None:
    before = children()
    pipe = tmp_path / "never-ends.gguf"
    os.mkfifo(pipe)  # a child that opens it waits for a writer, inside native code
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(errand.run, "gguf", str(pipe), str(tmp_path))
        while not children() - before:
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert children() == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_conversion_ends_with_its_parent(tmp_path: Path) -> None:
    before = children()
    pipe = tmp_path / "never-ends.gguf"
    os.mkfifo(pipe)  # a child that opens it waits for a writer, inside native code
    code = (
        "import anyio\nfrom runner.models import errand\n"
        f"anyio.run(errand.run, 'gguf', {str(pipe)!r}, {str(tmp_path)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    while not children() - before:
        time.sleep(0.01)
    process.kill()
    process.wait()
    while children() - before:  # the test's own timeout is the bound
        time.sleep(0.01)


async def test_the_list_and_the_removing(cache_dir: Path) -> None:
    await resolve("tiny")
    (model,) = list_models()
    assert (model.name, model.kind, model.path.parent) == ("tiny", "tiny", cache_dir / "models")
    assert model.bytes == sum(path.stat().st_size for path in model.path.iterdir())
    assert await remove("tiny") == model.bytes
    assert list_models() == []
    assert list((cache_dir / "building").iterdir()) == []
    with pytest.raises(ModelError) as caught:
        await remove("tiny")
    assert caught.value.kind is Kind.MODEL_MISSING
