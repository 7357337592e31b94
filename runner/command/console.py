"""Terminals and what may be written to them."""

import os
import sys
from typing import Any, TextIO

import msgspec


def on_terminal(stream: TextIO) -> bool:
    """Whether a person sees what is written to ``stream`` (or types what is read from it). A closed stream is none."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def printable(text: str) -> str:
    """Text of a child as a terminal can safely show it: control characters, escape sequences among them, are spelt out."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else ascii(character)[1:-1] for character in text
    )


def write_json(value: Any) -> None:
    """Write one line of JSON to standard output, at once."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def drop_output() -> None:
    """Nobody reads standard output any more: let what is still in its buffer go nowhere, without a word."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
