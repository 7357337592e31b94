"""``runner models``: which models are on this machine, and the fetching and removing of them."""

import sys
from pathlib import Path
from typing import Annotated

import anyio.to_thread
import msgspec
import typer

from runner.command.console import on_terminal, write_json
from runner.command.exit_codes import EPILOG
from runner.command.failures import teller
from runner.command.progress import display
from runner.command.run import run
from runner.command.sizes import size_text
from runner.models import CachedModel, check, list_models, pull, remove

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]

commands = typer.Typer(
    no_args_is_help=True,
    help="List, fetch and remove models on this machine.",
    epilog=EPILOG,
    pretty_exceptions_enable=False,
)


@commands.command("list", epilog=EPILOG)
def list_(json: Json = False) -> None:
    """List the models on this machine."""
    models = list_models()
    if json:
        write_json([{**msgspec.to_builtins(model, enc_hook=str), "kind": model.kind.value} for model in models])
    elif not models:
        sys.stderr.write("There are no models here yet. `runner models pull smollm2` fetches one.\n")
    elif on_terminal(sys.stdout):
        _show_table(models)
    else:
        for model in models:
            sys.stdout.write(f"{model.name}\t{model.kind.value}\t{size_text(model.bytes)}\t{model.path}\n")


@commands.command("pull", epilog=EPILOG)
def pull_(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="smollm2, tiny, a hub id, or a .gguf file to convert.")],
    json: Json = False,
) -> None:
    """Fetch, convert or make a model, so that it is here when it is wanted, and check it. A hub model is brought up to date."""

    async def work() -> int:
        with display() as shown:
            path = await pull(model, shown.show)
        await anyio.to_thread.run_sync(check, path)
        _tell({"name": model, "path": str(path)}, f"{model} is in {path}", json=json)
        return 0

    raise typer.Exit(run(work, tell=teller(json=json)))


@commands.command("rm", epilog=EPILOG)
def rm(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names as `runner models list` shows them.")],
    json: Json = False,
) -> None:
    """Remove models from this machine."""

    async def work() -> int:
        for name in names:
            freed = await remove(name)
            _tell(
                {"name": name, "freed_bytes": freed}, f"{name} is removed; {size_text(freed)} are free again", json=json
            )
        return 0

    raise typer.Exit(run(work, tell=teller(json=json)))


def _tell(fields: dict[str, object], line: str, *, json: bool) -> None:
    if json:
        write_json(fields)
    else:
        sys.stdout.write(line + "\n")


def _show_table(models: list[CachedModel]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "kind", "size", "path")
    for model in models:
        table.add_row(
            Text(model.name), model.kind.value, size_text(model.bytes), Text(_short(model.path), overflow="fold")
        )
    Console().print(table)


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
