"""The cause that a worker's own report amounts to.

Here live the classes of exceptions that tell by themselves. What must not live here: known texts, which are the same
whether they come over the channel or in stderr (``rules``).
"""

from collections.abc import Iterable

from fsm.failure import Certainty, FailureCause, Kind, OomScope, Phase, Source
from runner.diagnosis.evidence import Need, Platform
from runner.diagnosis.finding import EVIDENCE_LINES, Finding, finish, of_hit
from runner.diagnosis.lines import Hit, hits, read
from runner.diagnosis.rules import Weight

TRACEBACK_LINES = EVIDENCE_LINES - 1  # the exception itself takes one

_CLASSES: dict[str, tuple[Kind, str]] = {
    "MemoryError": (Kind.OOM, "Python could not allocate memory"),
    "OutOfMemoryError": (Kind.OOM, "An allocation failed for want of memory"),
    "AssertionError": (Kind.ASSERTION, "A check in Python code failed"),
    "ImportError": (Kind.IMPORT_ERROR, "A package could not be imported"),
    "ModuleNotFoundError": (Kind.IMPORT_ERROR, "A package could not be imported"),
    "KeyboardInterrupt": (Kind.INTERRUPTED, "The worker was interrupted"),
    "GatedRepoError": (Kind.AUTH, "The hub refused access to the model"),
    "RepositoryNotFoundError": (Kind.MODEL_MISSING, "The hub has no such model"),
    "SafetensorError": (Kind.MODEL_INVALID, "A model file is damaged"),
}
"""Classes, without their module, that tell the kind whatever their message says. Texts come first."""


def diagnose_report(
    exception: str,
    message: str,
    traceback_lines: Iterable[str],
    phase: Phase,
    *,
    need: Need | None = None,
    platform: Platform = "other",
) -> FailureCause:
    """The cause that the worker reported. Never raises.

    Of exceptions chained to each other the first raised counts, if it is one that names a cause; ``need`` unmasks an
    out-of-memory that the library words as something else. One of which nothing is known is a ``python_exception``.
    """
    trace = tuple(line for part in traceback_lines for line in part.splitlines())
    said = tuple(f"{exception}: {message}".splitlines())
    lines = trace if said and said[0] in trace else trace + said
    all_hits = hits(read(lines), phase)
    found = _named(all_hits, exception, need, platform)
    if found is None:
        found = Finding(Kind.PYTHON_EXCEPTION, Certainty.CERTAIN, f"The worker failed with {exception}")
    kept = _end(trace, found.lines)
    shown = Finding(found.kind, found.certainty, found.says, kept or said, found.scope)
    return finish(shown, source=Source.REPORT, phase=phase)


def _named(all_hits: list[Hit], exception: str, need: Need | None, platform: Platform) -> Finding | None:
    def first(weight: Weight) -> Hit | None:
        return next((hit for hit in all_hits if hit.rule.weight is weight and not hit.rule.needs_kill), None)

    root = first(Weight.CAUSE) or first(Weight.GENERAL)
    if root is not None:
        return of_hit(root, all_hits, need, platform)
    by_class = _CLASSES.get(exception.rsplit(".", 1)[-1])
    if by_class is not None:
        kind, says = by_class
        return Finding(kind, Certainty.CERTAIN, says, scope=OomScope.HOST if kind is Kind.OOM else None)
    rest = first(Weight.CONSEQUENCE)
    if rest is None or rest.rule.kind is Kind.PYTHON_EXCEPTION:
        return None
    return of_hit(rest, all_hits, need, platform)


def _end(trace: tuple[str, ...], bearing: tuple[str, ...]) -> tuple[str, ...]:
    """The decisive lines, and the end of the traceback if there is room for it."""
    room = TRACEBACK_LINES - len(bearing)
    seen = set(bearing)
    return (*bearing, *(line for line in (trace[-room:] if room > 0 else ()) if line not in seen))
