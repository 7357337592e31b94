"""A journal that a command was given, and what it says when it can't be read."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from fsm.drawing import Overlay
from fsm.journal import JournalError, SealMismatch
from fsm.journal.course import course
from runner.command.exit_codes import ExitCode
from runner.journal.reading import NoSuchJournal, lines_of

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="The journal: a file, `last`, the beginning of a run's id, or `-` for standard input."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, one object a line.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of to standard output.")
]

T = TypeVar("T")


def reading(name: str, work: Callable[[Iterator[bytes]], T]) -> T:
    """Do something with the lines of a journal.

    Raises:
        typer.BadParameter: if there is none to be read.
        typer.Exit: with 1, if it is none or a damaged one; which line, and why, is told.
    """
    try:
        return work(lines_of(name))
    except NoSuchJournal as error:
        raise typer.BadParameter(str(error), param_hint="FILE") from error
    except SealMismatch as error:
        raise typer.BadParameter(error.reason, param_hint="--journal-key") from error
    except JournalError as error:
        sys.stderr.write(f"{name}: {error}\nWhat is wrong with it in full: runner journal verify {name}\n")
        raise typer.Exit(ExitCode.RUNNER_FAILED) from error


def overlay_of(name: str) -> Overlay:
    """What the run in a journal did to the machine."""
    return reading(name, course)
