"""A Sphinx extension: the machine as it is installed, in a consumer's own documentation.

In ``conf.py``: ``extensions = ["runner.diagrams.sphinx"]``. In a page::

    .. fsm-machine:: lifecycle
       :format: svg

Formats are ``svg`` (needs the extra ``docs``), ``mermaid`` and ``dot`` (as text), ``markdown`` and ``matrix`` (as tables).
Where no SVG can be shown (LaTeX, plain text, manual pages), the table of all rows stands in its place.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx import addnodes
from sphinx.application import Sphinx

from runner import __version__
from runner.diagrams.files import MACHINES, Format, written
from runner.diagrams.svg import NoEngine

_WIDEST = 40  # characters; what is longer is wrapped by the writers that have no other measure

_FORMATS = tuple(form.value for form in Format if form is not Format.SCXML)


def _format(argument: str) -> Format:
    return Format(directives.choice(argument, _FORMATS))


def _machine(argument: str) -> str:
    return directives.choice(argument, tuple(MACHINES))


class MachineDirective(Directive):
    """``.. fsm-machine::`` with the name of a machine."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Callable[[str], Any]] | None] = {"format": _format}

    def run(self) -> list[nodes.Node]:
        """The nodes that show it."""
        try:
            drawn = MACHINES[_machine(self.arguments[0])]
            form = self.options.get("format", Format.SVG)
            text = written(drawn, form)
        except (ValueError, NoEngine) as error:
            raise self.error(str(error)) from error
        match form:
            case Format.SVG:
                return [_picture(text), addnodes.only("", _table(written(drawn, Format.MARKDOWN)), expr="not html")]
            case Format.MARKDOWN | Format.MATRIX:
                return [_table(text)]
            case _:
                return [nodes.literal_block(text, text, language="none")]


def _picture(svg: str) -> nodes.raw:
    """A picture as wide as it is, or as the page. What stands before it belongs to a file."""
    inside = svg[svg.index("<svg") :]
    return nodes.raw("", inside.replace("<svg", '<svg style="max-width: 100%; height: auto"', 1), format="html")


def _table(markdown: str) -> nodes.table:
    """A listing as a table of its own, so that no Markdown parser is needed."""
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in markdown.splitlines())
    widths = (max(len(line) for cell in column for line in _lines(cell)) for column in zip(head, *rows, strict=True))
    group = nodes.tgroup("", *(nodes.colspec(colwidth=min(width, _WIDEST)) for width in widths), cols=len(head))
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *(_row(row) for row in rows))
    return nodes.table("", group)


def _row(cells: list[str]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *_paragraphs(cell)) for cell in cells))


def _paragraphs(cell: str) -> list[nodes.Node]:
    return [nodes.paragraph("", line) for line in _lines(cell)]


def _lines(cell: str) -> list[str]:
    return cell.replace("`", "").replace("**", "").split("<br>")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("fsm-machine", MachineDirective)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
