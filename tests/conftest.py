"""What every level shares: both event loops, and one cache of models for the run."""

from collections.abc import Generator

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session", autouse=True)
def places(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """A fresh cache and a fresh place for journals, so that no test depends on what this machine has; ``tiny`` is made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNNER_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("RUNNER_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        yield
