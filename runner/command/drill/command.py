"""The command ``runner drill``."""

import importlib.util
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from runner.command import logs
from runner.command.console import write_json
from runner.command.drill.death_watch import DeathWatch
from runner.command.drill.expected import Moment
from runner.command.drill.life import Result, live
from runner.command.drill.plan import Case, plan
from runner.command.drill.table import Table, summary
from runner.command.exit_codes import ExitCode
from runner.command.failures import teller
from runner.command.run import run
from runner.journal.journal import Journal
from runner.models import resolve


class Backend(StrEnum):
    """The event loop under the supervisor."""

    ASYNCIO = "asyncio"
    TRIO = "trio"


def drill(
    context: typer.Context,
    faults: Annotated[
        list[str] | None,
        typer.Argument(metavar="FAULT", help="Faults, such as oom, crash or 'crash SIGSEGV'. All, if none."),
    ] = None,
    phase: Annotated[
        list[Moment] | None,
        typer.Option(metavar="PHASE", help=f"Only at this phase; can be repeated: {', '.join(Moment)}."),
    ] = None,
    backend: Annotated[Backend, typer.Option(help="Event loop to run the supervisor on.")] = Backend.ASYNCIO,
    every: Annotated[
        bool,
        typer.Option("--all", help="Also second readings of a fault: crash SIGABRT and SIGTERM, exit 3, oom rlimit."),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object at the end instead of the table.")
    ] = False,
    journal_file: Annotated[
        Path | None,
        typer.Option(
            "--journal",
            metavar="FILE",
            help="Write a journal of the first case there, and of the others beside it: FILE-2 and so on. None without it.",
        ),
    ] = None,
) -> None:
    """Bring faults on a runner, and check that each ends as it must.

    For every fault at every phase it applies to: a runner on the model tiny is started, the fault happens to it, and its end
    is held against what is expected: state, cause, one announcement, no process left. The exit code is 1 if one is not.
    """
    try:
        cases = plan(faults or (), phase or (), every=every)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="FAULT") from error
    if importlib.util.find_spec(backend.value) is None:
        raise typer.BadParameter(f"{backend.value} is not installed.", param_hint="--backend")
    if not context.obj:
        # Things go wrong on purpose here; the table tells of them.
        logs.silence()

    async def work() -> int:
        results = await _drill(cases, journal_file, quiet=json)
        ok = all(result.ok for result in results)
        if json:
            write_json({"ok": ok, "backend": backend.value, "cases": [_facts(result) for result in results]})
        else:
            typer.echo("\n" + summary(results))
            if journal_file is not None:
                typer.echo(f"What happened in the first case: runner journal explain {journal_file}")
        return ExitCode.OK if ok else ExitCode.RUNNER_FAILED

    raise typer.Exit(run(work, tell=teller(json=json), backend=backend.value))


async def _drill(cases: list[Case], journal_file: Path | None, *, quiet: bool) -> list[Result]:
    await resolve("tiny")
    results: list[Result] = []
    with DeathWatch() as watch, Table(cases, quiet=quiet) as table:
        for number, case in enumerate(cases, 1):
            table.begin(case)
            journal = Journal(path=_numbered(journal_file, number)) if journal_file is not None else None
            result = await live(case, watch, journal)
            table.add(result)
            results.append(result)
    return results


def _numbered(path: Path, number: int) -> Path:
    """A file a case: a journal holds one run."""
    return path if number == 1 else path.with_stem(f"{path.stem}-{number}")


def _facts(result: Result) -> dict[str, object]:
    return {"ok": result.ok, **{name: getattr(result, name) for name in Result.__struct_fields__}}
