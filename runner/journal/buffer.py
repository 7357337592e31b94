"""What was noted and is not written yet: bounded, filled by the event loop, emptied by the writer's thread."""

import threading
from collections import deque
from datetime import datetime

import msgspec

from fsm import Record
from fsm.checkpoint import Checkpoint

HELD = 8192
"""Items that are held while the disk does not take them: minutes of a busy runner."""
HELD_TEXT = 8 * 1024 * 1024
"""Characters of prompts and answers that are held."""


class Step(msgspec.Struct, frozen=True):
    """A record to write down."""

    record: Record
    wall: datetime


class Lost(msgspec.Struct, frozen=True):
    """In place of records that were not held."""

    reason: str
    checkpoint: Checkpoint
    wall: datetime


class Overran(msgspec.Struct, frozen=True):
    """The effects of a step did not wait for it."""

    seq: int
    waited_s: float
    wall: datetime


class Said(msgspec.Struct, frozen=True):
    """A prompt or an answer."""

    request: int
    role: str
    text: str
    wall: datetime


Item = Step | Lost | Overran | Said


class Buffer:
    """A bounded queue between the event loop and the writer's thread. Who adds is never blocked: what has no room is lost."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._characters = 0
        self._changed = threading.Condition()
        self._closed = False

    @property
    def half_empty(self) -> bool:
        """Whether there is room for a while."""
        return len(self._items) <= HELD // 2

    def add(self, item: Item, *, even_if_full: bool = False) -> bool:
        """Add an item; give whether there was room."""
        size = len(item.text) if isinstance(item, Said) else 0
        with self._changed:
            full = len(self._items) >= HELD or (size and self._characters + size > HELD_TEXT)
            if full and not even_if_full:
                return False
            self._items.append(item)
            self._characters += size
            self._changed.notify()
        return True

    def close(self) -> None:
        """Say that nothing more will be added."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    @property
    def closed(self) -> bool:
        """Whether nothing more will be added."""
        return self._closed

    def next(self) -> Item | None:
        """Wait for the next item and take it out; ``None`` at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed)
            if not self._items:
                return None
            item = self._items.popleft()
            if isinstance(item, Said):
                self._characters -= len(item.text)
            return item

    def wait_closed(self, seconds: float) -> bool:
        """Wait until the end is said, or the time is over; give whether it was said."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed, seconds)
