"""Where models are kept, whether there is room, and which are there."""

import os
import shutil
from pathlib import Path

from runner.command.doctor.checkup import Problem, Section
from runner.models import list_models
from runner.models.cache import CACHE_VARIABLE, cache_directory
from runner.models.fetch import NEED


def storage() -> Section:
    """The cache of models."""
    directory = cache_directory()
    there = _existing(directory)
    free = shutil.disk_usage(there).free
    models = [{"name": model.name, "bytes": model.bytes} for model in list_models()]
    problems: list[Problem] = []
    if not os.access(there, os.W_OK | os.X_OK):
        problems.append(
            Problem(f"{there} can't be written.", f"Set {CACHE_VARIABLE} to a directory that can.", fatal=not models)
        )
    elif free < NEED:
        problems.append(
            Problem(
                f"{free / 1e6:,.0f} MB are free in {there}; smollm2 needs {NEED / 1e6:,.0f} MB to be fetched.",
                f"Free space there, or set {CACHE_VARIABLE} to a directory that has more.",
                fatal=False,
            )
        )
    return Section("models", {"cache": str(directory), "free": free, "here": models}, tuple(problems))


def _existing(directory: Path) -> Path:
    """The directory itself, or the nearest one above it that is there."""
    return next(place for place in (directory, *directory.parents) if place.exists())
