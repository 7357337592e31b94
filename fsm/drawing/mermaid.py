"""A picture as a Mermaid state diagram, which code hosts show as it is."""

from fsm.drawing.picture import Arrow, Overlay, Picture

_WRAP = 28
"""Characters on a line of a label; longer ones are not read."""


def mermaid(picture: Picture, overlay: Overlay | None = None) -> str:
    """The picture, and over it what a run did."""
    lines = ["stateDiagram-v2", "    direction LR", f"    [*] --> {picture.initial}"]
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
    return "\n".join(lines) + "\n"


def _label(arrow: Arrow, overlay: Overlay | None) -> list[str]:
    if overlay is not None:
        count = overlay.arrows.get((arrow.source, arrow.dest), 0)
        if not count:
            return [" "]
        failing = overlay.failing == (arrow.source, arrow.dest)
        return [f"{count} x"] + ([f"✗ {overlay.by}"] if failing else [])
    # A colon would end the label.
    return [line for label in arrow.labels for line in wrapped(f"({label.comes_from})", label.triggers)]


def wrapped(first: str, triggers: tuple[str, ...], indent: str = "") -> list[str]:
    """Triggers behind the word that says where they come from, on lines that can be read; all but the first indented."""
    lines = [first]
    for number, trigger in enumerate(triggers):
        text = trigger + ("," if number + 1 < len(triggers) else "")
        for word in text.split(" "):
            if len(lines[-1]) + 1 + len(word) <= _WRAP or lines[-1] == indent:
                lines[-1] += f" {word}"
            else:
                lines.append(indent + word)
    return lines
