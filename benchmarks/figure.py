"""What a benchmark gives back: one figure, beside its reference and what it is to reach."""

from typing import Literal

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    what: str
    ours: float
    unit: str
    reference: float
    reference_is: str
    """What the reference is, in a few words."""
    reach: float
    better: Literal["lower", "higher"]
    detail: str = ""

    @property
    def ratio(self) -> float:
        """Ours over the reference."""
        return self.ours / self.reference

    @property
    def held(self) -> bool:
        """Whether the figure to reach is reached."""
        return self.ours <= self.reach if self.better == "lower" else self.ours >= self.reach
