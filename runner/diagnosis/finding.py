"""A cause in the making: what was found, and how it is put into words and cut to size.

Here live the parts that ``diagnose`` and ``report`` share. What must not live here: the weighing of findings
(``diagnose``), and known texts (``rules``).
"""

import re

import msgspec

from fsm.failure import Certainty, Exit, FailureCause, Kind, OomScope, Phase, Source, cause
from runner.diagnosis.evidence import Need, Platform
from runner.diagnosis.lines import Hit

EVIDENCE_LINES = 40  # lines of a cause; the rest is in the worker's log
EVIDENCE_WIDTH = 500  # characters of one of them

_WHILE: dict[Phase, str] = {
    Phase.START: " while starting",
    Phase.IDLE: " while idle",
    Phase.LOAD: " while loading the model",
    Phase.WARMUP: " while warming up",
    Phase.PREFILL: " while reading a prompt",
    Phase.DECODE: " while generating",
    Phase.UNLOAD: " while unloading the model",
    Phase.SHUTDOWN: " while shutting down",
    Phase.UNKNOWN: "",
}


class Finding(msgspec.Struct, frozen=True):
    """What was found: a cause without the frame that every cause has."""

    kind: Kind
    certainty: Certainty
    says: str
    """The beginning of a sentence, without its full stop."""
    lines: tuple[str, ...] = ()
    scope: OomScope | None = None


def finish(
    found: Finding, *, source: Source, phase: Phase, exit: Exit | None = None, notes: tuple[str, ...] = ()
) -> FailureCause:
    """The cause that a finding amounts to, its evidence cut to size. ``notes`` are kept whatever is cut."""
    notes = notes[:EVIDENCE_LINES]
    lines = found.lines[: EVIDENCE_LINES - len(notes)] + notes
    return cause(
        found.kind,
        _writable(found.says) + _WHILE[phase] + ".",
        source=source,
        certainty=found.certainty,
        phase=phase,
        exit=exit,
        evidence=tuple(_writable(line) for line in lines),
        scope=found.scope,
    )


def of_hit(hit: Hit, all_hits: list[Hit], need: Need | None, platform: Platform) -> Finding:
    """The finding of the root line, with the lines that bear it out."""
    rule = hit.rule
    bearing = tuple(_window(other) for other in all_hits if other.index >= hit.index and other.rule.kind is rule.kind)
    if rule.or_memory and need is not None and need.exceeds:
        return Finding(
            Kind.OOM,
            Certainty.PROBABLE,
            f"{rule.says}, and more memory was needed than was free",
            (*bearing, need_line(need)),
            scope_of(None, platform),
        )
    return Finding(
        rule.kind,
        rule.certainty,
        rule.says,
        bearing,
        scope_of(rule.scope, platform) if rule.kind is Kind.OOM else None,
    )


def need_line(need: Need) -> str:
    """The figures of a need, as evidence."""
    return f"needed {need.bytes:,} bytes for {need.what}, had {need.headroom:,} bytes free"


def scope_of(named: OomScope | None, platform: Platform) -> OomScope | None:
    """The memory that an allocation on this platform came from, unless a text names it."""
    if named is not None:
        return named
    if platform == "linux-cpu":
        return OomScope.HOST
    return OomScope.DEVICE if platform == "macos-metal" else None


def _writable(text: str) -> str:
    # A child may print anything; half a surrogate pair could not be written to the journal.
    return text[:EVIDENCE_WIDTH].encode("utf-8", "replace").decode()


def _window(hit: Hit) -> str:
    """The part of a long line in which the decisive words stand."""
    text = hit.text
    if len(text) <= EVIDENCE_WIDTH:
        return text
    begin = max(0, min(hit.start - 100, len(text) - EVIDENCE_WIDTH))
    return re.sub(r"^\S*\s", "", text[begin : begin + EVIDENCE_WIDTH]) if begin else text[:EVIDENCE_WIDTH]
