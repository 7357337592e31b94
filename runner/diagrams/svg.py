"""From Graphviz's language to SVG, by ``graphviz-pure``: a wheel, and the same picture on every platform.

Layout differs between engines and between versions of one, so that pictures are compared only where the pinned one is.
"""

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ENGINE = "graphviz-pure"
PINNED = "0.2.2"
"""Version by which the checked-in pictures were made."""


class NoEngine(Exception):
    """SVG was asked for, and nothing that makes it is installed."""

    def __init__(self) -> None:
        super().__init__(f"SVG needs {ENGINE} {PINNED}: pip install 'runner-fsm[docs]'. Mermaid and DOT need nothing.")


def engine_version() -> str | None:
    """Version of the engine that is installed, or ``None``."""
    try:
        return metadata.version(ENGINE)
    except metadata.PackageNotFoundError:
        return None


def svg(dot: str) -> str:
    """A picture as SVG.

    Raises:
        NoEngine: if none is installed.
        subprocess.CalledProcessError: if it refuses the picture.
    """
    beside = shutil.which(ENGINE, path=str(Path(sys.executable).parent))
    program = beside or shutil.which(ENGINE)
    if program is None:
        raise NoEngine
    done = subprocess.run([program, "-Tsvg"], input=dot.encode(), capture_output=True, check=True)
    return done.stdout.decode()
