"""``runner journal verify`` and ``head``: is this what happened?"""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from fsm.journal import Torn, Verification, read
from fsm.journal import verify as verified
from runner.command import options
from runner.command.console import on_terminal, write_json
from runner.command.exit_codes import ExitCode
from runner.command.journal.opened import File, Json, reading
from runner.journal.reading import NoSuchJournal, size_of

NOT_DERIVED = 3
"""Exit code for a chain that is whole and of which the steps could not be derived."""


def verify(
    file: File,
    head: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="A head that was noted elsewhere: finds a cut end and a chain made anew."),
    ] = None,
    key: options.JournalKey = None,
    json: Json = False,
) -> None:
    """Check the chain, the order, and whether this machine would have made these steps of these events.

    Exit codes: 0 intact, 1 broken, 2 wrong usage, 3 the chain is whole and the steps were made with other rules.
    """
    if head is not None and not (len(head) == 64 and set(head) <= set("0123456789abcdef")):
        raise typer.BadParameter("A head is 64 digits of 0-9 and a-f.", param_hint="--head")
    secret = options.key_in(key)
    result = reading(file, lambda lines: verified(_watched(lines, file), key=secret, head=head))
    if json:
        write_json(result)
    else:
        sys.stdout.write(_told(result, with_head=head is not None))
    raise typer.Exit(_code(result))


def head(file: File) -> None:
    """Print the head: the hash of the last line. Note it where nobody can change it, for `verify --head`."""

    def last(lines: Iterator[bytes]) -> str:
        found = ""
        for item in read(lines):
            if not isinstance(item, Torn):
                found = item.unsealed.hash
        return found

    found = reading(file, last)
    if not found:
        raise typer.BadParameter("There is no whole line in it.", param_hint="FILE")
    sys.stdout.write(found + "\n")


def _code(result: Verification) -> int:
    if not result.intact:
        return ExitCode.RUNNER_FAILED
    return ExitCode.OK if result.derived else NOT_DERIVED


def _told(result: Verification, *, with_head: bool) -> str:
    lines = [
        f"run {result.run}: {result.steps} steps in {result.lines} lines,"
        f" {_count(result.files, 'file')}, {_count(result.incarnations, 'incarnation')}"
    ]
    if result.problem is not None:
        problem = result.problem
        where = f"line {problem.number}" if problem.number else "at the end"
        step = f", step {problem.seq}" if problem.seq is not None else ""
        lines += [f"BROKEN at {where}{step}: {problem.what}" if problem.number else f"BROKEN: {problem.what}"]
        lines += ["What stands before it is as it was written."] if problem.number > 1 else []
        return "\n".join(lines) + "\n"
    lines.append(f"head {result.head}")
    if result.gaps:
        lines.append(
            f"{result.lost} steps in {_count(result.gaps, 'gap')} were not written down, as the journal says itself"
        )
    if result.overruns:
        lines.append(f"the effects of {_count(result.overruns, 'step')} did not wait for the disk")
    if result.torn is not None:
        lines.append(
            f"the last line was never finished ({result.torn.bytes} bytes): its writer was ended, or is writing"
        )
    elif not result.closed:
        lines.append("the run did not end in order: its supervisor was ended, or it goes on")
    if with_head:
        lines.append(f"the given head is in it, with {_count(result.after_head or 0, 'line')} after it")
    if result.derived:
        lines.append("intact: the chain is whole, and this machine makes these steps of these events")
    else:
        lines.append("the chain is whole; it was written with other rules, so the steps were NOT derived")
    return "\n".join(lines) + "\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _watched(lines: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The lines, with a bar on a terminal: a million of them take a minute."""
    try:
        total = size_of(name)
    except NoSuchJournal:
        total = None
    if not on_terminal(sys.stderr):
        yield from lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("verifying"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        for line in lines:
            yield line
            bar.advance(task, len(line))
