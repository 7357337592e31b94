"""``runner journal list``: the runs of this user, the newest first."""

import sys
from typing import Annotated

import msgspec
import typer

from runner.command.console import on_terminal, write_json
from runner.command.journal.opened import Json
from runner.command.sizes import size_text
from runner.journal import place


def list_runs(
    most: Annotated[int, typer.Option("--most", min=1, metavar="N", help="Most runs to show.")] = 20,
    json: Json = False,
) -> None:
    """List the runs in the default place, the newest first."""
    runs = place.runs()
    if json:
        for run in runs[:most]:
            write_json(msgspec.to_builtins(run, enc_hook=str))
        return
    if not runs:
        sys.stdout.write(f"There is no journal in {place.state_directory()}.\n")
        return
    rows = [
        (
            run.run,
            f"{run.began.astimezone():%Y-%m-%d %H:%M:%S}",
            size_text(run.bytes),
            "live" if run.live else "",
            str(run.path),
        )
        for run in runs[:most]
    ]
    head = ("run", "began", "size", "", "file")
    if on_terminal(sys.stdout):
        from rich.console import Console
        from rich.table import Table

        table = Table(*head, box=None)
        for row in rows:
            table.add_row(*row)
        Console().print(table, soft_wrap=True)
    else:
        widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
        for row in (head, *rows):
            sys.stdout.write(
                "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
            )
    if len(runs) > most:
        sys.stdout.write(f"{len(runs) - most} older ones are not shown (--most).\n")
