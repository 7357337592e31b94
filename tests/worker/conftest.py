import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.models.tiny import write_tiny
from tests.worker.child import Child

StartChild = Callable[..., Child]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("model")
    write_tiny(directory)
    return directory


@pytest.fixture
def start() -> Iterator[StartChild]:
    """Start a worker that is gone when the test is over."""
    with contextlib.ExitStack() as stack:

        def start(*options: str, faults: list[dict[str, str]] | None = None) -> Child:
            return stack.enter_context(contextlib.closing(Child(*options, faults=faults)))

        yield start


@pytest.fixture(scope="module")
def loaded(tiny: Path) -> Iterator[Child]:
    """A worker with the tiny model, shared by the tests of a module: a load imports mlx-lm, which takes a second."""
    with contextlib.closing(Child()) as child:
        child.load(tiny)
        yield child
