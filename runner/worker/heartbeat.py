"""The thread that says that the process lives. It says nothing about progress, and it never touches the model."""

import threading
import time
from collections.abc import Callable

from runner.channel.messages import Beat, Gauge
from runner.worker.sender import Sender


class Heartbeat:
    """Sends a ``Beat`` with the memory gauge every ``interval`` seconds, for as long as the process lives."""

    def __init__(self, sender: Sender, gauge: Callable[[], Gauge], interval: float) -> None:
        self._sender = sender
        self._gauge = gauge
        self._interval = interval

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="heartbeat", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._sender.send(Beat(self._gauge()))
            time.sleep(self._interval)
