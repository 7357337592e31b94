"""What is known about a process that failed, as values.

Here live the frozen structs that the supervisor, the command line and the tests fill in. What must not live here:
reading any of it from the system, and any judgement of it (``diagnose`` judges).
"""

from typing import Literal, get_args

import msgspec

from fsm.failure import Exit, Phase

Platform = Literal["linux-cpu", "macos-metal", "linux-cuda", "other"]
"""Where the process ran. It decides the meaning of a few signal numbers and which memory an allocation came from."""

PLATFORMS: tuple[Platform, ...] = get_args(Platform)


class Counters(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The kernel's counts of OOM kills at one moment. ``None`` means that the count could not be read."""

    own: int | None = None
    """In the child's own cgroup, which holds nothing but the child and its descendants."""
    shared: int | None = None
    """In counters that other processes share: the cgroups above, or the whole machine."""


class Need(msgspec.Struct, frozen=True):
    """What the worker said that it was about to allocate, against what was free. Both in bytes."""

    what: str
    bytes: int
    headroom: int

    @property
    def exceeds(self) -> bool:
        """Whether more was needed than was free."""
        return self.bytes > self.headroom


class Report(msgspec.Struct, frozen=True):
    """What the worker itself reported before it ended."""

    exception: str
    """The exception's class, with its module where that is not ``builtins``."""
    message: str
    traceback: tuple[str, ...] = ()


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that bears on why a process failed. What is left out is unknown."""

    exit: Exit = Exit()
    phase: Phase = Phase.UNKNOWN
    platform: Platform = "other"
    stderr: tuple[str, ...] = ()
    """Lines in the order in which they were written."""
    before: Counters = Counters()
    """The counters when the child was started."""
    after: Counters = Counters()
    """The counters once the child was gone."""
    sent_signals: tuple[int, ...] = ()
    """Signals that the supervisor itself sent to the child. They explain an exit, they never name a cause."""
    child_alive: bool = False
    need: Need | None = None
    """The last need that was reported."""
    report: Report | None = None

    @property
    def own_rise(self) -> int | None:
        """OOM kills in the child's own cgroup during its life; ``None`` if unknown."""
        return _rise(self.before.own, self.after.own)

    @property
    def shared_rise(self) -> int | None:
        """OOM kills in the shared counters during the child's life; ``None`` if unknown."""
        return _rise(self.before.shared, self.after.shared)


def _rise(before: int | None, after: int | None) -> int | None:
    if before is None or after is None:
        return None
    # A counter that fell belongs to a cgroup that was made anew; that says nothing about this child.
    return max(after - before, 0)
