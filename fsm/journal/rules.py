"""A digest of the rules, so that a reader knows whether this machine is the one that wrote a journal."""

import hashlib
from typing import Any

import msgspec

from fsm import lifecycle, requests
from fsm.table import Table

SEMANTICS = 1
"""Raised when the code beside the tables makes another step of the same events, or a guard tests something else."""


def _rules(table: Table[Any]) -> tuple[Any, ...]:
    guards = sorted((guard.name, guard.text) for guard in table.guards.values())
    return table.states, table.triggers, guards, table.rows


_RULES = msgspec.json.encode(
    (SEMANTICS, _rules(lifecycle.TABLE), lifecycle.WATCHES, _rules(requests.TABLE)), order="deterministic"
)

DIGEST = hashlib.sha256(_RULES).hexdigest()
"""SHA-256 over both tables with their guards' names, the rules for deadlines, and ``SEMANTICS``."""
