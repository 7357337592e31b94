"""The directory of models that were made or converted here: placed whole or not at all, by one process at a time.

Layout below ``cache_directory``::

    models/NAME@EDITION/    a model in mlx-lm's format, whole
    building/NAME@EDITION/  one that is being made; never looked at, swept by the next who makes it
    locks/NAME@EDITION      held (flock) by who makes or removes it; the system lets go of it when that process dies

Here lives the placing, the listing and the removing. What goes into a model is none of this module's business.
"""

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import platformdirs

from fsm.failure import Kind
from runner.models.check import check
from runner.models.errors import ModelError
from runner.models.progress import Progress

CACHE_VARIABLE = "RUNNER_CACHE_DIR"
"""Names another directory for the cache."""
LOCK_WAIT_S = 3600.0  # as long as another process may take to fetch and convert the same model
LOCK_POLL_S = 0.05  # flock can't be waited for without a thread that no cancel reaches

Build = Callable[[Path, Path], Awaitable[None]]
"""Fills the first directory with a model; the second is for what is needed on the way. Both are gone if it raises."""

Report = Callable[[Progress], None]
"""Told of progress, in the event loop's thread. It must neither block nor raise."""


def cache_directory() -> Path:
    """Where models are kept: ``RUNNER_CACHE_DIR`` if that is set, else the user's cache directory of this system."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("runner-fsm")


def whole(name: str) -> Path | None:
    """Return the model of this name if it is there and passes ``check``, else ``None``."""
    directory = cache_directory() / "models" / name
    try:
        check(directory)
    except ModelError as error:
        if error.kind in (Kind.MODEL_MISSING, Kind.MODEL_INVALID):
            return None
        raise
    return directory


async def place(name: str, build: Build, *, need: int, report: Report | None = None) -> Path:
    """Return the model of this name; make it first if it is not there, or no longer whole.

    It is built elsewhere in the cache, written through to the disk, then renamed: whoever looks sees all of it or none.
    Two that ask at once get one building; the other waits. A cancel removes what was begun.

    Args:
        name: Of the directory.
        build: Makes the model.
        need: Bytes of disk that the building takes.
        report: Told of ``waiting``.

    Raises:
        ModelError: ``disk_full``; ``load_timeout`` if another process held the model for an hour; ``unknown`` if the
            cache can't be written; and what ``build`` raises.
    """
    if (found := await anyio.to_thread.run_sync(whole, name)) is not None:
        return found
    with _disk_errors():
        async with _lock(name, LOCK_WAIT_S, report):
            if (found := await anyio.to_thread.run_sync(whole, name)) is not None:
                return found
            return await _build(name, build, need)


async def remove(names: list[str]) -> int:
    """Remove the models of these names, and return the bytes that this freed. A process that has one loaded keeps it.

    Raises:
        ModelError: ``resource_limit`` if one is just being made.
    """
    freed = 0
    with _disk_errors():
        for name in names:
            async with _lock(name, 0.0, None):
                freed += await anyio.to_thread.run_sync(_remove, name)
    return freed


def placed() -> list[Path]:
    """List the directories of the models in the cache, by name."""
    try:
        return sorted(path for path in (cache_directory() / "models").iterdir() if path.is_dir())
    except FileNotFoundError:
        return []


def size_of(directory: Path) -> int:
    """Count the bytes of the files below a directory; a link counts for itself, and what is going away for nothing."""
    total = 0
    for root, _, files in os.walk(directory):
        for file in files:
            with suppress(FileNotFoundError):
                total += Path(root, file).lstat().st_size
    return total


async def _build(name: str, build: Build, need: int) -> Path:
    site = cache_directory() / "building" / name
    # A directory of a new name each time: a child whose supervisor was just killed may write for a moment longer.
    work = site / secrets.token_hex(4)
    try:
        await anyio.to_thread.run_sync(_prepare, site, work, need)
        await build(work / "model", work / "scratch")
        return await anyio.to_thread.run_sync(_publish, name, work)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, site, ignore_errors=True))


def _prepare(site: Path, work: Path, need: int) -> None:
    shutil.rmtree(site, ignore_errors=True)  # what a killed process left
    for directory in ("model", "scratch"):
        (work / directory).mkdir(parents=True)
    free = shutil.disk_usage(work).free
    if free < need:
        raise ModelError(
            Kind.DISK_FULL,
            f"{need / 1e6:,.0f} MB are needed in {cache_directory()} to prepare the model, {free / 1e6:,.0f} MB are free.",
            remedy=f"Free space there, or set {CACHE_VARIABLE} to a directory that has more.",
        )


def _publish(name: str, work: Path) -> Path:
    model = work / "model"
    for path in (*model.rglob("*"), model):
        _sync(path)
    target = cache_directory() / "models" / name
    target.parent.mkdir(exist_ok=True)
    if target.exists():  # not whole, or it would not have been built again
        target.rename(work / "replaced")
    model.rename(target)
    _sync(target.parent)
    return target


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(name: str) -> int:
    target = cache_directory() / "models" / name
    grave = cache_directory() / "building" / name
    freed = size_of(target)
    shutil.rmtree(grave, ignore_errors=True)
    grave.mkdir(parents=True)
    target.rename(grave / "removed")  # first out of sight, so that nobody finds half of it
    shutil.rmtree(grave)
    return freed


@asynccontextmanager
async def _lock(name: str, wait_s: float, report: Report | None) -> AsyncGenerator[None]:
    path = cache_directory() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = anyio.current_time() + wait_s
        while not _taken(handle):
            if anyio.current_time() >= until:
                raise ModelError(
                    Kind.LOAD_TIMEOUT if wait_s else Kind.RESOURCE_LIMIT,
                    f"Another process is preparing {name.partition('@')[0]}.",
                    remedy="Wait until it is done, or end it.",
                )
            if report is not None:
                report(Progress("waiting"))
            await anyio.sleep(LOCK_POLL_S)
        yield
    finally:
        os.close(handle)  # the file stays: to remove it would let two hold a lock of the same name


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _disk_errors() -> Generator[None]:
    """Turn an ``OSError`` of the cache's disk into the error that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(Kind.DISK_FULL, f"The disk of {cache_directory()} is full.") from error
        raise ModelError(
            Kind.UNKNOWN,
            f"The model can't be prepared in {cache_directory()}: {error}.",
            remedy=f"Check that directory, or set {CACHE_VARIABLE} to one that can be written.",
        ) from error
