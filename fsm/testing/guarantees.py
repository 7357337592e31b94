"""G1 to G4 and G7 as one assertion over the journal of a run."""

from collections.abc import Iterable

from fsm.effects import Announce, Release
from fsm.events import OutOfMemory, Settled
from fsm.failure import Kind
from fsm.journal import Entry, Gap, Torn, read, verify
from fsm.states import State, Verdict


class _Incarnation:
    """What was seen of one incarnation."""

    def __init__(self) -> None:
        self.accepted: set[int] = set()
        self.released: dict[int, int] = {}
        self.announced = 0
        self.settled_at: int | None = None
        self.evidence = False
        self.gap = False


def assert_guarantees(lines: Iterable[bytes], *, key: bytes | None = None) -> None:
    """Assert that a journal is intact, and that what it tells of keeps the guarantees. Steps that a gap hides are not judged.

    Args:
        lines: of the journal; see ``fsm.journal``.
        key: the key, of a journal that is sealed with one.

    Raises:
        AssertionError: with the guarantee and the step.
    """
    kept = list(lines)
    checked = verify(kept, key=key)
    assert checked.problem is None, f"G7: line {checked.problem.number}: {checked.problem.what}"
    lives: dict[int, _Incarnation] = {}
    newest = 0
    for item in read(kept):
        if isinstance(item, Torn):
            continue
        if isinstance(item.line, Gap):
            for life in lives.values():
                life.gap = True
        elif isinstance(item.line, Entry):
            newest = max(newest, item.line.incarnation)
            _follow(lives.setdefault(item.line.incarnation, _Incarnation()), item.line)
    for number, life in lives.items():
        if life.gap:
            continue
        if life.settled_at is not None:
            missing = life.accepted - set(life.released)
            assert not missing, f"G3: incarnation {number} is over, and requests {sorted(missing)} got no outcome"
            assert life.announced == 1, f"G4: incarnation {number} announced its end {life.announced} times"
        else:
            assert number == newest, f"G2: incarnation {number + 1} began before {number} was settled"


def _follow(life: _Incarnation, entry: Entry) -> None:
    if life.settled_at is not None:
        assert entry.verdict is not Verdict.MOVED, f"G2: step {entry.seq} moves what was settled at {life.settled_at}"
    if _shows_oom(entry) and life.settled_at is None and entry.verdict is not Verdict.IGNORED:
        life.evidence = True
    if life.evidence:
        oom = entry.dest is State.FAILED and entry.cause is not None and entry.cause.kind is Kind.OOM
        assert oom, f"G1: step {entry.seq} follows evidence of an out-of-memory, and is not Failed with cause oom"
    for change in entry.requests:
        if change.source is None:
            life.accepted.add(change.request)
    for effect in entry.effects:
        if isinstance(effect, Announce):
            life.announced += 1
            assert entry.settled, f"G4: step {entry.seq} announces an end that is not settled"
        elif isinstance(effect, Release):
            request = effect.outcome.request
            life.released[request] = life.released.get(request, 0) + 1
            assert life.released[request] == 1 or life.gap, (
                f"G3: step {entry.seq} tells request {request} a second time"
            )
    if entry.settled and life.settled_at is None:
        life.settled_at = entry.seq


def _shows_oom(entry: Entry) -> bool:
    event = entry.event
    if event.incarnation != entry.incarnation:
        return False
    if isinstance(event, OutOfMemory):
        return True
    return isinstance(event, Settled) and event.cause is not None and event.cause.kind is Kind.OOM
