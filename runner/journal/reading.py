"""A run's journal as a stream of lines, by path, by the id of its run, or ``last``; all its files one after another."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from runner.journal import place

LONGEST = 64 * 1024 * 1024
"""Bytes of a line that is still read; longer ones are no line of ours."""


class NoSuchJournal(Exception):
    """There is no journal of that name, or it can't be read. The text says what would do."""


def find(name: str) -> Path:
    """The first file of the journal that is meant: a path, ``last``, or the beginning of a run's id.

    Raises:
        NoSuchJournal: if there is none, or more than one.
    """
    path = Path(name)
    if path.is_dir():
        raise NoSuchJournal(f"{name} is a directory. Name a file; `runner journal list` shows those of this user.")
    if path.exists():
        return path
    runs = place.runs()
    if name == "last" and runs:
        return runs[0].path
    found = [run for run in runs if run.run.startswith(name)] if name else []
    if len(found) == 1:
        return found[0].path
    if found:
        raise NoSuchJournal(f"{len(found)} runs begin with {name}. Write more of the id.")
    raise NoSuchJournal(
        f"There is no file {name}, and no run of that id. `runner journal list` shows those of this user."
    )


def lines_of(name: str) -> Iterator[bytes]:
    """The lines of a journal, from memory for one; ``-`` reads them from standard input.

    Raises:
        NoSuchJournal: if it can't be read, a file of it is missing, or it has a line that is too long to be one.
    """
    if name == "-":
        yield from _lines(sys.stdin.buffer, "standard input")
        return
    first = find(name)
    files = place.files_of(first)
    for number, path in enumerate(files):
        if number and path.name != f"{first.name}.{number}":
            raise NoSuchJournal(f"{first}.{number} is missing, and {path} is there.")
        try:
            with path.open("rb") as file:
                yield from _lines(file, str(path))
        except OSError as error:
            raise NoSuchJournal(f"{path} can't be read: {error.strerror}.") from error


def size_of(name: str) -> int | None:
    """Bytes of all files of a journal; ``None`` where nobody knows."""
    return None if name == "-" else sum(path.stat().st_size for path in place.files_of(find(name)))


def _lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise NoSuchJournal(f"{name} has a line of more than {LONGEST} bytes, so it is no journal.")
        yield line
