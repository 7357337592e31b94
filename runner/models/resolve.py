"""From a reference to a directory that mlx-lm can load.

Here lives which way each kind of model goes. How a model is fetched, made, kept and checked is found in the modules
beside this one.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import anyio.to_thread

from fsm.failure import Kind
from runner.models import cache, errand, hub
from runner.models.errors import ModelError
from runner.models.fetch import NEED, build_smollm2
from runner.models.progress import Progress
from runner.models.reference import ModelReference, ReferenceKind
from runner.models.tiny import write_tiny

EDITION = 1
"""Of what is made here. A change to ``tiny`` or to the conversion raises it, and what older releases made is not used."""
HEAD_BYTES = 1 << 20  # of a GGUF file, part of what it is known by: it covers most of the metadata
TINY_NEED = 1_000_000  # bytes; more than it takes


async def resolve(reference: ModelReference | str, *, progress: Callable[[Progress], None] | None = None) -> Path:
    """Return a local directory in mlx-lm's format for a reference; fetch, convert or make the model if need be.

    What is once on this machine needs no network: ``smollm2``, converted files, and hub models as they were last
    fetched (``pull`` asks the hub anew). A directory is returned as it is, unchecked; ``check`` looks into it.
    A cancel leaves neither a process nor a half-made model behind.

    Args:
        reference: What ``--model`` may be.
        progress: Told of each step, in the event loop's thread. It must neither block nor raise.

    Raises:
        ModelError: The model can't be had; the kind says why.
    """
    if isinstance(reference, str):
        reference = await anyio.to_thread.run_sync(ModelReference.parse, reference)
    match reference.kind:
        case ReferenceKind.DIRECTORY:
            return _path(reference)
        case ReferenceKind.TINY:
            return await cache.place(f"tiny@{EDITION}", _build_tiny, need=TINY_NEED, report=progress)
        case ReferenceKind.SMOLLM2:
            return await cache.place(
                f"smollm2@{EDITION}",
                lambda model, scratch: build_smollm2(model, scratch, progress),
                need=NEED,
                report=progress,
            )
        case ReferenceKind.GGUF:
            return await _convert(_path(reference), progress)
        case ReferenceKind.HUB:
            found = await anyio.to_thread.run_sync(hub.snapshot, reference)
            return found if found is not None else await hub.fetch(reference, progress)


async def pull(reference: ModelReference | str, progress: Callable[[Progress], None] | None = None) -> Path:
    """Like ``resolve``, but ask the hub for the newest state of a hub model even if one is here."""
    if isinstance(reference, str):
        reference = await anyio.to_thread.run_sync(ModelReference.parse, reference)
    if reference.kind is ReferenceKind.HUB:
        return await hub.fetch(reference, progress)
    return await resolve(reference, progress=progress)


async def _build_tiny(model: Path, scratch: Path) -> None:
    await anyio.to_thread.run_sync(write_tiny, model)


async def _convert(file: Path, progress: Callable[[Progress], None] | None) -> Path:
    try:
        name, size = await anyio.to_thread.run_sync(_identity, file)
    except OSError as error:
        raise ModelError(Kind.MODEL_MISSING, f"{file} can't be read: {error.strerror or error}.") from error

    async def build(model: Path, scratch: Path) -> None:
        outcome = await errand.run("gguf", str(file), str(model), report=progress)
        outcome.value(Kind.MODEL_INVALID, f"The conversion of {file}")

    return await cache.place(name, build, need=2 * size, report=progress)


def _identity(file: Path) -> tuple[str, int]:
    """Name a file by what it holds, as far as that can be known without reading gigabytes: a moved file is the same."""
    status = file.stat()
    with file.open("rb") as opened:
        head = opened.read(HEAD_BYTES)
    digest = hashlib.sha256(f"{EDITION} {status.st_size} {status.st_mtime_ns} ".encode() + head)
    return f"{file.name}@{digest.hexdigest()[:12]}", status.st_size


def _path(reference: ModelReference) -> Path:
    assert reference.path is not None, f"a reference of kind {reference.kind} has a path"
    return reference.path
