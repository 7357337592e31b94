"""One server for all tests that leave it as they found it."""

from collections.abc import Generator

import pytest

from tests.http.servers import Served, served


@pytest.fixture(scope="module")
def server() -> Generator[Served]:
    with served("--max-body", "64kB") as server:
        yield server
