"""What a user wants of restarts. Values alone; what comes of them is in ``decision.py``."""

import math
from typing import Literal, get_args

import msgspec

from runner.settings import SettingsError

When = Literal["never", "on_failure", "always"]
"""Which ends are followed by a restart. A shutdown that was asked for never is."""


class RestartPolicy(msgspec.Struct, frozen=True):
    """Whether a runner that failed is started again by itself, after what time, and how often.

    Of ``when``: ``never`` leaves it to ``RunnerSupervisor.restart``. ``on_failure`` restarts after every failure but a clean end
    (the worker ended with code 0, or was interrupted from the keyboard or by a hang-up); ``always`` after these too. Failures that
    another attempt can't mend (a model that is missing, a full disk; ``fsm.failure.INCURABLE``) are not followed by one.

    The wait before the n-th restart in a row is ``backoff * factor ** (n - 1)``, at most ``longest``, more or less by ``jitter``.

    Raises:
        SettingsError: for a value that makes no sense.
    """

    when: When = "never"
    limit: int | None = 5
    """Restarts within ``window``; at the failure after that it gives up. ``None`` never gives up."""
    window: float = 300.0
    """Seconds over which restarts are counted."""
    backoff: float = 0.5
    """Seconds before the first restart in a row."""
    factor: float = 2.0
    """By which each wait is longer than the one before."""
    longest: float = 30.0
    """Seconds that a wait is at most, jitter included."""
    jitter: float = 0.2
    """Part of a wait by which it is drawn shorter or longer, from 0 to 1: runners that failed together do not return together."""
    healthy_after: float = 60.0
    """Seconds in ``Running`` after which what came before is forgotten: the next failure is the first one again."""
    quarantine_after: int | None = 2
    """Deaths of the runner that a request may be under way in before it is refused; ``None`` refuses none."""

    def __post_init__(self) -> None:
        if self.when not in get_args(When):
            raise SettingsError(f"when must be one of {', '.join(get_args(When))}; {self.when!r} was given.")
        for name in ("window", "backoff", "longest", "healthy_after"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 < value < math.inf:
                raise SettingsError(f"{name} must be a positive number of seconds; {value!r} was given.")
        if not _is_number(self.factor) or not 1 <= self.factor < math.inf:
            raise SettingsError(f"factor must be 1 or more; {self.factor!r} was given.")
        if not _is_number(self.jitter) or not 0 <= self.jitter <= 1:
            raise SettingsError(f"jitter must be from 0 to 1; {self.jitter!r} was given.")
        for name in ("limit", "quarantine_after"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise SettingsError(f"{name} must be a whole number from 1 on, or None; {value!r} was given.")
        if self.longest < self.backoff:
            raise SettingsError(
                f"longest ({self.longest:g} s) must not be shorter than backoff ({self.backoff:g} s), the first wait."
            )

    def wait(self, attempt: int, draw: float) -> float:
        """Seconds before a restart.

        Args:
            attempt: which one in a row it is, from 1.
            draw: from 0 (shortest) to below 1 (longest), for the jitter.
        """
        # The exponent is bounded: beyond this even the smallest factor that matters is over any ``longest``.
        exponent = min(attempt - 1, 1000)
        try:
            wait = self.backoff * self.factor**exponent
        except OverflowError:
            wait = self.longest
        wait = min(wait, self.longest)
        return min(wait * (1 + self.jitter * (2 * draw - 1)), self.longest)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
