"""Where two runs part: the first step that is another one, apart from what differs between any two runs."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from fsm.journal.explain import told
from fsm.journal.lines import Entry
from fsm.journal.read import Torn, read

_CONTEXT = 3
_OF_ITS_OWN = frozenset({"at", "pid", "prompt_digest", "versions", "silent_s", "late_s", "run", "wall", "prev"})
"""Fields that differ between any two runs."""


class Parting(msgspec.Struct, frozen=True, kw_only=True):
    """The first step in which two runs differ."""

    seq: int
    field: str
    """What differs first, in the order of the format; ``end`` where one run is over."""
    left: str
    right: str
    before: tuple[str, ...]
    """The last steps that both made."""


def compare(left: Iterable[bytes], right: Iterable[bytes]) -> Parting | None:
    """The first step in which two runs part; ``None`` if they don't.

    Raises:
        JournalError: at what is no line of a journal.
    """
    before: deque[str] = deque(maxlen=_CONTEXT)
    seq = 0
    for one, other in zip_longest(_steps(left), _steps(right)):
        if one is None or other is None:
            return Parting(
                seq=seq,
                field="end",
                left=told(one) if one is not None else "the run is over",
                right=told(other) if other is not None else "the run is over",
                before=tuple(before),
            )
        seq = one.seq
        for name in Entry.__struct_fields__:
            if name in _OF_ITS_OWN:
                continue
            if _bare(getattr(one, name)) != _bare(getattr(other, name)):
                return Parting(seq=seq, field=name, left=told(one), right=told(other), before=tuple(before))
        before.append(told(one))
        seq += 1
    return None


def _steps(lines: Iterable[bytes]) -> Iterator[Entry]:
    for item in read(lines):
        if not isinstance(item, Torn) and isinstance(item.line, Entry):
            yield item.line


def _bare(value: Any) -> Any:
    """A value without what differs between any two runs."""
    return _without(msgspec.to_builtins(value))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(inner) for name, inner in value.items() if name not in _OF_ITS_OWN}  # pyright: ignore
    if isinstance(value, list | tuple):
        return [_without(inner) for inner in value]  # pyright: ignore
    return value
