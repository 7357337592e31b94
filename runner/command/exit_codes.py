"""The exit codes of every command, and the words in which the help tells of them."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    """It did what was asked."""
    RUNNER_FAILED = 1
    """The runner failed. For ``drill``, ``doctor`` and ``diagnose --batch``: something is not as it should be."""
    USAGE = 2
    """An option or argument makes no sense."""
    REFUSED = 3
    """The model can't be had or used, or a command was refused."""
    REQUEST_FAILED = 4
    """This request failed; the runner did not."""
    UNKILLABLE = 5
    """A process could not be ended, and is left behind."""
    INTERRUPTED = 130
    """Ctrl-C (128 and the number of SIGINT)."""
    BROKEN_PIPE = 141
    """Nobody reads the output any more (128 and the number of SIGPIPE), as in ``runner ... | head -1``."""
    TERMINATED = 143
    """SIGTERM (128 and its number)."""


EPILOG = (
    "Exit codes: 0 done; 1 the runner failed, or a check did not pass; 2 wrong usage; 3 refused, or the model can't be used;"
    " 4 the request failed; 5 a process could not be killed; 130 Ctrl-C; 141 nobody reads the output; 143 SIGTERM."
)
