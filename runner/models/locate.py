"""From a model's name to a directory that may be loaded: got, and then looked into. What the supervisor calls before a load."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio.to_thread

from runner.models.check import check
from runner.models.progress import Progress
from runner.models.resolve import resolve

Locate = Callable[[str, Callable[[Progress], None] | None], Awaitable[Path]]
"""Gives the directory of a model, and tells meanwhile how far it is. Raises ``ModelError``."""


async def locate(name: str, progress: Callable[[Progress], None] | None = None) -> Path:
    """Get a model and check it. Cancelling it leaves nothing half done.

    Raises:
        ModelError: if it can't be had, or is not one that the worker could load.
    """
    directory = await resolve(name, progress=progress)
    # Reading the heads of many files on a slow disk would hold up the event loop.
    await anyio.to_thread.run_sync(check, directory)
    return directory
