"""After each test with real processes: nothing is left, neither a process nor a descriptor nor a thread."""

import gc
import os
import threading
from collections.abc import Generator
from pathlib import Path

import pytest


def descriptors() -> set[str]:
    """Open descriptors, as number and target. The one that lists them is not among them."""
    found: set[str] = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(f"{entry.name} {entry.readlink()}")
        except FileNotFoundError:
            continue
    return found


def children() -> set[int]:
    """Processes whose parent is this one."""
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in text.split()}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Generator[None]:
    gc.collect()
    before, were = descriptors(), children()
    yield
    gc.collect()
    # The event loop keeps idle threads for blocking file access; they are its own.
    ours = [thread.name for thread in threading.enumerate() if "exit watch" in thread.name]
    assert not ours
    assert not children() - were
    left = {entry for entry in descriptors() - before if "socket" in entry or "pipe" in entry or "pidfd" in entry}
    assert not left
