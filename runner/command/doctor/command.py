"""The command ``runner doctor``: all checks one after the other, and how they are shown."""

import sys
from typing import Annotated, Any, cast

import typer

from runner.command.console import on_terminal, printable, write_json
from runner.command.doctor import machine, packages
from runner.command.doctor.checkup import Problem, Section
from runner.command.doctor.engine import engine
from runner.command.doctor.storage import storage
from runner.command.exit_codes import ExitCode
from runner.command.sizes import size_text
from runner.process.cgroup import find_tree

_BYTES = frozenset(
    {"total", "available", "free", "memory_size", "bytes", "max_recommended_working_set_size", "max_buffer_length"}
)
"""Facts that are sizes."""


def doctor(json: Annotated[bool, typer.Option("--json", help="Write one JSON object.")] = False) -> None:
    """Show whether a runner can run here, and what this machine can tell about a death.

    Versions, device, memory, cgroups, counters and models. The exit code is 1 if no runner can run; what to do is shown.
    """
    sections = examine()
    problems = [problem for section in sections for problem in section.problems]
    ok = not any(problem.fatal for problem in problems)
    if json:
        write_json({"ok": ok, **{section.name: section.facts for section in sections}, "problems": problems})
    else:
        _show(sections, problems, ok=ok)
    raise typer.Exit(ExitCode.OK if ok else ExitCode.RUNNER_FAILED)


def examine() -> list[Section]:
    """Make all checks."""
    tree = find_tree()
    group, why_not = machine.make_group(tree)
    try:
        trial = engine(group)
        own = group.oom_kills() if group is not None else None
    finally:
        if group is not None:
            group.remove()
    return [
        packages.versions(),
        packages.imports(trial.places),
        trial.section,
        machine.memory(),
        machine.evidence(tree, own=own, enters=trial.enters_group, why_not=why_not),
        machine.watch(),
        storage(),
    ]


def _show(sections: list[Section], problems: list[Problem], *, ok: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for section in sections:
        console.print(Text(section.name, style="bold"))
        width = max((len(name) for name in section.facts), default=0)
        for name, value in section.facts.items():
            console.print(Text(f"  {name.replace('_', ' '):{width}}  {printable(_words(name, value))}"))
    for problem in problems:
        style = "bold red" if problem.fatal else "yellow"
        console.print(Text.assemble((f"{'Problem' if problem.fatal else 'Note'}: ", style), printable(problem.what)))
        console.print(Text(f"  What to do: {printable(problem.remedy)}"))
    verdict = "A runner can run here." if ok else "No runner can run here."
    console.print(Text(verdict, style="bold green" if ok and on_terminal(sys.stdout) else "bold"))


def _words(name: str, value: object) -> str:
    if value is None:
        return "-"
    if name in _BYTES and isinstance(value, int):
        return size_text(value)
    if isinstance(value, list):
        return "\n    ".join(_item(item) for item in cast("list[Any]", value)) or "none"
    return str(value)


def _item(item: Any) -> str:
    if isinstance(item, dict):
        fields = cast("dict[str, object]", item)
        return ", ".join(_words(name, value) for name, value in fields.items())
    return str(item)
