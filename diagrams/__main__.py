"""``python -m diagrams``, from the top of the project: write the pictures anew from the tables."""

from pathlib import Path

from fsm import lifecycle, requests
from fsm.mermaid import mermaid


def main() -> None:
    """Write one Mermaid file a machine beside this one."""
    for name, table in (("lifecycle", lifecycle.TABLE), ("request", requests.TABLE)):
        Path(__file__).with_name(f"{name}.mmd").write_text(mermaid(table))


if __name__ == "__main__":
    main()
