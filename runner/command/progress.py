"""How far the fetching and the loading of a model are, on standard error: a bar on a terminal, else a line now and then."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from runner.command.console import on_terminal
from runner.command.sizes import size_text
from runner.models.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

WORDS = {
    "waiting": "Waiting for another process that prepares this model",
    "download": "Fetching the model",
    "verify": "Checking what was fetched",
    "unpack": "Unpacking the model",
    "convert": "Converting the model",
    "importing": "Importing mlx-lm",
    "weights": "Reading the weights",
    "warm-up": "Warming up",
}
"""What a person reads for each step on the way to a loaded model."""

_FETCHING = frozenset({"waiting", "download", "verify", "unpack", "convert"})
_IN_BYTES = frozenset({"download", "verify", "unpack"})


class Display(Protocol):
    """Shows one step after another, while its block lasts."""

    def __enter__(self) -> "Display": ...

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def show(self, progress: Progress) -> None:
        """Take note of a step and how far it is. Neither blocks for long nor raises."""
        ...


def display() -> Display:
    """The display that fits standard error."""
    return BarDisplay() if on_terminal(sys.stderr) else LineDisplay()


class LineDisplay:
    """A line when a step of the fetching begins. Loading takes a moment and is told by the log, if that is wanted."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __enter__(self) -> "LineDisplay":
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def show(self, progress: Progress) -> None:
        """Write a line if this step is new."""
        if progress.step in self._told or progress.step not in _FETCHING:
            return
        self._told.add(progress.step)
        total = f" ({size_text(progress.total)})" if progress.total and progress.step in _IN_BYTES else ""
        sys.stderr.write(f"{WORDS[progress.step]}{total}\n")


class BarDisplay:
    """A bar that goes away when everything is done."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._step = ""

    def __enter__(self) -> "BarDisplay":
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar, self._step = None, ""

    def show(self, progress: Progress) -> None:
        """Move the bar."""
        if self._bar is None:
            self._bar = _new_bar()
            self._bar.add_task("", amount="")
            self._bar.start()
        task = self._bar.task_ids[0]
        change = self._bar.update if progress.step == self._step else self._bar.reset
        self._step = progress.step
        change(
            task,
            description=WORDS.get(progress.step, progress.step),
            completed=progress.done,
            total=progress.total or None,
            amount=_amount(progress),
        )


def _new_bar() -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    # Standard output is the answer's, whatever else is shown.
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
    )


def _amount(progress: Progress) -> str:
    if not progress.total:
        return ""
    if progress.step in _IN_BYTES:
        return f"{size_text(progress.done)} of {size_text(progress.total)}"
    return f"{progress.done}/{progress.total}"
