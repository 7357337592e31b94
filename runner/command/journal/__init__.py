"""``runner journal``: what was written down of a run, for those who were not there."""

import typer

from runner.command.exit_codes import EPILOG
from runner.command.journal.listing import list_runs
from runner.command.journal.pictures import diagram, timeline
from runner.command.journal.show import show
from runner.command.journal.tell import diff, explain, replay
from runner.command.journal.verify import head, verify

commands = typer.Typer(help="Read, verify and draw what was written down of a run.", no_args_is_help=True)
commands.command("list", epilog=EPILOG)(list_runs)
for command in (show, explain, timeline, diagram, verify, head, replay, diff):
    commands.command(epilog=EPILOG)(command)
