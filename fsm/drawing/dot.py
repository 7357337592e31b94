"""A picture in Graphviz's language."""

from fsm.drawing.label import lines_of
from fsm.drawing.picture import Arrow, Overlay, Picture

_INK, _RED, _PALE, _BLUE = "#1f2937", "#b42318", "#9ca3af", "#e8f0fe"
_SPACE = "\N{NO-BREAK SPACE}"


def dot(picture: Picture, overlay: Overlay | None = None) -> str:
    """The picture, and over it what a run did."""
    lines = [
        f"digraph {picture.name} {{",
        "    rankdir=TB; nodesep=0.25; ranksep=0.3; bgcolor=white; forcelabels=true;",
        f'    label="{picture.title}"; labelloc=t; fontname="Arial"; fontsize=16;',
        '    node [shape=box, style="rounded,filled", fillcolor=white, fontname="Arial", fontsize=17, margin="0.2,0.1"];',
        '    edge [fontname="Arial", fontsize=13, arrowsize=0.8];',
        '    "" [shape=circle, style=filled, fillcolor="#1f2937", width=0.15, height=0.15, label=""];',
        f'    "" -> {picture.initial} [color="{_INK}"];',
    ]
    for state in picture.states:
        color = _RED if state in picture.bad else _INK
        parts = [f'color="{color}"', f'fontcolor="{color}"']
        if state in picture.final:
            parts.append("peripheries=2")
        if overlay is not None and (count := overlay.states.get(state, 0)):
            parts += [f'fillcolor="{_BLUE}"', "penwidth=2", f'label="{state}\\n{count} steps"']
        lines.append(f"    {state} [{', '.join(parts)}];")
    lines += [_arrow(picture, arrow, overlay) for arrow in picture.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _arrow(picture: Picture, arrow: Arrow, overlay: Overlay | None) -> str:
    color = _RED if arrow.dest in picture.bad else _INK
    parts: list[str] = []
    lines: list[str] = []
    if overlay is None:
        lines = [line for label in arrow.labels for line in lines_of(label, f"{label.comes_from}:", _SPACE * 3)]
    elif count := overlay.arrows.get((arrow.source, arrow.dest), 0):
        failing = overlay.failing == (arrow.source, arrow.dest)
        lines = [f"{count} x", *([overlay.by] if failing else [])]
        parts.append(f"penwidth={4 if failing else 2}")
    else:
        color = _PALE
        parts.append("style=dashed")
    # The space keeps the words off the line that they belong to.
    text = "".join(f"{_SPACE}{line}\\l" for line in lines)
    parts = [f'label="{text}"', f'color="{color}"', f'fontcolor="{color}"', *parts]
    return f"    {arrow.source} -> {arrow.dest} [{', '.join(parts)}];"
