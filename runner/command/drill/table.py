"""The table of a drill, a line a case, as it goes; and the bar below it on a terminal."""

import statistics
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from runner.command.console import on_terminal
from runner.command.drill.life import Result
from runner.command.drill.plan import Case
from runner.faults import FaultKind

if TYPE_CHECKING:
    from rich.progress import Progress

_HEAD = ("fault", "phase", "state", "cause", "certainty", "told", "ms", "from", "left", "verdict")
_WIDTHS = (0, 8, 8, 17, 9, 4, 8, 7, 4, 7)
_RIGHT = frozenset({"told", "ms", "left"})

LEGEND = """\
told: announcements of the end, which must be 1.
ms:   to the announcement; from the child's death, as the kernel told of it to the
      supervisor or to an independent watch (the earlier of both), or from the
      trigger that ended the runner, the ending of its process included.
left: processes of the child that are still there."""


class Table:
    """Writes results to standard output as they come. Its block shows a bar, where somebody can see one."""

    def __init__(self, cases: Sequence[Case], *, quiet: bool) -> None:
        self._widths = (max(len(case.name) for case in cases), *_WIDTHS[1:])
        self._quiet = quiet
        self._bar: Progress | None = _bar(len(cases)) if on_terminal(sys.stderr) else None

    def __enter__(self) -> "Table":
        if self._bar is not None:
            self._bar.start()
        if not self._quiet:
            self._line(_HEAD, "bold")
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, case: Case) -> None:
        """A case begins."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=f"{case.name} at {case.moment.value}")

    def add(self, result: Result) -> None:
        """A case has ended."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])
        if self._quiet:
            return
        span = "-" if result.milliseconds is None else f"{result.milliseconds:.1f}"
        left = "?" if result.left_over is None else str(len(result.left_over))
        cells = (
            result.fault,
            result.phase.value,
            result.state.value,
            result.kind or "-",
            result.certainty or "-",
            str(result.announcements),
            span,
            result.counted_from or "-",
            left,
            "ok" if result.ok else "FAIL",
        )
        self._line(cells, "" if result.ok else "bold red")
        if not result.ok:
            self._write(f"    expected {result.expected}; {'; '.join(result.problems)}. {result.sentence}", "red")

    def _line(self, cells: Sequence[str], style: str) -> None:
        parts = [
            cell.rjust(width) if name in _RIGHT else cell.ljust(width)
            for name, cell, width in zip(_HEAD, cells, self._widths, strict=True)
        ]
        self._write("  ".join(parts).rstrip(), style)

    def _write(self, line: str, style: str) -> None:
        if on_terminal(sys.stdout):
            from rich.console import Console
            from rich.text import Text

            console = self._bar.console if self._bar is not None else Console()
            console.print(Text(line, style=style), soft_wrap=True)
        else:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


def summary(results: Sequence[Result]) -> str:
    """What a drill comes to, in a few lines."""
    bad = sum(not result.ok for result in results)
    lines = [
        f"{len(results)} case{'' if len(results) == 1 else 's'}, {'all as expected' if not bad else f'{bad} NOT as expected'}."
    ]
    for name, wanted in (
        ("SIGKILL to the announcement", f"{FaultKind.CRASH} SIGKILL"),
        ("The same with a grandchild that holds the output", FaultKind.GRANDCHILD.value),
    ):
        spans = [
            result.milliseconds for result in results if result.fault == wanted and result.milliseconds is not None
        ]
        if spans:
            lines.append(
                f"{name}: median {statistics.median(spans):.1f} ms, longest {max(spans):.1f} ms, of {len(spans)}."
            )
    return "\n".join((*lines, LEGEND))


def _bar(total: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    # The rows go to standard output. If that is the same terminal, they must be written through the bar's console.
    console = Console() if on_terminal(sys.stdout) else Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
    )
    bar.add_task("", total=total)
    return bar
