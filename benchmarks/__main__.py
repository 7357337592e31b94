"""``python -m benchmarks``: measure all, print one table. ``--json`` for the figures alone; names choose some of them."""

import argparse
import sys

import anyio
import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks import death, events, journal, tokens
from benchmarks.figure import Figure

ALL = {"death": death.measure, "events": events.measure, "journal": journal.measure, "tokens": tokens.measure}


def number(value: float) -> str:
    """A figure as a person reads it."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def show(figures: list[Figure]) -> None:
    """Print the table."""
    # In a pipe there is no width to keep to, and a table that is folded can't be read.
    console = Console() if sys.stdout.isatty() else Console(width=150)
    table = Table("what", "ours", "reference", "ratio", "to reach", "held")
    for figure in figures:
        sign = "<" if figure.better == "lower" else ">"
        table.add_row(
            f"{figure.what}\n[dim]{figure.detail}[/dim]",
            f"{number(figure.ours)} {figure.unit}",
            f"{number(figure.reference)} {figure.unit}\n[dim]{figure.reference_is}[/dim]",
            number(figure.ratio),
            f"{sign} {number(figure.reach)}",
            "yes" if figure.held else "no",
        )
    console.print(table)


async def measure(names: list[str]) -> list[Figure]:
    """Run those benchmarks, one after another."""
    figures: list[Figure] = []
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr)
        figures += await ALL[name]()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *ALL], help="which ones; all if none is named")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    figures = anyio.run(measure, options.names or list(ALL))
    if options.json:
        print(msgspec.json.encode(figures).decode())
    else:
        show(figures)


if __name__ == "__main__":
    main()
