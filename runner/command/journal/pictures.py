"""``runner journal diagram`` and ``timeline``: a run as a picture."""

import shutil
import sys
from enum import StrEnum
from typing import Annotated

import typer

from fsm.drawing.timeline import timeline_svg, timeline_text
from fsm.journal.course import course
from fsm.journal.timeline import timeline as timed
from runner.command.console import on_terminal
from runner.command.diagram import put
from runner.command.exit_codes import ExitCode
from runner.command.journal.opened import File, Output, reading
from runner.diagrams.files import MACHINES, Format, written
from runner.diagrams.svg import NoEngine


class Picture(StrEnum):
    """How the machine is drawn."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


class Bars(StrEnum):
    """How time is drawn."""

    TEXT = "text"
    SVG = "svg"


def diagram(
    file: File,
    form: Annotated[Picture, typer.Option("--format", help="How it is written.")] = Picture.MERMAID,
    incarnation: Annotated[
        int | None, typer.Option(metavar="N", help="Of this one only, instead of the whole run.")
    ] = None,
    output: Output = None,
) -> None:
    """Draw the machine with this run's path on it: how often each arrow was taken, and the one that led to the failure."""
    overlay = reading(file, lambda lines: course(lines, incarnation=incarnation))
    try:
        _put(written(MACHINES["lifecycle"], Format(form.value), overlay), output)
    except NoEngine as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.REFUSED) from error


def timeline(
    file: File,
    form: Annotated[Bars, typer.Option("--format", help="How it is written.")] = Bars.TEXT,
    most: Annotated[int, typer.Option(min=2, metavar="N", help="Most requests to show: the first and the last.")] = 60,
    output: Output = None,
) -> None:
    """Draw who was in which state and for how long: the runner, and each request."""
    run = reading(file, lambda lines: timed(lines, most=most))
    width = shutil.get_terminal_size().columns if on_terminal(sys.stdout) else 100
    _put(timeline_svg(run) if form is Bars.SVG else timeline_text(run, width), output)


def _put(text: str, output: Output) -> None:
    try:
        put(text, output)
    except OSError as error:
        raise typer.BadParameter(f"{error.filename}: {error.strerror}.", param_hint="--output") from error
