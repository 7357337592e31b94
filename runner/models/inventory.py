"""Which models are on this machine, and the removing of one by its name: what ``runner models`` shows and does.

Here live the two views put together: our own cache and the hub's. Nothing is fetched or converted here.
"""

from pathlib import Path

import anyio.to_thread
import msgspec

from fsm.failure import Kind
from runner.models import cache, hub
from runner.models.errors import ModelError
from runner.models.reference import ReferenceKind


class CachedModel(msgspec.Struct, frozen=True):
    """A model that is on this machine."""

    name: str
    """By which ``remove`` knows it. For all but converted GGUF files it is also what ``--model`` takes."""
    path: Path
    bytes: int
    """On the disk."""
    kind: ReferenceKind


def list_models() -> list[CachedModel]:
    """List the models in our cache, then those that the hub's client keeps. Walks directories, so it takes a moment."""
    ours = [
        CachedModel(_name(path), path, cache.size_of(path), kind)
        for path in cache.placed()
        for kind in (_kind(path.name),)
    ]
    hubs = [
        CachedModel(repository, home, cache.size_of(home), ReferenceKind.HUB)
        for repository, home in hub.repositories().items()
    ]
    return ours + hubs


async def remove(name: str) -> int:
    """Remove a model by the name that ``list_models`` gives it, and return how many bytes this freed.

    Raises:
        ModelError: ``model_missing`` if there is none of this name; ``resource_limit`` if it is just being made;
            ``unknown`` if it can't be removed.
    """
    models = await anyio.to_thread.run_sync(list_models)
    found = [model for model in models if model.name == name]
    if not found:
        raise ModelError(Kind.MODEL_MISSING, f"There is no model {name} in the cache.")
    if found[0].kind is not ReferenceKind.HUB:
        return await cache.remove([model.path.name for model in found])
    try:
        await hub.remove(found[0].path)
    except OSError as error:
        raise ModelError(Kind.UNKNOWN, f"{name} can't be removed: {error}.") from error
    return found[0].bytes


def _kind(directory: str) -> ReferenceKind:
    name = directory.partition("@")[0]
    return ReferenceKind(name) if name in (ReferenceKind.TINY, ReferenceKind.SMOLLM2) else ReferenceKind.GGUF


def _name(path: Path) -> str:
    return path.name if _kind(path.name) is ReferenceKind.GGUF else path.name.partition("@")[0]
