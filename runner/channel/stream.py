"""The supervisor's end of the socket. It always reads, and it never waits for a worker that does not."""

import socket
from collections import deque

import anyio

from runner.channel.frames import FRAME_LIMIT, FrameDecoder, FrameError, encode
from runner.channel.messages import FromWorker, ToWorker
from runner.protocols import ChannelClosed, ChannelFull

READ = 262144
"""Bytes a read: more than Linux's default socket buffer holds, so that a busy worker is read in few system calls."""

OUTBOX_LIMIT = FRAME_LIMIT + 1024 * 1024
"""Bytes that may wait to be sent: one frame of the greatest length, and small ones beside it."""


class SocketChannel:
    """A connected stream socket, spoken over in frames."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._decoder: FrameDecoder[FromWorker] = FrameDecoder(FromWorker)
        self._outbox: deque[memoryview] = deque()
        self._waiting = 0
        self._queued = anyio.Event()
        self._broken = False
        self._closed = False
        self._error: FrameError | None = None

    def send(self, message: ToWorker) -> None:
        """Queue a message. See :class:`runner.protocols.Channel`."""
        frame = encode(message)
        if not self.has_room_for(len(frame)):
            raise ChannelFull
        if self._broken:
            return
        self._outbox.append(memoryview(frame))
        self._waiting += len(frame)
        self._queued.set()

    def has_room_for(self, length: int) -> bool:
        """Whether a frame of ``length`` bytes can be queued."""
        return self._waiting + length <= OUTBOX_LIMIT

    async def run_sender(self) -> None:
        """Send what is queued, until cancelled or until the channel breaks."""
        while not self._broken:
            self._flush()
            if self._outbox:
                try:
                    await anyio.wait_writable(self._socket)
                except anyio.ClosedResourceError:
                    return
            elif not self._broken:
                self._queued = anyio.Event()
                await self._queued.wait()

    def _flush(self) -> None:
        while self._outbox:
            frame = self._outbox[0]
            try:
                sent = self._socket.send(frame)
            except BlockingIOError:
                return
            except OSError:
                # The other end is gone. Its death is told by the kernel's notice; nothing can be sent any more.
                self._broken = True
                self._outbox.clear()
                self._waiting = 0
                return
            self._waiting -= sent
            if sent == len(frame):
                self._outbox.popleft()
            else:
                self._outbox[0] = frame[sent:]

    async def receive(self) -> list[FromWorker]:
        """Wait for bytes and give the whole messages in them. See :class:`runner.protocols.Channel`."""
        while True:
            if not self._closed and self._error is None:
                await anyio.wait_readable(self._socket)
                if messages := self._read():
                    return messages
            if self._error is not None:
                raise self._error
            if self._closed:
                raise ChannelClosed(self._decoder.pending)

    def drain(self) -> list[FromWorker]:
        """Give what can be read without waiting. See :class:`runner.protocols.Channel`."""
        messages: list[FromWorker] = []
        # One frame of the greatest length, and then it is a descendant that writes, not the one that died.
        for _ in range(FRAME_LIMIT // READ):
            got = self._read()
            if got is None:
                break
            messages += got
        if self._error is not None and not messages:
            raise self._error
        return messages

    def _read(self) -> list[FromWorker] | None:
        """One read. ``None`` if there is nothing to read, now or ever."""
        if self._closed or self._error is not None:
            return None
        try:
            data = self._socket.recv(READ)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            data = b""
        if not data:
            self._closed = True
            return None
        self._decoder.feed(data)
        messages: list[FromWorker] = []
        try:
            messages.extend(self._decoder)
        except FrameError as error:
            self._error = error
        return messages

    def close(self) -> None:
        """Shut the socket. Those who wait for it are told."""
        self._broken = self._closed = True
        anyio.notify_closing(self._socket)
        self._socket.close()
