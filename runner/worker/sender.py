"""The worker's writing end of the channel. Every frame goes through here, whole, whichever thread sends it."""

import contextlib
import socket
import threading

from runner.channel.frames import encode
from runner.channel.messages import Message
from runner.worker.ending import end_group


class Sender:
    """Sends messages as whole frames. Safe from any thread; blocks while the supervisor does not read."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._finished = False

    def send(self, message: Message) -> None:
        """Send one message. After ``finish`` it is dropped. A broken socket ends the process group.

        Raises:
            FrameError: if the message is longer than a frame may be.
        """
        self.send_bytes(encode(message))

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are. Nothing else is sent in between."""
        with self._lock:
            if self._finished:
                return
            try:
                self._connection.sendall(data)
            except OSError:
                end_group()

    def finish(self, message: Message) -> None:
        """Send the last message and close the socket for writing; the supervisor reads it to its end."""
        self.send(message)
        with self._lock:
            self._finished = True
            with contextlib.suppress(OSError):  # the peer may be gone, and this is the end anyway
                self._connection.shutdown(socket.SHUT_WR)
