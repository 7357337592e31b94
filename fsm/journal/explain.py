"""What happened, for somebody who was not there: a paragraph, and the steps that led to it."""

from collections import deque
from collections.abc import Iterable

import msgspec

from fsm.events import (
    AnyEvent,
    DeadlineExpired,
    Exited,
    Hung,
    Load,
    LoadProgress,
    ProtocolBroken,
    RequestDone,
    RequestErred,
    RequestProgress,
    Settled,
    Spawned,
    SpawnFailed,
    SupervisorLate,
)
from fsm.failure import Certainty, FailureCause
from fsm.journal.lines import AnyLine, Closing, Entry, Gap, Overrun
from fsm.journal.read import JournalError, Torn, read
from fsm.states import RequestState, State, Verdict

STEPS = 25
"""Steps that are told of an incarnation: its moves, and the last ones before its end."""


class Moment(msgspec.Struct, frozen=True):
    """A step that is worth telling."""

    seq: int
    seconds: float
    """Since the first step of the run."""
    text: str
    decisive: bool = False
    """Whether it led to the failure."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an incarnation."""

    incarnation: int
    paragraph: str
    moments: tuple[Moment, ...]
    left_out: int = 0
    """Steps between that are not told."""
    cause: FailureCause | None = None
    failed: bool = False


class _Story:
    """One incarnation, from its first step to its last."""

    def __init__(self, number: int, began: float) -> None:
        self.number = number
        self.began = began
        self.moments: list[Moment] = []
        self.recent: deque[Moment] = deque(maxlen=6)
        self.left_out = 0
        self.outcomes: dict[RequestState, int] = {}
        self.lost_requests = 0
        self.pid: int | None = None
        self.trigger: Entry | None = None
        self.running_since: float | None = None
        self.entry: Entry | None = None
        self.gaps = 0

    def take(self, entry: Entry, seconds: float) -> None:
        self.entry = entry
        if isinstance(entry.event, Spawned):
            self.pid = entry.event.pid
        if entry.dest is State.RUNNING and entry.source is not State.RUNNING:
            self.running_since = seconds
        for change in entry.requests:
            if change.dest.terminal:
                self.outcomes[change.dest] = self.outcomes.get(change.dest, 0) + 1
        failing = entry.dest is State.FAILED and entry.source is not State.FAILED
        if failing:
            self.trigger = entry
            self.lost_requests = 0
        if entry.settled and entry.dest is State.FAILED and entry.requests:
            self.lost_requests = len(entry.requests)
        moment = Moment(entry.seq, seconds, told(entry), decisive=failing)
        worth = entry.verdict in (Verdict.MOVED, Verdict.REFUSED) or entry.dest is State.FAILED or _tells(entry)
        if worth:
            self._keep(moment)
        else:
            if len(self.recent) == self.recent.maxlen:
                self.left_out += 1
            self.recent.append(moment)

    def _keep(self, moment: Moment) -> None:
        if moment.decisive:
            self.moments += self.recent
        else:
            self.left_out += len(self.recent)
        self.recent.clear()
        self.moments.append(moment)

    def explained(self, end: AnyLine | Torn | None) -> Explanation:
        moments = self.moments
        left_out = self.left_out + len(self.recent)
        if len(moments) > STEPS:
            head = STEPS // 3
            left_out += len(moments) - STEPS
            moments = [*moments[:head], *moments[head - STEPS :]]
        entry = self.entry
        assert entry is not None
        return Explanation(
            incarnation=self.number,
            paragraph=self._paragraph(entry, end),
            moments=tuple(moments),
            left_out=left_out,
            cause=entry.cause if entry.dest is State.FAILED else None,
            failed=entry.dest is State.FAILED,
        )

    def _paragraph(self, entry: Entry, end: AnyLine | Torn | None) -> str:
        process = f" (process {self.pid})" if self.pid is not None else ""
        sentences = [f"Incarnation {self.number}{process}"]
        if entry.dest is State.FAILED and entry.cause is not None:
            sentences[0] += self._failure(entry.cause)
        elif entry.settled:
            sentences[0] += " was told to end, and ended as it was told to."
        elif isinstance(end, Closing):
            sentences[0] += f" was {entry.dest.value} when the run ended."
        else:
            sentences[0] += (
                f" was {entry.dest.value} at the last step that was written. The run goes on, or its supervisor was ended"
                " before it could write more."
            )
        sentences += self._requests()
        if entry.dest is State.FAILED and not entry.settled:
            sentences.append("The failure is not settled: its cause may be sharpened yet.")
        if self.gaps:
            sentences.append(f"{self.gaps} steps were not written down.")
        return " ".join(sentences)

    def _failure(self, cause: FailureCause) -> str:
        assert self.trigger is not None or cause is not None
        sure = "" if cause.certainty is Certainty.CERTAIN else "probably "
        text = f" failed: {sure}{cause.kind.value}, in phase {cause.phase.value}. {cause.sentence}"
        if cause.exit is not None:
            text += f" The process: {cause.exit}."
        if self.trigger is not None:
            text += f" It left {self.trigger.source.value} at step {self.trigger.seq}, by {self.trigger.event.trigger}."
        return text

    def _requests(self) -> list[str]:
        if not self.outcomes:
            return []
        parts = ", ".join(f"{count} {state.value}" for state, count in sorted(self.outcomes.items()))
        with_runner = f" ({self.lost_requests} of them with the runner)" if self.lost_requests else ""
        return [f"Requests that ended: {parts}{with_runner}."]


def explain(lines: Iterable[bytes], *, incarnation: int | None = None) -> Explanation:
    """What became of the last incarnation that failed, else of the last one; or of the one that is named.

    Raises:
        JournalError: for what is no journal, or one that does not hold that incarnation.
    """
    began: float | None = None
    story: _Story | None = None
    chosen: _Story | None = None
    end: AnyLine | Torn | None = None
    for item in read(lines):
        if isinstance(item, Torn):
            end = item
            continue
        line = end = item.line
        if isinstance(line, Gap) and story is not None:
            story.gaps += line.lost
        if not isinstance(line, Entry):
            continue
        began = line.event.at if began is None else began
        if story is None or line.incarnation > story.number:
            story = _Story(line.incarnation, began)
        if line.incarnation == story.number:
            story.take(line, line.event.at - began)
        failed = line.dest is State.FAILED
        if (
            incarnation is None and (failed or chosen is None or not _has_failed(chosen))
        ) or incarnation == story.number:
            chosen = story
    if chosen is None:
        raise JournalError(
            "There is no step in it." if incarnation is None else f"It has no incarnation {incarnation}."
        )
    return chosen.explained(end)


def _has_failed(story: _Story) -> bool:
    return story.entry is not None and story.entry.dest is State.FAILED


def _tells(entry: Entry) -> bool:
    return isinstance(entry.event, Spawned | Exited | Settled | DeadlineExpired | SupervisorLate) or (
        entry.event.is_command and (entry.event.trigger not in ("submit", "cancel"))
    )


def told(entry: Entry) -> str:
    """A step in words."""
    what = entry.event.trigger.replace("_", " ")
    if about := detail(entry.event):
        what += f" ({about})"
    if entry.dest is not entry.source:
        what += f"; {entry.source.value} → {entry.dest.value}"
    if entry.verdict in (Verdict.REFUSED, Verdict.IGNORED):
        what += f"; {entry.verdict.value}: {entry.why}"
    return what


def detail(event: AnyEvent) -> str:
    """What an event says besides its name, in a few words."""
    match event:
        case Spawned():
            return f"process {event.pid}"
        case Exited():
            return f"{event.exit}, by a signal of ours" if event.ours else str(event.exit)
        case Settled():
            return "given up: the process can't be killed" if event.unkillable else "reaped, and read to its end"
        case DeadlineExpired():
            return f"after {event.after_s:g} s" + (", the budget of the whole load" if event.budget else "")
        case Hung():
            return f"{'stopped' if event.stopped else 'silent'} for {event.silent_s:.1f} s"
        case SupervisorLate():
            return f"by {event.late_s:.1f} s"
        case LoadProgress():
            return f"{event.step} {event.done}/{event.total}" if event.total else event.step
        case RequestProgress():
            return f"request {event.request}, {event.done}/{event.total} tokens read"
        case RequestDone():
            return f"request {event.request}, {event.tokens} tokens, {event.reason}"
        case RequestErred():
            return f"request {event.request}: {event.kind.value}, {event.message}"
        case SpawnFailed():
            return event.error
        case ProtocolBroken():
            return event.detail
        case Load():
            return event.model
        case _:
            request = getattr(event, "request", None)
            return f"request {request}" if request is not None else ""


def remark(line: Gap | Overrun) -> str:
    """A line that is no step, in words."""
    if isinstance(line, Gap):
        return f"{line.lost} steps were not written down: {line.reason}"
    return f"the effects of step {line.seq} did not wait for it ({line.waited_s:.3f} s)"
