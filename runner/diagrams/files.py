"""All pictures as files of one directory: what should be in it, and how it differs from what is."""

import difflib
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import msgspec

from fsm.drawing import LIFECYCLE, REQUEST, Drawn, Overlay, dot, markdown, matrix, mermaid, picture, scxml
from runner.diagrams.svg import ENGINE, PINNED, engine_version, svg

MACHINES = {drawn.name: drawn for drawn in (LIFECYCLE, REQUEST)}
"""By name."""


class Format(StrEnum):
    """How a machine can be written."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    MARKDOWN = "markdown"
    MATRIX = "matrix"
    SCXML = "scxml"


PICTURES = frozenset({Format.MERMAID, Format.DOT, Format.SVG})
"""Those that a run can be drawn over."""

_NAMES: dict[Format, str] = {
    Format.MERMAID: "{}.mmd",
    Format.DOT: "{}.dot",
    Format.SVG: "{}.svg",
    Format.MARKDOWN: "{}.md",
    Format.MATRIX: "{}-matrix.md",
    Format.SCXML: "{}.scxml",
}

_LISTINGS: dict[Format, Callable[[Drawn], str]] = {
    Format.MARKDOWN: markdown,
    Format.MATRIX: matrix,
    Format.SCXML: scxml,
}


def written(drawn: Drawn, form: Format, overlay: Overlay | None = None) -> str:
    """A machine in a format; over a picture, what a run did.

    Raises:
        NoEngine: for SVG, if no engine is installed.
    """
    if form in _LISTINGS:
        return _LISTINGS[form](drawn)
    drawing = picture(drawn)
    if form is Format.MERMAID:
        return mermaid(drawing, overlay)
    text = dot(drawing, overlay)
    return svg(text) if form is Format.SVG else text


def files(*, with_svg: bool) -> dict[str, str]:
    """Every file of the directory by name, without the SVG files if no engine is to be asked."""
    found = {
        _NAMES[form].format(name): written(drawn, form)
        for name, drawn in MACHINES.items()
        for form in Format
        if with_svg or form is not Format.SVG
    }
    return found | {"README.md": _readme()}


class Difference(msgspec.Struct, frozen=True):
    """A file that is not as the code says."""

    name: str
    what: str
    """``differs``, ``missing`` or ``unknown``."""
    diff: str = ""


class Checked(msgspec.Struct, frozen=True):
    """What a comparison came to."""

    differences: tuple[Difference, ...]
    without_svg: str = ""
    """Why the SVG files were not compared; empty if they were."""


def check(directory: Path) -> Checked:
    """Compare a directory with what the code says. SVG files only where the pinned engine is.

    Raises:
        OSError: if it can't be read.
    """
    version = engine_version()
    without = "" if version == PINNED else f"{ENGINE} {PINNED} is not installed ({version or 'none is'})"
    wanted = files(with_svg=not without)
    there = {path.name: path for path in directory.iterdir() if path.is_file()}
    known = set(wanted) | {_NAMES[Format.SVG].format(name) for name in MACHINES}
    differences = [Difference(name, "unknown") for name in sorted(set(there) - known)]
    for name, text in wanted.items():
        if name not in there:
            differences.append(Difference(name, "missing"))
        elif (present := there[name].read_bytes()) != (said := text.encode()):
            differences.append(Difference(name, "differs", _diff(name, present, said)))
    return Checked(tuple(differences), without)


def _diff(name: str, present: bytes, said: bytes) -> str:
    """What differs, line by line. Bytes that no text file has are spelt out, and so is another end of line."""
    there, here = (
        [line.replace("\r", "\\r") for line in data.decode(errors="backslashreplace").split("\n")]
        for data in (present, said)
    )
    return "\n".join(difflib.unified_diff(there, here, f"{name} (there)", f"{name} (the machine)", lineterm="", n=1))


def write(directory: Path) -> list[Path]:
    """Write all files anew; give those that changed.

    Raises:
        NoEngine: if no engine for SVG is installed.
        OSError: if it can't be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    changed: list[Path] = []
    for name, text in files(with_svg=True).items():
        path = directory / name
        data = text.encode()
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)
            changed.append(path)
    return changed


def _readme() -> str:
    parts = [
        "# The machines, drawn\n",
        "Generated from the tables in `fsm/lifecycle.py` and `fsm/requests.py` by `runner diagram --write diagrams`; do not",
        "edit. `runner diagram --check diagrams` tells what differs, and CI runs it.\n",
    ]
    for name, drawn in MACHINES.items():
        parts += [
            f"## {drawn.title}\n",
            f"![{drawn.title}]({name}.svg)\n",
            "Arrows carry where an event comes from, its trigger, and in brackets the guard. Red leads to a failure, a double",
            "border is an end. What stays, is ignored or refused is in the listings.\n",
            f"As [Mermaid]({name}.mmd), [DOT]({name}.dot), [SCXML]({name}.scxml); [every row]({name}.md);"
            f" [every state and event]({name}-matrix.md).\n",
            "```mermaid",
            written(drawn, Format.MERMAID) + "```\n",
        ]
    return "\n".join(parts)
