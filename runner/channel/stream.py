"""The supervisor's end of the socket. It always reads, and it never waits for a worker that does not.

What the messages mean is no matter of this module, and neither is the death of the worker: the end of the stream only says
that nothing more can come.
"""

import fcntl
import socket
import struct
import termios
from collections import deque
from itertools import islice

import anyio
import anyio.lowlevel

from runner.channel.frames import FRAME_LIMIT, FrameDecoder, FrameError, encode
from runner.channel.messages import FromWorker, ToWorker
from runner.protocols import ChannelClosed, ChannelFull

READ = 262144
"""Bytes a read: more than Linux's default socket buffer holds, so that a busy worker is read in few system calls."""

BATCH = 128
"""Messages that are given at once. What a worker floods with may be ten bytes a message: a whole read of those, handled
without a pause, would keep every other runner of the event loop waiting for a second."""

FLUSH = 4 * 1024 * 1024
"""Bytes that are sent without a pause, for the same reason."""

OUTBOX_LIMIT = FRAME_LIMIT + 1024 * 1024
"""Bytes that may wait to be sent: one frame of the greatest length, and small ones beside it."""


class SocketChannel:
    """A connected stream socket, spoken over in frames. Fulfils ``runner.protocols.Channel``.

    Args:
        end: the socket; it belongs to the channel from here on.
        outbox_limit: bytes that may wait to be sent.
    """

    def __init__(self, end: socket.socket, *, outbox_limit: int = OUTBOX_LIMIT) -> None:
        end.setblocking(False)
        self._socket = end
        self._decoder: FrameDecoder[FromWorker] = FrameDecoder(FromWorker)
        self._more = False
        self._ended = False
        self._error: FrameError | None = None
        self._read_in_all = 0
        self._outbox: deque[memoryview] = deque()
        self._outbox_limit = outbox_limit
        self._waiting = 0
        self._queued = anyio.Event()
        self._broken = False

    # To the worker.

    def send(self, message: ToWorker) -> None:
        """Queue a message. See ``runner.protocols.Channel``."""
        frame = encode(message)
        if self._broken:
            return
        if not self.has_room_for(len(frame)):
            raise ChannelFull
        self._outbox.append(memoryview(frame))
        self._waiting += len(frame)
        self._queued.set()

    def has_room_for(self, length: int) -> bool:
        """Whether a frame of ``length`` bytes can be queued."""
        return self._waiting + length <= self._outbox_limit

    async def run_sender(self) -> None:
        """Send what is queued, until the channel breaks or is closed. See ``runner.protocols.Channel``."""
        while not self._broken:
            if self._outbox:
                try:
                    await anyio.wait_writable(self._socket)
                except anyio.ClosedResourceError:
                    return
                self._flush()
            else:
                self._queued = anyio.Event()
                await self._queued.wait()

    def _flush(self) -> None:
        budget = FLUSH
        while self._outbox and budget > 0:
            frame = self._outbox[0]
            try:
                sent = self._socket.send(frame)
            except BlockingIOError:
                return
            except OSError:
                # The other end is gone. Its death is told by the kernel's notice; nothing can be sent any more.
                self._break()
                return
            budget -= sent
            self._waiting -= sent
            if sent == len(frame):
                self._outbox.popleft()
            else:
                self._outbox[0] = frame[sent:]

    def _break(self) -> None:
        self._broken = True
        self._outbox.clear()
        self._waiting = 0
        self._queued.set()

    # From the worker.

    @property
    def pending(self) -> int:
        """Bytes that were read and not given: those of an unfinished frame, once all whole messages were given."""
        return self._decoder.pending

    async def receive(self) -> list[FromWorker]:
        """Wait for bytes and give the whole messages in them. See ``runner.protocols.Channel``."""
        while True:
            if self._more:
                await anyio.lowlevel.checkpoint()
                if messages := self._decode():
                    return messages
            elif self._error is not None:
                raise self._error
            elif self._ended:
                raise ChannelClosed(self._decoder.pending)
            else:
                try:
                    await anyio.wait_readable(self._socket)
                except anyio.ClosedResourceError:
                    continue
                # Between the notice and now somebody may have drained, or closed.
                if self._read(READ) and (messages := self._decode()):
                    return messages

    @property
    def handled(self) -> int:
        """Bytes of the messages that were given."""
        return self._read_in_all - self._decoder.pending

    @property
    def arrived(self) -> int:
        """Bytes that came and are not given yet, in the kernel's buffer or here."""
        return self._arrived() + self._decoder.pending

    def drain_some(self) -> list[FromWorker]:
        """Give a batch of what can be read without waiting. See ``runner.protocols.Channel``."""
        if not self._more:
            self._read(READ)
        messages = self._decode() if self._more else []
        if self._error is not None and not messages:
            raise self._error
        return messages

    def drain(self) -> list[FromWorker]:
        """Give what can be read without waiting. See ``runner.protocols.Channel``.

        Only what has arrived by now is read: one that goes on writing can't keep the caller. What a process wrote has
        arrived when its death is noticed, so after a death this is everything.
        """
        # Counted before the first byte is taken; a read gives less than was asked for where a buffer ends.
        arrived = self._arrived()
        while arrived > 0 and (got := self._read(min(arrived, READ))):
            arrived -= got
        messages: list[FromWorker] = []
        while self._more:
            messages += self._decode()
        if self._error is not None and not messages:
            raise self._error
        return messages

    def _arrived(self) -> int:
        if self._ended or self._socket.fileno() < 0:
            return 0
        return struct.unpack("i", fcntl.ioctl(self._socket, termios.FIONREAD, bytes(4)))[0]

    def _read(self, limit: int) -> int:
        """One read, without waiting: how many bytes came."""
        if self._ended or self._error is not None:
            return 0
        try:
            data = self._socket.recv(limit)
        except BlockingIOError:
            return 0
        except OSError:
            # Reset by a peer that ended with our messages unread; the kernel gives what it had sent before that.
            data = b""
        if not data:
            self._ended = True
            return 0
        self._decoder.feed(data)
        self._read_in_all += len(data)
        self._more = True
        return len(data)

    def _decode(self) -> list[FromWorker]:
        """The next whole messages, as many as may be given at once."""
        messages: list[FromWorker] = []
        try:
            messages.extend(islice(self._decoder, BATCH))
        except FrameError as error:
            self._error = error
        self._more = len(messages) == BATCH
        return messages

    # The end.

    def forget(self) -> None:
        """Close a fork's copy of the socket. Nobody waits for it there, and the other copy stays open."""
        self._socket.close()

    def close(self) -> None:
        """Let go of the socket. Those who wait are told: ``receive`` raises, ``run_sender`` returns."""
        if self._socket.fileno() < 0:
            return
        self._break()
        self._ended = True
        anyio.notify_closing(self._socket)
        self._socket.close()
