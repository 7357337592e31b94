"""Cases as JSON lines: the form in which `runner diagnose` reads logs in bulk and answers them.

Here lives the reading of one line and the writing of one answer. What must not live here: any judgement (``diagnose``),
and reading from or writing to a stream (the command line does that).

A case is an object. ``exit`` (``{"code": ..., "signal": ...}``), ``phase``, ``platform`` and ``stderr`` (a list of
lines, or one text) may each be left out or null; ``id`` comes back in the answer. ``counters`` holds what the kernel counted:
either ``{"before": {"own": 0, "shared": 3}, "after": {...}}`` or, as rises, ``{"own": 1, "shared": 0}``. ``need`` is
``{"what": ..., "bytes": ..., "headroom": ...}``, ``sent_signals`` a list of numbers. Unknown fields are ignored, since
collections of cases carry labels. An unknown phase is taken as ``unknown``, an unknown platform as ``other``.
"""

from typing import Any

import msgspec

from fsm.failure import Exit, FailureCause, Phase
from runner.diagnosis.diagnose import diagnose
from runner.diagnosis.evidence import PLATFORMS, Counters, Evidence, Need, Platform


class BadCase(ValueError):
    """A line is no case. ``reason`` says what is wrong with it, ``id`` whose it is where that could be read."""

    def __init__(self, reason: str, id: str | int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.id = id


class _Counters(msgspec.Struct, frozen=True):
    before: Counters | None = None
    after: Counters | None = None
    own: int | None = None
    shared: int | None = None


class _Case(msgspec.Struct, frozen=True):
    id: str | int | None = None
    exit: Exit | None = None
    phase: str | None = None
    platform: str | None = None
    stderr: list[str] | str | None = None
    counters: _Counters | None = None
    need: Need | None = None
    sent_signals: tuple[int, ...] = ()


class _Name(msgspec.Struct, frozen=True):
    id: str | int | None = None


_DECODER = msgspec.json.Decoder(_Case)
_NAMES = msgspec.json.Decoder(_Name)


def parse_case(line: str | bytes) -> Evidence:
    """The evidence of one JSON line. Raises ``BadCase`` if the line is no case."""
    return _evidence(_decoded(line))


def answer(cause: FailureCause) -> dict[str, Any]:
    """The answer to one case, ready for JSON: kind, certainty and evidence, then what a person wants besides."""
    return {
        "kind": cause.kind.value,
        "certainty": cause.certainty.value,
        "evidence": list(cause.evidence),
        "scope": None if cause.scope is None else cause.scope.value,
        "phase": cause.phase.value,
        "sentence": cause.sentence,
        "remedy": cause.remedy,
    }


def answer_line(line: str | bytes) -> dict[str, Any]:
    """The answer to one JSON line, with the case's ``id``; ``{"error": ...}`` if it is no case. Never raises."""
    try:
        case = _decoded(line)
    except BadCase as error:
        return {"error": error.reason} if error.id is None else {"id": error.id, "error": error.reason}
    answered = answer(diagnose(_evidence(case)))
    return answered if case.id is None else {"id": case.id, **answered}


def _decoded(line: str | bytes) -> _Case:
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadCase(f"not a case: {error}", _name(line)) from error


def _name(line: str | bytes) -> str | int | None:
    try:
        return _NAMES.decode(line).id
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _evidence(case: _Case) -> Evidence:
    before, after = _counters(case.counters)
    return Evidence(
        exit=case.exit or Exit(),
        phase=_phase(case.phase),
        platform=_platform(case.platform),
        stderr=_lines(case.stderr),
        before=before,
        after=after,
        sent_signals=case.sent_signals,
        need=case.need,
    )


def _counters(counters: _Counters | None) -> tuple[Counters, Counters]:
    if counters is None:
        return Counters(), Counters()
    if counters.before is not None or counters.after is not None:
        return counters.before or Counters(), counters.after or Counters()
    zero = Counters(own=None if counters.own is None else 0, shared=None if counters.shared is None else 0)
    return zero, Counters(own=counters.own, shared=counters.shared)


def _phase(word: str | None) -> Phase:
    plain = (word or "").lower().replace("-", "").replace("_", "")
    return next((phase for phase in Phase if phase.value == plain), Phase.UNKNOWN)


def _platform(word: str | None) -> Platform:
    for platform in PLATFORMS:
        if platform == word:
            return platform
    return "other"


def _lines(stderr: list[str] | str | None) -> tuple[str, ...]:
    if stderr is None:
        return ()
    return tuple(stderr.splitlines() if isinstance(stderr, str) else stderr)
