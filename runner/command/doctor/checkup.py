"""What a check finds: facts to show, and problems with their remedies."""

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """Something that is not as it should be."""

    what: str
    remedy: str
    fatal: bool
    """Whether no runner can run here because of it."""


class Section(msgspec.Struct, frozen=True):
    """What one check found."""

    name: str
    facts: dict[str, object]
    """What was seen; ``None`` where this machine does not tell."""
    problems: tuple[Problem, ...] = ()
