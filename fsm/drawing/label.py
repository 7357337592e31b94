"""The words on an arrow, as lines short enough to be read in a drawing as wide as a page.

A trigger has a line of its own, and a guard that does not fit beside its trigger has its own lines below: so no comma of a guard
is taken for the next trigger. Each format says how an origin is written and how lines are indented.
"""

import textwrap

from fsm.drawing.picture import Label

_WIDTH = 26  # characters without the indentation; four such labels side by side fit a page of 900 pixels


def lines_of(label: Label, heading: str, indent: str = "") -> list[str]:
    """The origin as ``heading``, and below it the triggers; on one line if there is one trigger and it fits."""
    (first, *others) = label.triggers
    if not others and len(f"{heading} {first}") <= _WIDTH:
        return [f"{heading} {first}"]
    return [heading, *(line for trigger in label.triggers for line in _trigger(trigger, indent))]


def _trigger(text: str, indent: str) -> list[str]:
    name, bracket, guard = text.partition(" [")
    if not bracket or len(text) <= _WIDTH:
        return [indent + text]
    wrapped = textwrap.wrap(f"[{guard}", _WIDTH, break_on_hyphens=False, break_long_words=False)
    return [indent + name, *(indent * 2 + line for line in wrapped)]
