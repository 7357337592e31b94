"""uvicorn's log goes where ours goes."""

import logging

from runner.silence import logger

_LEVELS = {"info": "DEBUG", "warning": "INFO"}
"""What uvicorn says of itself, and of a client that speaks no HTTP, is news for those alone who asked for the log."""


class _Forward(logging.Handler):
    """Hands a record on."""

    def emit(self, record: logging.LogRecord) -> None:
        """Hand it on, at the level it has for us."""
        level = _LEVELS.get(record.levelname.lower(), record.levelname)
        logger.opt(exception=record.exc_info).log(level, "{}", record.getMessage())


def forward() -> None:
    """From now on, in this process."""
    log = logging.getLogger("uvicorn")
    log.handlers = [_Forward()]
    log.propagate = False
    log.setLevel(logging.INFO)
