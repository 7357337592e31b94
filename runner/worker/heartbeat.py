"""The thread that says that the process lives. It says nothing about progress, and it never touches the model."""

import os
import threading
import time
from collections.abc import Callable

from runner.channel.messages import Beat, Gauge
from runner.worker.ending import end_group
from runner.worker.sender import Sender


class Heartbeat:
    """Sends a ``Beat`` with the memory gauge every ``interval`` seconds, for as long as the process lives.

    And looks whether its parent does: a fork of the supervisor can hold the channel open after it.
    """

    def __init__(self, sender: Sender, gauge: Callable[[], Gauge], interval: float) -> None:
        self._sender = sender
        self._gauge = gauge
        self._interval = interval
        self._parent = os.getppid()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="heartbeat", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._sender.send(Beat(self._gauge()))
            time.sleep(self._interval)
            if os.getppid() != self._parent:
                end_group()
