"""Shortest ways to every row of the machine, and every move between states, as parameters for tests."""

from functools import cache

import msgspec

from fsm.drawing.picture import LIFECYCLE, picture
from fsm.events import AnyEvent
from fsm.explore import Exploration, explore


class Path(msgspec.Struct, frozen=True):
    """A shortest way to a row: what happens, and the events that the machine sees of it."""

    row: str
    moves: tuple[str, ...]
    events: tuple[AnyEvent, ...]

    def __str__(self) -> str:
        return self.row


@cache
def _explored(requests: int) -> tuple[Exploration, dict[tuple[int, str], AnyEvent]]:
    events: dict[tuple[int, str], AnyEvent] = {}
    found = explore(requests=requests, see=lambda way, event: events.setdefault(way, event))
    return found, events


def shortest_paths(requests: int = 1) -> tuple[Path, ...]:
    """One way to each row that can be taken, as few steps as there can be. A few seconds, once.

    Use it as ``@pytest.mark.parametrize("path", shortest_paths(), ids=str)``.
    """
    found, events = _explored(requests)
    paths: list[Path] = []
    for row, way in sorted(found.rows.items()):
        ways = [way]
        while ways[-1][0]:
            ways.append(found.parents[ways[-1][0]])
        ways.reverse()
        seen = tuple(events[step] for step in ways if step in events)
        paths.append(Path(row, tuple(move for _, move in ways), seen))
    return tuple(paths)


def all_edges() -> tuple[tuple[str, str, str], ...]:
    """Every move of the lifecycle: from, trigger, to.

    Use it as ``@pytest.mark.parametrize(("source", "trigger", "dest"), all_edges())``.
    """
    edges: list[tuple[str, str, str]] = []
    for arrow in picture(LIFECYCLE).arrows:
        for label in arrow.labels:
            edges += [(arrow.source, trigger.partition(" [")[0], arrow.dest) for trigger in label.triggers]
    return tuple(edges)
