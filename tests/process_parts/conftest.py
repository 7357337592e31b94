"""Both event loops, and a net under each test: no descriptor, no process, no thread and no cgroup of ours is left by it."""

import gc
import os
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from runner.process.cgroup import find_tree


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


def open_descriptors() -> dict[str, str]:
    """Number and target of each open descriptor, that of this very listing apart."""
    found: dict[str, str] = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[entry.name] = str(entry.readlink())
        except FileNotFoundError:
            continue
    return found


def own_children() -> set[int]:
    """Processes that are this one's, zombies included."""
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def own_groups() -> set[str]:
    """Memory cgroups that were made by this process."""
    tree = find_tree()
    return {path.name for path in tree.own.glob(f"runner-fsm-{os.getpid()}-*")} if tree else set()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Generator[None]:
    gc.collect()
    before, children, threads = open_descriptors(), own_children(), set(threading.enumerate())
    yield
    gc.collect()
    assert own_children() == children
    assert own_groups() == set()
    left = open_descriptors().items() - before.items()
    # The loop of a fixture that outlives the test is not ours.
    assert {target for _, target in left if not target.startswith("anon_inode:[event")} == set()
    assert {thread for thread in set(threading.enumerate()) - threads if "exit watch" in thread.name} == set()
