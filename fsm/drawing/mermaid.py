"""A picture as a Mermaid state diagram, which code hosts show as it is."""

from fsm.drawing.label import lines_of
from fsm.drawing.picture import Arrow, Overlay, Picture

# With the defaults the drawing is twice as wide as a page, and shown at half its size.
_HEAD = """\
---
config:
  themeVariables:
    fontSize: 13px
  state:
    nodeSpacing: 20
    rankSpacing: 20
    padding: 4
---
stateDiagram-v2
    direction TB
"""


def mermaid(picture: Picture, overlay: Overlay | None = None) -> str:
    """The picture, and over it what a run did."""
    lines = [f"    [*] --> {picture.initial}"]
    lines += [
        f"    {arrow.source} --> {arrow.dest} : {'<br>'.join(_label(arrow, overlay))}" for arrow in picture.arrows
    ]
    lines += [f"    {state} --> [*]" for state in picture.states if state in picture.final]
    lines += ["    classDef failure stroke:#b42318,color:#b42318"]
    lines += [f"    class {state} failure" for state in picture.states if state in picture.bad]
    if overlay is not None:
        visited = [state for state in picture.states if overlay.states.get(state)]
        lines += ["    classDef visited fill:#e8f0fe,stroke-width:3px"]
        lines += [f"    class {state} visited" for state in visited]
    return _HEAD + "\n".join(lines) + "\n"


def _label(arrow: Arrow, overlay: Overlay | None) -> list[str]:
    if overlay is not None:
        count = overlay.arrows.get((arrow.source, arrow.dest), 0)
        if not count:
            return [" "]
        failing = overlay.failing == (arrow.source, arrow.dest)
        return [f"{count} x"] + ([f"✗ {overlay.by}"] if failing else [])
    # A colon would end the label.
    return [line for label in arrow.labels for line in lines_of(label, f"({label.comes_from})")]
