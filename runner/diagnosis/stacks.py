"""Python stacks in a log: what a hung process wrote when it was asked where it is."""

LINES = 40
"""Lines kept: the stacks of a few threads, main thread and reader among them."""

_HEAD = "(most recent call first)"
"""How each thread's part of a dump by ``faulthandler`` begins, after the thread's number."""


def stacks_in(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The last dump in a log, from its first thread on; empty if there is none."""
    heads = [number for number, line in enumerate(lines) if _HEAD in line]
    if not heads:
        return ()
    start = heads[-1]
    # One dump is one block: between its threads stand only frames, and those are indented.
    for head in reversed(heads[:-1]):
        if any(not line.startswith("  ") and _HEAD not in line for line in lines[head:start]):
            break
        start = head
    return lines[start : start + LINES]
