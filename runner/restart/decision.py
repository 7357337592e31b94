"""What a policy makes of one failure. Pure: the times, the count and the luck of the draw come in."""

import msgspec

from fsm import FailureCause, Kind
from fsm.failure import INCURABLE
from runner.restart.policy import RestartPolicy

CLEAN = frozenset({Kind.CLEAN_EXIT, Kind.INTERRUPTED})
"""Ends that nobody asked the supervisor for and that are no crash. ``on_failure`` leaves them, ``always`` does not."""


class History(msgspec.Struct, frozen=True):
    """The restarts so far that count."""

    times: tuple[float, ...] = ()
    """When they began, in seconds; those that lie further back than the window do not matter."""
    in_a_row: int = 0
    """How many there were since the last healthy spell, for the length of the next wait."""

    def within(self, window: float, now: float) -> tuple[float, ...]:
        """Those of the last ``window`` seconds."""
        return tuple(time for time in self.times if time > now - window)

    def with_one(self, at: float, window: float) -> "History":
        """With one more, which begins at ``at``."""
        return History((*self.within(window, at), at), self.in_a_row + 1)


class Due(msgspec.Struct, frozen=True):
    """A restart is to come."""

    wait: float
    """Seconds from the failure."""
    attempt: int
    """Which one in a row it is, from 1."""


class GiveUp(msgspec.Struct, frozen=True):
    """No restart will come, although the policy is there for that."""

    sentence: str


def decide(
    policy: RestartPolicy, history: History, cause: FailureCause | None, *, now: float, draw: float
) -> Due | GiveUp | None:
    """What follows a failure; ``None`` where the policy leaves it to the user.

    Args:
        policy: what is wanted.
        history: the restarts before.
        cause: why it failed; settled.
        now: when it did, in seconds.
        draw: from 0 to below 1, for the jitter.
    """
    if policy.when == "never" or (cause is not None and cause.kind in CLEAN and policy.when != "always"):
        return None
    if cause is not None and cause.kind in INCURABLE:
        return GiveUp(f"A restart does not mend {cause.kind.value}: {INCURABLE[cause.kind]} {cause.remedy}")
    recent = len(history.within(policy.window, now))
    if policy.limit is not None and recent >= policy.limit:
        last = (
            ""
            if cause is None
            else f" The last failure: {cause.kind.value} ({cause.certainty.value}). {cause.sentence}"
        )
        times = "restart" if recent == 1 else "restarts"
        return GiveUp(f"{recent} {times} within {policy.window:g} s did not help, and no more are made.{last}")
    attempt = history.in_a_row + 1
    return Due(policy.wait(attempt, draw), attempt)
