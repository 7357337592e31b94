"""The worker's reading end of the channel: a thread that turns bytes into commands, and sees the supervisor die.

The thread never touches the model. It waits in the kernel, so it also acts while the main thread is inside MLX, which
lets go of the interpreter lock while it computes.
"""

import queue
import select
import socket
import threading

from runner.channel.frames import FrameDecoder, FrameError
from runner.channel.messages import Stop, ToWorker
from runner.worker.ending import end_group

_SIZE = 256 * 1024  # bytes for one read; a long prompt takes a few

Command = ToWorker | FrameError
"""What the main loop gets. The error stands for a stream that can't be read on; nothing follows it."""


class Reader:
    """Hands commands to the main loop through ``commands``. At the end of the socket it kills the process group."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._decoder = FrameDecoder[ToWorker](ToWorker)
        self._leaving = threading.Event()
        self._closed = threading.Event()
        self.commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self.stop_asked = threading.Event()
        """Set as soon as ``Stop`` is read, which may be long before the main loop gets to it."""

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="reader", daemon=True).start()

    def expect_end(self) -> None:
        """Take the end of the socket as ordinary from now on: this worker is on its way out by itself."""
        self._leaving.set()

    def close(self) -> None:
        """Read nothing any more. The end of the socket is still seen."""
        self._closed.set()

    def _run(self) -> None:
        wait = select.poll()
        wait.register(self._connection, select.POLLIN)
        while True:
            if self._closed.is_set():
                wait.modify(self._connection, 0)  # a hang-up is told of all the same
            events = wait.poll()
            if self._closed.is_set() and not any(mask & (select.POLLHUP | select.POLLERR) for _, mask in events):
                continue
            if not self._read():
                return

    def _read(self) -> bool:
        """Read once. Whether there may be more."""
        try:
            data = self._connection.recv(_SIZE)
        except OSError:
            data = b""
        if not data:
            if self._leaving.is_set():
                return False
            end_group()
        self._decoder.feed(data)
        try:
            for command in self._decoder:
                if isinstance(command, Stop):
                    self.stop_asked.set()
                self.commands.put(command)
        except FrameError as error:
            self.commands.put(error)
            self._closed.set()
        return True
