"""``runner diagram``: the machines as they are installed, in any format."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fsm.drawing import Overlay
from runner.command.console import drop_output
from runner.command.exit_codes import ExitCode
from runner.diagrams import files
from runner.diagrams.files import MACHINES, PICTURES, Format
from runner.diagrams.svg import NoEngine


class Machine(StrEnum):
    """Which one."""

    LIFECYCLE = "lifecycle"
    REQUEST = "request"


def diagram(
    machine: Annotated[Machine, typer.Option(help="Of a runner, or of a request.")] = Machine.LIFECYCLE,
    form: Annotated[Format, typer.Option("--format", help="How it is written.")] = Format.MERMAID,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of to standard output."),
    ] = None,
    journal: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw over it what the run in this journal did (lifecycle only)."),
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write all formats of both machines into a directory.")
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Compare a directory with what would be written; exit with 1 if they differ."),
    ] = None,
) -> None:
    """Draw the machine, from its table and nothing else.

    SVG needs an engine: pip install 'runner-fsm[docs]'.
    """
    if check is not None and write is not None:
        raise typer.BadParameter("Compare or write, one of them.", param_hint="--check and --write")
    try:
        if check is not None:
            raise typer.Exit(_check(check))
        if write is not None:
            for path in files.write(write):
                typer.echo(f"wrote {path}")
            return
        overlay = None
        if journal is not None:
            if machine is not Machine.LIFECYCLE or form not in PICTURES:
                raise typer.BadParameter("A run is drawn over a picture of the lifecycle.", param_hint="--journal")
            overlay = _overlay(journal)
        put(files.written(MACHINES[machine.value], form, overlay), output)
    except NoEngine as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.REFUSED) from error
    except OSError as error:
        raise typer.BadParameter(f"{error.filename}: {error.strerror}.") from error


def put(text: str, output: Path | None) -> None:
    """Write text to a file, or to standard output: in both the same bytes, whatever the locale.

    Raises:
        OSError: if it can't be written.
        typer.Exit: if nobody reads standard output any more.
    """
    if output is not None:
        output.write_bytes(text.encode())
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        drop_output()
        raise typer.Exit(ExitCode.BROKEN_PIPE) from None
    except OSError as error:
        drop_output()
        raise OSError(error.errno, error.strerror, "standard output") from error


def _overlay(journal: str) -> Overlay:
    from runner.command.journal.opened import overlay_of

    return overlay_of(journal)


def _check(directory: Path) -> ExitCode:
    checked = files.check(directory)
    for difference in checked.differences:
        put(f"{difference.name}: {difference.what}\n" + (f"{difference.diff}\n" if difference.diff else ""), None)
    if checked.without_svg:
        typer.echo(f"SVG was not compared: {checked.without_svg}.", err=True)
    if checked.differences:
        typer.echo(f"To bring it up to date: runner diagram --write {directory}", err=True)
        return ExitCode.RUNNER_FAILED
    typer.echo(f"{directory} is what the machine says.")
    return ExitCode.OK
