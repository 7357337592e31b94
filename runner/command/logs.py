"""Where the log of a command goes: to standard error, as text or as JSON lines. The library itself is silent until this."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

# From there, so that the library's own silence is set before this ends it, whatever was imported first.
from runner.silence import logger

if TYPE_CHECKING:
    from loguru import Message

LEVELS = ("WARNING", "INFO", "DEBUG")
"""By the number of ``-v``."""

_TEXT = "<dim>{time:HH:mm:ss.SSS}</dim> <level>{level: <8}</level> {message}"


class LogFormat(StrEnum):
    """The form of a line of the log."""

    TEXT = "text"
    JSON = "json"


def configure(verbosity: int, form: LogFormat) -> None:
    """Let the library and the command log to standard error."""
    logger.remove()
    level = LEVELS[min(verbosity, len(LEVELS) - 1)]
    if form is LogFormat.JSON:
        logger.add(_write_json, level=level)
    else:
        # The supervisor logs changes of state and the announcement of a failure. A command tells of both in its own words,
        # so they are for those who asked for the log.
        unasked: dict[str | None, str | int | bool] = {"": True, "runner.supervisor": verbosity > 0}
        # Not the stream itself: while a progress bar is shown, standard error is one that writes above the bar.
        logger.add(_write, level=level, format=_TEXT, filter=unasked, colorize=sys.stderr.isatty())
    logger.enable("runner")


def silence() -> None:
    """Let the library be silent again, for a command that makes things go wrong on purpose."""
    logger.disable("runner")


def _write(message: "Message") -> None:
    sys.stderr.write(message)


def _write_json(message: "Message") -> None:
    record = message.record
    line = {
        "time": record["time"].isoformat(),
        "level": record["level"].name,
        "name": record["name"],
        "message": record["message"],
        **record["extra"],
    }
    sys.stderr.write(msgspec.json.encode(line, enc_hook=str).decode() + "\n")
