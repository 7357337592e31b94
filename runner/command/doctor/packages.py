"""Which versions are installed, and whether ``fsm`` and ``runner`` are ours wherever they are imported."""

import importlib.metadata
import platform
import sys
from pathlib import Path

import fsm
import runner
from runner.command.doctor.checkup import Problem, Section

DISTRIBUTIONS = (
    "runner-fsm",
    "mlx",
    "mlx-lm",
    "anyio",
    "transitions",
    "msgspec",
    "loguru",
    "typer",
    "rich",
    "platformdirs",
    "pip",
)

OURS = {"fsm": Path(fsm.__file__).resolve().parent, "runner": Path(runner.__file__).resolve().parent}
"""Where the packages lie that this command is made of."""


def versions() -> Section:
    """Versions as the installed packages tell them; nothing is imported."""
    facts: dict[str, object] = {"python": platform.python_version(), "platform": platform.platform()}
    problems: list[Problem] = []
    for name in DISTRIBUTIONS:
        try:
            facts[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            facts[name] = None
            if name in ("mlx", "mlx-lm"):
                problems.append(
                    Problem(f"{name} is not installed.", "Install runner-fsm with its dependencies.", fatal=True)
                )
    if sys.platform not in ("linux", "darwin"):
        problems.append(Problem(f"{sys.platform} is not supported.", "Use Linux or macOS.", fatal=True))
    return Section("versions", facts, tuple(problems))


def imports(of_worker: dict[str, str | None]) -> Section:
    """Whether ours are found, in the worker and in the directory that this command was called in.

    Args:
        of_worker: for each package the directory or file in which a worker finds it.
    """
    facts: dict[str, object] = {}
    problems: list[Problem] = []
    for name, place in OURS.items():
        found = of_worker.get(name)
        facts[name] = str(place)
        if found is not None and Path(found) != place:
            what = f"A worker would import {name} from {found}, not from {place}."
            problems.append(
                Problem(
                    what, "Remove the other package, or install runner-fsm in an environment of its own.", fatal=True
                )
            )
        problems += [
            Problem(
                f"The distribution {owner} installs a package {name} too.",
                f"Uninstall {owner}, or install runner-fsm in an environment of its own.",
                fatal=False,
            )
            for owner in importlib.metadata.packages_distributions().get(name, ())
            if owner != "runner-fsm"
        ]
        problems += [
            Problem(
                f"{shadow} hides our {name} from Python programs that are started in this directory.",
                "Start them elsewhere, or with `python -P`. The command `runner` and its workers are not affected.",
                fatal=False,
            )
            for shadow in (Path.cwd() / f"{name}.py", Path.cwd() / name / "__init__.py")
            if shadow.exists() and shadow.resolve().parent != place
        ]
    return Section("imports", facts, tuple(problems))
