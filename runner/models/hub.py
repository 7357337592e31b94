"""Models of the hub: those that lie in its cache on this machine, and the fetching of others.

Here lives the reading of the cache's directories, which needs nothing but their layout, so that a model that is there
starts without the network and without the hub's client. The client itself (``huggingface_hub``) runs in a child.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import anyio.to_thread

from fsm.failure import Kind
from runner.models import errand
from runner.models.check import WEIGHTS, check
from runner.models.errors import ModelError
from runner.models.progress import Progress
from runner.models.reference import ModelReference

DEFAULT_REVISION = "main"
_PREFIX = "models--"
_SLASH = "--"
"""A repository's directory is called ``models--OWNER--NAME``."""


def hub_directory() -> Path:
    """Where the hub's client keeps what it fetched; the variables are those that the client documents."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if named := os.environ.get(variable):
            return Path(os.path.expandvars(named)).expanduser()
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(os.path.expandvars(home)).expanduser() / "hub"


def snapshot(reference: ModelReference) -> Path | None:
    """Return the newest snapshot of a repository on this machine if it is a whole model, else ``None``."""
    home = _home(reference.repository)
    revision = reference.revision or DEFAULT_REVISION
    try:
        commit = (home / "refs" / revision).read_text(encoding="utf-8").strip()
    except OSError:
        commit = revision  # a commit has no file of its own
    directory = home / "snapshots" / commit
    try:
        check(directory)
    except ModelError:
        return None
    return directory


async def fetch(reference: ModelReference, report: Callable[[Progress], None] | None) -> Path:
    """Ask the hub for the newest state of a repository, fetch what is missing, and return where it lies.

    A cancel ends the fetching; what has come is kept by the hub's client and not fetched again.

    Raises:
        ModelError: ``model_missing``, ``auth``, ``hub_unreachable`` or ``disk_full``.
    """
    outcome = await errand.run("hub", reference.repository, reference.revision, report=report)
    return Path(outcome.value(Kind.HUB_UNREACHABLE, f"The fetching of {reference}"))


def repositories() -> dict[str, Path]:
    """Return the repositories on this machine that hold weights for mlx-lm, by their id."""
    found: dict[str, Path] = {}
    for home in sorted(hub_directory().glob(f"{_PREFIX}*{_SLASH}*")):
        if any(home.glob(f"snapshots/*/{WEIGHTS}")):
            found[home.name.removeprefix(_PREFIX).replace(_SLASH, "/", 1)] = home
    return found


async def remove(home: Path) -> None:
    """Remove a repository from the hub's cache. Raises ``OSError`` where that fails."""
    await anyio.to_thread.run_sync(shutil.rmtree, home)


def _home(repository: str) -> Path:
    return hub_directory() / (_PREFIX + repository.replace("/", _SLASH))
