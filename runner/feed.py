"""The stream of records that anybody may follow. Who reads slowly misses records and is told how many; nobody is waited for."""

from collections import deque

import anyio
import msgspec

from fsm import Record

HELD = 1024
"""Records that the feed holds for its readers."""


class Missed(msgspec.Struct, frozen=True):
    """In place of records that were gone before they were read."""

    count: int


class Feed:
    """Holds the last records, and wakes those who wait for the next."""

    def __init__(self) -> None:
        self._records: deque[Record] = deque(maxlen=HELD)
        self._next_seq = 0
        self._more = anyio.Event()
        self._closed = False

    @property
    def next_seq(self) -> int:
        """Number of the record that comes next."""
        return self._next_seq

    def publish(self, record: Record) -> None:
        """Add the next record. Never blocks, whoever reads."""
        self._records.append(record)
        self._next_seq = record.seq + 1
        if self._more.statistics().tasks_waiting:
            self._more.set()
            self._more = anyio.Event()

    def close(self) -> None:
        """End the stream for its readers, after what they have not read yet."""
        self._closed = True
        self._more.set()

    async def next_from(self, seq: int) -> Record | Missed:
        """Give the record ``seq``, or how many were missed from there on. Cancelling it loses nothing.

        Raises:
            anyio.EndOfStream: when the feed is closed and read to its end.
        """
        while seq >= self._next_seq:
            if self._closed:
                raise anyio.EndOfStream
            await self._more.wait()
        oldest = self._records[0].seq
        if seq < oldest:
            return Missed(oldest - seq)
        return self._records[seq - oldest]


class Changes:
    """Records as they come, from ``runner.RunnerSupervisor.changes``.

    Ends when the supervisor is left. A reader that falls more than 1,024 records behind gets one ``Missed(count)`` and goes
    on from the oldest record that is still held.
    """

    def __init__(self, feed: Feed, since: int) -> None:
        self._feed = feed
        self._seq = since

    def __aiter__(self) -> "Changes":
        return self

    async def __anext__(self) -> Record | Missed:
        try:
            item = await self._feed.next_from(self._seq)
        except anyio.EndOfStream:
            raise StopAsyncIteration from None
        self._seq += item.count if isinstance(item, Missed) else 1
        return item
