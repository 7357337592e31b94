"""The command itself: which commands there are, what holds for all of them, and how wrong usage is told."""

import sys
from typing import Annotated, Any

import typer

from runner import __version__
from runner.command import journal, logs, models
from runner.command.chat import chat
from runner.command.console import on_terminal
from runner.command.diagnose import diagnose
from runner.command.diagram import diagram
from runner.command.doctor.command import doctor
from runner.command.drill.command import drill
from runner.command.exit_codes import EPILOG
from runner.command.generate import generate
from runner.command.serve import serve


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"runner-fsm {__version__}\n")
        raise typer.Exit


def _common(
    context: typer.Context,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, show_default=False, help="Log more: -v changes of state, -vv everything."
        ),
    ] = 0,
    log_format: Annotated[
        logs.LogFormat, typer.Option("--log-format", help="Form of the log, which goes to standard error.")
    ] = logs.LogFormat.TEXT,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Keep a language-model process alive or dead on purpose."""
    context.obj = verbose
    logs.configure(verbose, log_format)


def _app() -> typer.Typer:
    # Boxes and colours are for terminals; in a pipe the help is plain text.
    app = typer.Typer(
        name="runner",
        callback=_common,
        no_args_is_help=True,
        add_completion=False,
        epilog=EPILOG,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if on_terminal(sys.stdout) else None,
    )
    for command in (generate, chat, serve, drill, doctor, diagnose, diagram):
        app.command(epilog=EPILOG)(command)
    app.add_typer(models.commands, name="models")
    app.add_typer(journal.commands, name="journal")
    return app


def run(arguments: list[str]) -> int:
    """Run the command and give its exit code. Wrong usage is told here."""
    command: Any = typer.main.get_command(_app())
    try:
        command.main(arguments, prog_name="runner")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
