"""Frames: a length in four bytes, little endian, then that many bytes of msgpack. No I/O here; both sides use it."""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

from runner.channel.messages import Message

HEADER = 4
"""Bytes of the length."""

FRAME_LIMIT = 64 * 1024 * 1024
"""Longest frame, in bytes. A long prompt has a few megabytes; a peer that announces more is broken."""

_encoder = msgspec.msgpack.Encoder()
M = TypeVar("M")


class FrameError(Exception):
    """The peer does not keep to the framing or to the vocabulary. The stream can't be read on."""


def encode(message: Message) -> bytes:
    """One message as one frame.

    Raises:
        FrameError: if it is longer than ``FRAME_LIMIT``.
    """
    buffer = bytearray(HEADER)
    _encoder.encode_into(message, buffer, HEADER)
    length = len(buffer) - HEADER
    if length > FRAME_LIMIT:
        raise FrameError(f"A message of {length:,} bytes is over the limit of {FRAME_LIMIT:,}.")
    buffer[:HEADER] = length.to_bytes(HEADER, "little")
    return bytes(buffer)


class FrameDecoder(Generic[M]):
    """Cuts a byte stream into messages of one vocabulary (a union of tagged structs).

    ``feed`` what came, then iterate: each whole message is yielded once, and what is left waits for more bytes. The
    messages before a broken frame are yielded before ``FrameError`` is raised.
    """

    def __init__(self, vocabulary: Any, limit: int = FRAME_LIMIT) -> None:
        self._decode = msgspec.msgpack.Decoder(vocabulary).decode
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes of the stream."""
        self._buffer += data

    @property
    def pending(self) -> int:
        """Bytes that wait for the rest of their frame."""
        return len(self._buffer)

    def __iter__(self) -> Iterator[M]:
        """Yield the whole messages.

        Raises:
            FrameError: for a length over the limit, bytes that are not msgpack, or a message outside the vocabulary.
        """
        buffer, start = self._buffer, 0
        view = memoryview(buffer)
        size = len(buffer)
        try:
            while size - start >= HEADER:
                body = start + HEADER
                length = int.from_bytes(view[start:body], "little")
                if length > self._limit:
                    raise FrameError(f"A frame of {length:,} bytes is announced; the limit is {self._limit:,}.")
                if size - body < length:
                    break
                start = body + length
                try:
                    message = self._decode(view[body:start])
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    # What is too many in an array is skipped, however deep it is nested.
                    raise FrameError(f"A frame can't be read: {error}") from error
                yield message
        finally:
            view.release()
            del buffer[:start]
