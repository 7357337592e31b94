"""The settings of a runner: spans in seconds, sizes in bytes, each checked when the settings are made.

A deadline counts from the last progress, not from the beginning, unless it says so. How they act on each other stands with
each of them.
"""

import math

import msgspec

from fsm import Deadline

GIB = 1024**3


class SettingsError(ValueError):
    """A setting has a value that makes no sense. Says which, what was given, and what would do."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a runner is watched and ended.

    Raises:
        SettingsError: for a span that is not a positive number, and for spans that contradict each other.
    """

    start_timeout: float = 30.0
    """From the start of the process to its hello."""
    load_timeout: float = 60.0
    """Without progress of the load."""
    load_budget: float | None = None
    """For the whole load; ``None`` sets no bound as long as it makes progress."""
    prefill_timeout: float = 60.0
    """Without progress of any request while one is in prefill."""
    decode_timeout: float = 30.0
    """Without progress of any request while one is in decode. Suspended while all of these wait for their readers."""
    cancel_timeout: float = 10.0
    """From a cancel to the worker's answer."""
    unload_timeout: float = 10.0
    """From the unload to the worker's answer, after the requests have ended."""
    poll_interval: float = 1.0
    """Between two liveness polls. A death is noticed by the kernel, not by these."""
    hung_after: float = 10.0
    """Without a beat, for a process that uses no CPU."""
    stopped_polls: int = 3
    """Polls in a row that see the process stopped (state T) before it counts as hung."""
    busy_hung_after: float = 30.0
    """Without a beat, for a process that uses CPU: native code can keep the interpreter from beating for a while."""
    beat_interval: float = 0.5
    """Between two beats of the worker."""
    drain_timeout: float = 5.0
    """For requests under way, at an unload or a shutdown. Skipped if there are none."""
    ask_timeout: float = 3.0
    """For the worker to let go of its memory and end by itself."""
    terminate_timeout: float = 5.0
    """From SIGTERM to SIGKILL, plus one second for every 4 GiB resident: SIGKILL of a process with much wired memory has
    been seen to leak it until reboot on macOS."""
    kill_timeout: float = 5.0
    """From SIGKILL until the process is reported as unkillable."""
    settle_timeout: float = 0.25
    """For reading what a dead process left behind. A descendant of it can write for ever; the dead process can't."""
    stacks_timeout: float = 0.25
    """For a hung process to write its stacks before it is killed."""
    concurrency: int = 4
    """Requests that the worker serves at a time; the others are queued."""
    max_requests: int = 1024
    """Requests accepted and not ended, queued ones included."""
    fast_synch: bool = True
    """MLX's fast synchronisation on Metal (``MLX_METAL_FAST_SYNCH``)."""
    memory_limit: int | None = None
    """Bytes for the child, in a memory cgroup of its own. Where that is not permitted, the start fails and says so."""

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or value is None:
                continue
            if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
                raise SettingsError(f"{field.name} must be a positive number; {value!r} was given.")
        if self.stacks_timeout >= self.kill_timeout:
            raise SettingsError(
                f"stacks_timeout ({self.stacks_timeout:g}) must be less than kill_timeout ({self.kill_timeout:g}):"
                " the stacks come before the kill, and within its span."
            )
        for name in ("stopped_polls", "concurrency", "max_requests", "memory_limit"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int):
                raise SettingsError(f"{name} must be a whole number; {value!r} was given.")
        if self.hung_after <= self.beat_interval:
            raise SettingsError(
                f"hung_after ({self.hung_after:g} s) must be longer than beat_interval ({self.beat_interval:g} s), "
                "or every worker counts as hung."
            )
        if self.busy_hung_after < self.hung_after:
            raise SettingsError(
                f"busy_hung_after ({self.busy_hung_after:g} s) must not be shorter than hung_after ({self.hung_after:g} s)."
            )
        if self.load_budget is not None and self.load_budget < self.load_timeout:
            raise SettingsError(
                f"load_budget ({self.load_budget:g} s) must not be shorter than load_timeout ({self.load_timeout:g} s)."
            )

    def span(self, deadline: Deadline, resident: int | None = None) -> float:
        """How long a deadline is, in seconds; ``resident`` is the child's resident size in bytes, if it is known."""
        span: float = getattr(self, f"{deadline.value}_timeout")
        if deadline is Deadline.TERMINATE and resident is not None:
            return span + resident // (4 * GIB)
        return span
