"""Small programs that stand in for the worker. Each gets its end of the socket after ``--fd``, as the worker does."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from runner.process.child import PosixChild
from runner.process.spawn import ProcessSpawner
from runner.protocols import WorkerSpec

NET_S = 60.0
"""Longest wait before a test fails in words. Not a figure to hold."""

PRELUDE = """
import os, signal, socket, subprocess, sys, time
end = socket.socket(fileno=int(sys.argv[sys.argv.index("--fd") + 1]))
def wait(): end.recv(1)
"""
"""``wait()`` returns when the parent wrote or closed."""


def python(code: str) -> ProcessSpawner:
    """A spawner of ``code``. Without site-packages it is up in a few milliseconds."""
    return ProcessSpawner((sys.executable, "-I", "-S", "-c", PRELUDE + code))


def shell(code: str) -> ProcessSpawner:
    """A spawner of a line for the shell."""
    return ProcessSpawner(("/bin/sh", "-c", code))


@asynccontextmanager
async def running(spawner: ProcessSpawner, **spec: Any) -> AsyncGenerator[PosixChild]:
    """A child that is closed at the end of the block, and a net under a hang."""
    with anyio.fail_after(NET_S):
        child = await spawner.spawn(WorkerSpec(**spec))
        try:
            yield child
        finally:
            await child.close()
