"""Errors about a journal's file that concern the caller. Whatever happens to it while it is written does not stop a runner."""

from pathlib import Path


class JournalRefused(Exception):
    """A journal can't be begun there. Nothing was started.

    Attributes:
        path: the file.
        reason: why, and what to do instead.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
