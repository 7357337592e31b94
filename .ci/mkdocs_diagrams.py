"""Brings the generated pictures, which stand beside the documentation, into what MkDocs builds."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

DIAGRAMS = Path(__file__).parent.parent / "diagrams"


def on_files(files: Files, config: Any) -> Files:
    """Add each picture as ``diagrams/NAME.svg``."""
    for path in sorted(DIAGRAMS.glob("*.svg")):
        files.append(File.generated(config, f"diagrams/{path.name}", abs_src_path=str(path)))
    return files
