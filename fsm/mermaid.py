"""A machine as a Mermaid state diagram, from its table and nothing else. Text in, text out: the same on every machine."""

from typing import Any

from fsm.table import Table

_FINAL = {"Failed", "Shutdown", "Done", "Cancelled"}
_WRAP = 3
"""Triggers on a line of a label: more are not read."""


def mermaid(table: Table[Any]) -> str:
    """The moves of a table: one arrow for each pair of states, labelled with all triggers that lead along it.

    Rows that stay, ignore or refuse are not drawn; they are in the table's own listing.
    """
    edges: dict[tuple[str, str], list[str]] = {}
    for row in table.rows:
        for source in row.source:
            if row.dest is not None and row.dest != source:
                labels = edges.setdefault((source, row.dest), [])
                labels += [trigger for trigger in row.trigger if trigger not in labels]
    lines = ["stateDiagram-v2", "    direction LR", f"    [*] --> {table.states[0]}"]
    order = list(table.states)
    for source, dest in sorted(edges, key=lambda edge: (order.index(edge[0]), order.index(edge[1]))):
        labels = edges[source, dest]
        groups = [", ".join(labels[start : start + _WRAP]) for start in range(0, len(labels), _WRAP)]
        lines.append(f"    {source} --> {dest}: {'<br>'.join(groups)}")
    lines += [f"    {state} --> [*]" for state in order if state in _FINAL]
    return "\n".join(lines) + "\n"
