"""What every level shares: both event loops, and one cache of models for the run."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """A fresh cache, so that no test depends on what this machine has; ``tiny`` is made in it once."""
    directory = tmp_path_factory.mktemp("cache")
    before = os.environ.get("RUNNER_CACHE_DIR")
    os.environ["RUNNER_CACHE_DIR"] = str(directory)
    yield directory
    if before is None:
        del os.environ["RUNNER_CACHE_DIR"]
    else:
        os.environ["RUNNER_CACHE_DIR"] = before
