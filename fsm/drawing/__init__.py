"""Pictures and listings of the two machines, made from their tables and nothing else. Text in, text out.

A picture is made once (``picture``) and written in a format (a module each). The same text comes out on every machine.
"""

from fsm.drawing.dot import dot
from fsm.drawing.markdown import markdown
from fsm.drawing.matrix import matrix
from fsm.drawing.mermaid import mermaid
from fsm.drawing.picture import LIFECYCLE, REQUEST, Arrow, Drawn, Label, Overlay, Picture, picture
from fsm.drawing.scxml import scxml

__all__ = [
    "LIFECYCLE",
    "REQUEST",
    "Arrow",
    "Drawn",
    "Label",
    "Overlay",
    "Picture",
    "dot",
    "markdown",
    "matrix",
    "mermaid",
    "picture",
    "scxml",
]
