"""Whether a process that is there still runs: the rule for a missed beat. No clock and no I/O; the poll brings both."""

import msgspec

from runner.settings import Settings


class Silence(msgspec.Struct, frozen=True):
    """The finding that a process no longer runs."""

    seconds: float
    """Since its last beat."""
    stopped: bool
    """Whether it was seen stopped."""


class Liveness:
    """Remembers beats and polls of one child and tells when it counts as hung."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last_beat: float | None = None
        self._stopped_polls = 0
        self._cpu_at_beat: float | None = None

    def beat(self, now: float) -> None:
        """A message came: whatever it says, the process runs."""
        self._last_beat = now
        self._cpu_at_beat = None

    def poll(self, now: float, *, stopped: bool, cpu_seconds: float | None) -> Silence | None:
        """One poll. Before the first beat there is nothing to miss; the start deadline watches that."""
        if self._last_beat is None:
            return None
        self._stopped_polls = self._stopped_polls + 1 if stopped else 0
        silent = now - self._last_beat
        if self._stopped_polls >= self._settings.stopped_polls and silent > self._settings.beat_interval:
            return Silence(silent, stopped=True)
        if self._cpu_at_beat is None:
            self._cpu_at_beat = cpu_seconds
        busy = cpu_seconds is not None and self._cpu_at_beat is not None and cpu_seconds > self._cpu_at_beat
        bound = self._settings.busy_hung_after if busy else self._settings.hung_after
        return Silence(silent, stopped=stopped) if silent > bound else None
