"""The restarts of one runner, told by its records alone: what is due, what was given up, whether a model is wanted.

Pure like the machine: time comes in with the records. Who waits until a restart is due and begins it is in ``restarter.py``.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from fsm import Load, Record, Restart, Settled, Shutdown, State, Unload, Verdict
from runner.restart.decision import Due, GiveUp, History, decide
from runner.restart.policy import RestartPolicy

UNKILLABLE = "The process could not be ended, and no other is started beside it."


class RestartStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Where a runner stands with its restarts."""

    state: Literal["none", "due", "gave_up"]
    """``none``: nothing is to come. ``due``: the next incarnation begins in ``due_in`` seconds. ``gave_up``: see ``sentence``."""
    due_in: float | None = None
    """Seconds until a restart begins; 0 while it waits for the clean-up to end. ``None`` if none is due."""
    attempts: int = 0
    """Restarts that the policy made within its window."""
    limit: int | None = None
    """How many it makes within its window; ``None`` for any number."""
    sentence: str = ""
    """Why no more come, once it gave up."""


class DueRestart(msgspec.Struct, frozen=True):
    """One restart that is to come."""

    incarnation: int
    """Number of the incarnation that failed."""
    at: float
    """When it is to begin, in seconds of the supervisor's clock."""
    attempt: int
    """Which one in a row it is, from 1."""


class Course:
    """Sees every record, and decides at each end what follows.

    Args:
        policy: what is wanted.
        draw: gives numbers from 0 to below 1, for the jitter.
    """

    def __init__(self, policy: RestartPolicy, draw: Callable[[], float]) -> None:
        self.policy = policy
        self.due: DueRestart | None = None
        """The restart that is to come."""
        self.gave_up = ""
        """Why none will come; empty while that is not so."""
        self.load_wanted = False
        """Whether a model was asked for, and neither unloaded nor shut down since."""
        self._draw = draw
        self._history = History()
        self._own = False
        self._incarnation = 0
        self._asked_to_end = False
        self._running_at: float | None = None
        self._failed_at = 0.0

    def see(self, record: Record) -> Due | GiveUp | None:
        """Take a record. Gives what was decided by it, if anything was."""
        if record.incarnation != self._incarnation:
            self._incarnation = record.incarnation
            self._asked_to_end, self._running_at = False, None
        if record.verdict in (Verdict.REFUSED, Verdict.IGNORED):
            return None
        self._command(record)
        if record.dest is State.RUNNING and record.source is not State.RUNNING:
            self._running_at = record.at
        if record.dest is State.FAILED and record.source is not State.FAILED:
            self._failed_at = record.at
        if isinstance(record.event, Settled) and record.settled and record.dest is State.FAILED:
            return self._ended(record, record.event)
        return None

    def begin(self) -> None:
        """The restart that is due begins now: the next record of a restart is its."""
        self._own = True

    def give_up(self, sentence: str) -> None:
        """Nothing more is tried, for a reason that no record tells."""
        self.due, self.gave_up = None, sentence

    def status(self, now: float) -> RestartStatus:
        """Where it stands at ``now``, in seconds of the supervisor's clock."""
        state = "due" if self.due is not None else "gave_up" if self.gave_up else "none"
        return RestartStatus(
            state=state,
            due_in=max(0.0, self.due.at - now) if self.due is not None else None,
            attempts=len(self._history.within(self.policy.window, now)),
            limit=self.policy.limit if self.policy.when != "never" else 0,
            sentence=self.gave_up,
        )

    def _command(self, record: Record) -> None:
        match record.event:
            case Load():
                self.load_wanted, self.gave_up = True, ""
            case Unload():
                self.load_wanted = False
            case Shutdown():
                # In Failed too: whoever ends it does not want it back.
                self._asked_to_end, self.load_wanted, self.due = True, False, None
            case Restart() if self._own:
                self._history = self._history.with_one(record.at, self.policy.window)
                self._own, self.due = False, None
            case Restart():
                # Somebody took it in hand: it begins anew, and without a model, as restart() says.
                self._history, self.load_wanted = History(), False
                self.due, self.gave_up = None, ""
            case _:
                pass

    def _ended(self, record: Record, settled: Settled) -> Due | GiveUp | None:
        if self._asked_to_end:
            return None
        if self._running_at is not None and self._failed_at - self._running_at >= self.policy.healthy_after:
            self._history = History()
        decision = decide(self.policy, self._history, record.cause, now=record.at, draw=self._draw())
        if isinstance(decision, Due) and settled.unkillable:
            decision = GiveUp(UNKILLABLE)
        if isinstance(decision, Due):
            self.due = DueRestart(record.incarnation, record.at + decision.wait, decision.attempt)
        elif decision is not None:
            self.gave_up = decision.sentence
        return decision
