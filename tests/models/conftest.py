"""What the tests about models share: a cache of its own for each, and a whole model beside it."""

from pathlib import Path

import pytest

from runner.models.cache import CACHE_VARIABLE
from runner.models.tiny import write_tiny


@pytest.fixture(autouse=True)
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(directory))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return directory


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    directory = tmp_path / "a-model"
    directory.mkdir()
    write_tiny(directory)
    return directory
