"""Whether, where and how a runner's journal is kept."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from fsm.journal import Keeper, Seal
from runner import __version__
from runner.journal import place
from runner.journal.writer import JournalWriter

MIB = 1024 * 1024


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """Where a runner writes down each step, so that it can be verified and replayed afterwards.

    Raises:
        ValueError: for an empty key, or a size below 64 KiB.
    """

    path: Path | None = None
    """The file; ``None`` for one in the default place (``runner journal list`` shows it). It must not be there yet."""
    key: bytes | None = None
    """Seals the lines with HMAC-SHA-256 instead of SHA-256."""
    text: bool = False
    """Whether prompts, answers and the arguments of exceptions are written down too."""
    max_bytes: int = 64 * MIB
    """Size from which on the run goes on in another file."""

    def __post_init__(self) -> None:
        Seal(self.key)
        if self.max_bytes < MIB // 16:
            raise ValueError(f"max_bytes must be at least {MIB // 16}; {self.max_bytes} was given.")

    async def begin(self, settings: Mapping[str, bool | int | float | str | None]) -> JournalWriter:
        """Make the file and be ready to write. A disk that refuses is told in the log; the runner goes on without.

        Raises:
            JournalRefused: if the file is there already.
        """
        began, run = datetime.now(UTC), secrets.token_hex(8)
        keeper = Keeper(run=run, package=__version__, settings=settings, seal=Seal(self.key), text=self.text)
        writer = JournalWriter(
            keeper,
            self.path or place.path_for(run, began),
            max_bytes=self.max_bytes,
            text=self.text,
            prepare=place.prepare if self.path is None else None,
        )
        await writer.begin()
        return writer
