"""What stands in a journal, a line each: the vocabulary. How lines are chained is in ``seal``; who writes them, in ``keeper``.

The names of fields are part of the format. Whoever changes them, or what they mean, raises ``FORMAT``.
"""

from datetime import datetime

import msgspec

from fsm.checkpoint import Checkpoint
from fsm.effects import AnyEffect
from fsm.events import AnyEvent
from fsm.failure import FailureCause
from fsm.record import Record, RequestChange
from fsm.states import Activity, Process, State, Verdict

FORMAT = 1
"""Version of the format."""

Setting = bool | int | float | str | None


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base of all lines. The last field of each, ``hash``, is the seal's and not in here."""

    run: str
    """Id of the run: one supervisor from its start to its end."""
    wall: datetime
    """Wall-clock time (UTC) at which the supervisor noted it. It may jump; order is by number, spans by ``at``."""
    prev: str
    """Hash of the line before, zeros for the first."""


class Opening(Line, frozen=True, kw_only=True, omit_defaults=True, tag="opening"):
    """First line of each file."""

    format: int
    package: str
    """Version of runner-fsm."""
    table: str
    """Digest of the rules by which the steps were made."""
    file: int
    """Number of the file in the run, from 0."""
    seal: str
    """``sha256``, or ``hmac-sha256`` with a key that is elsewhere."""
    text: bool
    """Whether prompts, answers and the arguments of exceptions are written down."""
    settings: dict[str, Setting] = {}
    checkpoint: Checkpoint
    """Where the machine stood."""


class Entry(Line, frozen=True, kw_only=True, omit_defaults=True, tag="step"):
    """One step: an event and what it came to."""

    seq: int
    incarnation: int
    event: AnyEvent
    verdict: Verdict
    rows: tuple[str, ...]
    source: State = msgspec.field(name="from")
    dest: State = msgspec.field(name="to")
    process: Process
    activity: Activity = Activity.NONE
    done: int = 0
    total: int = 0
    settled: bool = False
    cause: FailureCause | None = None
    requests: tuple[RequestChange, ...] = ()
    effects: tuple[AnyEffect, ...] = ()
    why: str = ""

    @property
    def record(self) -> Record:
        """The same as the machine gave it."""
        return Record(**{name: getattr(self, name) for name in Record.__struct_fields__})


class Gap(Line, frozen=True, kw_only=True, omit_defaults=True, tag="gap"):
    """Steps that could not be written down. What follows goes on from the checkpoint."""

    lost: int
    """How many."""
    reason: str
    checkpoint: Checkpoint


class Overrun(Line, frozen=True, kw_only=True, omit_defaults=True, tag="overrun"):
    """The effects of a step were performed before it was written down: the disk took too long."""

    seq: int
    """The step, which stands somewhere above or in a gap."""
    waited_s: float


class Text(Line, frozen=True, kw_only=True, omit_defaults=True, tag="text"):
    """What was asked or answered. Only in a journal that was asked to hold it."""

    request: int
    role: str
    """``prompt`` or ``answer``."""
    text: str


class Closing(Line, frozen=True, kw_only=True, omit_defaults=True, tag="closing"):
    """Last line of a run that ended in order."""


AnyLine = Opening | Entry | Gap | Overrun | Text | Closing
"""Every line, as a type that msgspec can decode."""


def entry_of(record: Record, *, run: str, wall: datetime, prev: str) -> Entry:
    """A record as a line."""
    return Entry(run=run, wall=wall, prev=prev, **{name: getattr(record, name) for name in Record.__struct_fields__})
