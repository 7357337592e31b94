"""The real command on a real socket, and a client for it."""

import os
import re
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.command.commands import Started, worker_of

KEY = "sk-test-0123456789"
PATIENCE = httpx.Timeout(60)
"""For a machine that is busy. Nothing is measured by it."""


class Served:
    """A server under way."""

    def __init__(self, *arguments: str, model: str = "tiny", env: dict[str, str] | None = None) -> None:
        self.command = Started(["serve", "--model", model, "--port", "0", "--no-journal", *arguments], env=env or {})
        self.url = re.findall(r"http://\S+", self.command.heard("Serving"))[0]
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE)

    def ready(self) -> "Served":
        """Wait until the model answers."""
        while (answer := self.http.get("/readyz")).status_code != 200:
            assert answer.json()["error"]["state"] in ("Idle", "Loading"), answer.text
            time.sleep(0.1)  # only not to keep a small machine from loading
        return self

    def worker(self) -> int:
        """Process id of the model's process."""
        pid = worker_of(self.command.mark)
        assert pid is not None
        return pid

    def end(self) -> tuple[int, str]:
        """Have it end in order: exit code, and what it said."""
        self.http.close()
        self.command.process.send_signal(signal.SIGTERM)
        code, out, err = self.command.end()
        assert out == ""
        assert not self.command.descendants()
        return code, err


@contextmanager
def served(*arguments: str, **options: Any) -> Generator[Served]:
    """A server whose model answers; ended in order afterwards."""
    server = Served(*arguments, **options)
    try:
        yield server.ready()
    except BaseException:
        os.kill(server.command.process.pid, signal.SIGKILL)
        server.http.close()
        server.command.end()
        raise
    code, err = server.end()
    assert code == 0, err
    assert "Traceback" not in err
