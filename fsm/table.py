"""What a table of transitions is made of, how it is checked, and how it is mounted on ``transitions``.

Here live the form of a row and the checks of a whole table; the two tables themselves are in ``lifecycle.py`` and
``requests.py``. A table is data: drawings, documentation and stimuli are made from it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from transitions import EventData, Machine

from fsm.effects import AnyEffect
from fsm.states import Verdict

C = TypeVar("C")


class TableError(Exception):
    """A table is wrong in itself: an unknown name, a pair that nothing decides, a row that can never be reached."""


class Guard(msgspec.Struct, Generic[C], frozen=True):
    """A named predicate over a frozen context."""

    name: str
    text: str
    """The same in words, for drawings."""
    test: Callable[[C], bool]


def guards(*pairs: tuple[str, str, Callable[[C], bool]]) -> dict[str, Guard[C]]:
    """Guards by name."""
    return {name: Guard(name, text, test) for name, text, test in pairs}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. Of the rows for one state and trigger the first whose guard holds is taken."""

    id: str
    """Short and stable: it stands in records, coverage and drawings."""
    source: tuple[str, ...]
    trigger: tuple[str, ...]
    guard: str = ""
    """Name of the guard; empty for always."""
    dest: str | None = None
    """State to go to; ``None`` stays."""
    sets: Mapping[str, Any] = {}
    """Facts that the row changes."""
    blames: bool = False
    """Whether the event's cause is taken, if it is sharper than what is known."""
    effects: tuple[AnyEffect, ...] = ()
    verdict: Verdict = Verdict.STAYED
    """``refused`` or ``ignored`` for a row that says no; a row that moves is ``moved``."""
    why: str
    """The reason, for the reader and for the caller who is refused."""


class Table(Generic[C]):
    """A checked table, mounted on a ``transitions.Machine``, shared by all who run it.

    The machine never holds a model: whoever runs it brings a ``Holder`` with the state, so that nothing is kept alive.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        *,
        states: tuple[str, ...],
        triggers: tuple[str, ...],
        guards: Mapping[str, Guard[C]],
        facts: type[msgspec.Struct],
    ) -> None:
        self.rows = tuple(rows)
        self.states = states
        self.triggers = triggers
        self.guards = dict(guards)
        self._check(facts)
        self._machine = self._mount()

    def fire(self, holder: "Holder", trigger: str, context: C) -> Row:
        """Take the one row that decides, move the holder's state along it, and return it."""
        holder.row = None
        self._machine.events[trigger].trigger(holder, context=context)  # pyright: ignore[reportUnknownMemberType]
        if holder.row is None:
            raise TableError(f"No row decides {trigger!r} in {holder.state!r}.")
        return holder.row

    def deciding(self, state: str, trigger: str) -> tuple[Row, ...]:
        """The rows for a state and a trigger, in the order in which they are tried."""
        return tuple(row for row in self.rows if state in row.source and trigger in row.trigger)

    def _check(self, facts: type[msgspec.Struct]) -> None:
        """Find at import what ``transitions`` would find when fired, or never."""
        seen: set[str] = set()
        fields = {field.name for field in msgspec.structs.fields(facts)}
        for row in self.rows:
            if row.id in seen:
                raise TableError(f"Two rows are called {row.id}.")
            seen.add(row.id)
            unknown = (
                [name for name in (*row.source, *((row.dest,) if row.dest else ())) if name not in self.states]
                + [name for name in row.trigger if name not in self.triggers]
                + [name for name in row.sets if name not in fields]
                + ([row.guard] if row.guard and row.guard not in self.guards else [])
            )
            if unknown:
                raise TableError(f"Row {row.id} names what does not exist: {', '.join(unknown)}.")
            if row.verdict in (Verdict.REFUSED, Verdict.IGNORED) and (row.dest or row.sets or row.effects):
                raise TableError(f"Row {row.id} says no and yet changes something.")
        reachable: set[str] = set()
        for state in self.states:
            for trigger in self.triggers:
                rows = self.deciding(state, trigger)
                if not rows or rows[-1].guard:
                    raise TableError(f"{trigger!r} in {state} is not decided in every case.")
                for row in rows:
                    reachable.add(row.id)
                    if not row.guard:
                        break
        if dead := seen - reachable:
            raise TableError(f"Rows that can never be taken: {', '.join(sorted(dead))}.")

    def _mount(self) -> Machine:
        machine = Machine(
            model=None,
            states=list(self.states),
            initial=self.states[0],
            auto_transitions=False,
            send_event=True,
            queued=False,
        )
        for row in self.rows:
            conditions: list[str | Callable[..., bool | None]] = (
                [_condition(self.guards[row.guard].test)] if row.guard else []
            )
            for trigger in row.trigger:
                machine.add_transition(  # pyright: ignore[reportUnknownMemberType]
                    trigger, list(row.source), row.dest, conditions=conditions, before=_note(row)
                )
        return machine


class Holder:
    """What ``transitions`` moves: a state, and the row that moved it."""

    __slots__ = ("row", "state")

    def __init__(self, state: str) -> None:
        self.state = state
        self.row: Row | None = None


def _condition(test: Callable[[Any], bool]) -> Callable[[EventData], bool]:
    return lambda data: test(data.kwargs["context"])


def _note(row: Row) -> Callable[[EventData], None]:
    def note(data: EventData) -> None:
        holder: Any = data.model
        holder.row = row

    return note
