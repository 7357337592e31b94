"""From evidence to a cause: the weighing of counters, texts and exit status against each other.

Here live the precedence and the wording. What must not live here: known texts (``rules``), how lines are read
(``lines``), and any reading of the system: this is a pure function of its argument and never raises.

Precedence, from the strongest:

1. The kernel counted an OOM kill in the child's own cgroup and SIGKILL ended it.
2. What the worker reported; an exception of which nothing is known gives way to an out-of-memory in the log.
3. A text of weight ``CAUSE``: the first of them.
4. Exit code 0, which only an out-of-memory that is certain by its text outweighs.
5. A signal that tells by itself: SIGKILL by counters and phase, the signals by which people end things, a crash in
   native code. A signal named in the log stands in where the exit is unknown.
6. A text of weight ``GENERAL``, then of weight ``CONSEQUENCE``.
7. An orderly end in the log, if the exit is unknown; else the kind is unknown.

A counter never fails a child that lives, and a signal that the supervisor sent explains the exit and nothing more.
"""

import signal

import msgspec

from fsm.failure import Certainty, Exit, FailureCause, Kind, OomScope, Phase, Source, signal_text
from runner.diagnosis.evidence import Evidence, Platform
from runner.diagnosis.finding import Finding, finish, need_line, of_hit, scope_of
from runner.diagnosis.lines import Hit, Line, hits, noise, read
from runner.diagnosis.report import diagnose_report
from runner.diagnosis.rules import SHUTDOWN_TEXT, SIGNAL_TEXTS, Level, Weight

NEIGHBOUR = "neighbour_oom"
"""Begins the note that the kernel killed something for memory, but not this child."""

_KILL, _TERM, _ABORT = int(signal.SIGKILL), int(signal.SIGTERM), int(signal.SIGABRT)
_SEGV, _ILL, _INT, _HUP, _QUIT = 11, 4, 2, 1, 3  # the same on every system that is supported
_LIMIT_SIGNALS = frozenset({24, 25})  # SIGXCPU and SIGXFSZ
_SHELL_BASE = 128  # a shell reports 128 and the signal's number
_SIGNAL_MAX = 64
_CLOSED_BY_PEOPLE = frozenset({_TERM, _INT, _HUP, _QUIT})
# Windows reports an exception as the exit code; some launchers print it as a signed number.
_WINDOWS_CODES: dict[int, int] = {0xC0000005: _SEGV, 0xC000001D: _ILL, 0xC0000409: _ABORT, 0xC000013A: _INT}
_WINDOWS_NO_MEMORY = frozenset({0xC0000017, 0xC000012D})


class Reading:
    """What a log says, read once."""

    def __init__(self, raw: tuple[str, ...], phase: Phase, *, killed: bool) -> None:
        self.lines: list[Line] = read(raw)
        self.hits: list[Hit] = [hit for hit in hits(self.lines, phase) if killed or not hit.rule.needs_kill]

    def root(self, weight: Weight) -> Hit | None:
        """The first line of this weight."""
        return next((hit for hit in self.hits if hit.rule.weight is weight), None)

    def signal(self, platform: Platform) -> tuple[int, str] | None:
        """The first signal that the log names as some process's end, with its line."""
        for line in self.lines:
            if line.level < Level.WARNING:
                continue
            for row in SIGNAL_TEXTS:
                match = row.pattern.search(line.text)
                if match is None or _says_nothing(line.text):
                    continue
                number = row.signal if row.signal is not None else _number(match.groupdict())
                if number is not None:
                    return _as_killed(number, row.id, platform), line.text
        return None

    def orderly_end(self) -> str | None:
        """A line that tells of an orderly end."""
        return next((line.text for line in self.lines if SHUTDOWN_TEXT.search(line.text)), None)


def diagnose(evidence: Evidence) -> FailureCause:
    """The cause of a failure, from all that is known. Never raises.

    ``source`` is ``REPORT`` where the worker's own report is the cause, else ``EXIT``. Where nothing names a cause,
    or only the supervisor's own signal ended the process, the kind is ``unknown``. If the kernel killed something else
    for memory, a note that begins with ``neighbour_oom`` is among the evidence.
    """
    number = _signal_of(evidence.exit, evidence.platform)
    found = _counted_own(evidence, number)
    reported = None if found is not None else _of_report(evidence)
    if reported is not None:
        found = _logged_oom(evidence, reported)
        if found is None:
            return reported
    if found is None:
        found = _found(evidence, number)
    notes = tuple(note for note in (neighbour(evidence), _counters_note(evidence, number)) if note is not None)
    return finish(found, source=Source.EXIT, phase=evidence.phase, exit=_known(evidence.exit), notes=notes)


def neighbour(evidence: Evidence) -> str | None:
    """The note that something else was killed for memory, or ``None``.

    That is so if a counter rose while the child lives, while it ended by no SIGKILL, or by the supervisor's own.
    """
    rises = [
        (name, rise)
        for name, rise in (("the child's own cgroup", evidence.own_rise), ("shared counters", evidence.shared_rise))
        if rise
    ]
    number = _signal_of(evidence.exit, evidence.platform)
    ended_by_it = (
        not evidence.child_alive and number == _KILL and (_KILL not in evidence.sent_signals or evidence.own_rise)
    )
    if not rises or ended_by_it:
        return None
    told = ", ".join(f"{rise} in {name}" for name, rise in rises)
    return f"{NEIGHBOUR}: the kernel counted OOM kills ({told}), but not of this process"


def _of_report(evidence: Evidence) -> FailureCause | None:
    report = evidence.report
    if report is None:
        return None
    found = diagnose_report(
        report.exception,
        report.message,
        report.traceback,
        evidence.phase,
        need=evidence.need,
        platform=evidence.platform,
    )
    return msgspec.structs.replace(found, exit=_known(evidence.exit))


def _logged_oom(evidence: Evidence, reported: FailureCause) -> Finding | None:
    if reported.kind is not Kind.PYTHON_EXCEPTION:
        return None
    reading = Reading(evidence.stderr, evidence.phase, killed=False)
    root = reading.root(Weight.CAUSE)
    if root is None or root.rule.kind is not Kind.OOM:
        return None
    return of_hit(root, reading.hits, evidence.need, evidence.platform)


def _counted_own(evidence: Evidence, number: int | None) -> Finding | None:
    if evidence.child_alive or number != _KILL or not evidence.own_rise:
        return None
    # With a SIGKILL of ours as well the kernel's victim may have been a descendant; the memory was the child's.
    ours = _KILL in evidence.sent_signals
    return Finding(
        Kind.OOM,
        Certainty.PROBABLE if ours else Certainty.CERTAIN,
        "The kernel's OOM killer ended the process: it counted a kill in the process's own cgroup",
        tuple(_need_lines(evidence)),
        OomScope.HOST,
    )


def _found(evidence: Evidence, number: int | None) -> Finding:
    code = evidence.exit.code
    unknown_exit = number is None and code is None
    killed = not evidence.child_alive and (unknown_exit or number == _KILL or code not in {None, 0})
    reading = Reading(evidence.stderr, evidence.phase, killed=killed)
    root = reading.root(Weight.CAUSE)
    if code == 0 and number is None:
        if root is not None and root.rule.kind is Kind.OOM and root.rule.certainty is Certainty.CERTAIN:
            return of_hit(root, reading.hits, evidence.need, evidence.platform)
        return Finding(Kind.CLEAN_EXIT, Certainty.CERTAIN, "The process ended by itself with exit code 0")
    if root is not None and not (number == _TERM and root.rule.kind is Kind.INTERRUPTED):
        # Some servers turn SIGTERM into a KeyboardInterrupt of their own: then the signal knows better.
        return of_hit(root, reading.hits, evidence.need, evidence.platform)
    if code is not None and code & 0xFFFFFFFF in _WINDOWS_NO_MEMORY:
        return Finding(Kind.OOM, Certainty.CERTAIN, "Windows ended the process for want of memory", scope=OomScope.HOST)
    told: tuple[str, ...] = ()
    if number is None:
        named = reading.signal(evidence.platform)
        if named is not None:
            number, line = named
            told = (line,)
    general = reading.root(Weight.GENERAL)
    rest = general or reading.root(Weight.CONSEQUENCE)
    if number is not None:
        found = _of_signal(evidence, number, told, silent=rest is None)
        if found is not None:
            return found
    if rest is not None:
        return of_hit(rest, reading.hits, evidence.need, evidence.platform)
    return _of_silence(evidence, reading, number, told)


def _of_signal(evidence: Evidence, number: int, told: tuple[str, ...], *, silent: bool) -> Finding | None:
    """What a signal tells by itself; ``None`` if any text tells more."""
    words = signal_text(number)
    if not told and number in evidence.sent_signals:
        return (
            Finding(Kind.UNKNOWN, Certainty.PROBABLE, f"The supervisor itself ended the process ({words})")
            if silent
            else None
        )
    if number == _KILL:
        return _of_sigkill(evidence, told)
    if number == _TERM:
        return Finding(
            Kind.KILLED_EXTERNALLY, Certainty.CERTAIN, "Something outside asked the process to end (SIGTERM)", told
        )
    if number in _CLOSED_BY_PEOPLE:
        return Finding(Kind.INTERRUPTED, Certainty.CERTAIN, f"The process was interrupted ({words})", told)
    if number == _ILL:
        return Finding(
            Kind.ILLEGAL_INSTRUCTION,
            Certainty.CERTAIN,
            "The processor met an instruction that it does not have (SIGILL)",
            told,
        )
    if number in _LIMIT_SIGNALS:
        return Finding(Kind.RESOURCE_LIMIT, Certainty.CERTAIN, f"The system's limit was reached ({words})", told)
    if number == _SEGV or number in _bus(evidence.platform):
        # Texts of a consequence come with every crash; what a log says in general does not explain one.
        if _short(evidence):
            return _short_of_memory(evidence, words, told)
        certainty = Certainty.CERTAIN if number == _SEGV else Certainty.PROBABLE
        return Finding(Kind.SEGFAULT, certainty, f"Native code touched memory that it may not ({words})", told)
    if number == _ABORT and silent and _short(evidence):
        return _short_of_memory(evidence, words, told)
    return None


def _of_sigkill(evidence: Evidence, told: tuple[str, ...]) -> Finding:
    lines = (*told, *_need_lines(evidence))
    shared, own = evidence.shared_rise, evidence.own_rise
    if shared and not evidence.child_alive:
        return Finding(
            Kind.OOM,
            Certainty.PROBABLE,
            "The process was killed (SIGKILL) while the kernel counted an OOM kill",
            lines,
            OomScope.HOST,
        )
    if shared is not None or own is not None:
        return Finding(
            Kind.KILLED_EXTERNALLY,
            Certainty.PROBABLE,
            "Something outside killed the process (SIGKILL); the kernel counted no OOM kill",
            told,
        )
    if _short(evidence):
        return _short_of_memory(evidence, signal_text(_KILL), told)
    if evidence.phase in {Phase.LOAD, Phase.WARMUP}:
        return Finding(
            Kind.OOM,
            Certainty.PROBABLE,
            "The process was killed (SIGKILL) without a word, as the system does when memory runs out",
            lines,
            OomScope.HOST,
        )
    return Finding(
        Kind.KILLED_EXTERNALLY,
        Certainty.PROBABLE,
        "Something outside killed the process (SIGKILL); nothing points to its memory",
        told,
    )


def _of_silence(evidence: Evidence, reading: Reading, number: int | None, told: tuple[str, ...]) -> Finding:
    code = evidence.exit.code
    if number is None and code is None:
        end = reading.orderly_end()
        if end is not None:
            return Finding(Kind.CLEAN_EXIT, Certainty.PROBABLE, "The log ends with an orderly shutdown", (end,))
        return Finding(Kind.UNKNOWN, Certainty.PROBABLE, "Neither the exit nor the log tells why the process ended")
    if number is not None:
        return Finding(Kind.UNKNOWN, Certainty.PROBABLE, f"A signal ended the process ({signal_text(number)})", told)
    return Finding(
        Kind.UNKNOWN, Certainty.PROBABLE, f"The process ended with exit code {code} and said nothing that is known"
    )


def _short_of_memory(evidence: Evidence, words: str, told: tuple[str, ...]) -> Finding:
    return Finding(
        Kind.OOM,
        Certainty.PROBABLE,
        f"More memory was needed than was free, and the process died without a word ({words})",
        (*told, *_need_lines(evidence)),
        scope_of(None, evidence.platform),
    )


def _short(evidence: Evidence) -> bool:
    return evidence.need is not None and evidence.need.exceeds


def _need_lines(evidence: Evidence) -> list[str]:
    return [] if evidence.need is None else [need_line(evidence.need)]


def _counters_note(evidence: Evidence, number: int | None) -> str | None:
    if number != _KILL:
        return None
    told = [
        f"{name} +{rise}"
        for name, rise in (("own cgroup", evidence.own_rise), ("shared", evidence.shared_rise))
        if rise is not None
    ]
    return f"OOM kills counted by the kernel: {', '.join(told)}" if told else None


def _bus(platform: Platform) -> frozenset[int]:
    """SIGBUS is 7 on Linux and 10 on macOS; from elsewhere it may be either."""
    if platform == "macos-metal":
        return frozenset({10})
    return frozenset({7, 10}) if platform == "other" else frozenset({7})


def _says_nothing(text: str) -> bool:
    row = noise(text)
    return row is not None and not row.names_signal


def _known(exit: Exit) -> Exit | None:
    return None if exit.code is None and exit.signal is None else exit


def _signal_of(exit: Exit, platform: Platform) -> int | None:
    """The signal that ended the process, also where a shell or a launcher has put it into the exit code."""
    if exit.signal is not None:
        return exit.signal
    code = exit.code
    if code is None:
        return None
    if code & 0xFFFFFFFF in _WINDOWS_CODES:
        return _WINDOWS_CODES[code & 0xFFFFFFFF]
    if -_SIGNAL_MAX <= code < -1:
        return -code
    # Only signals that end things: a program may well choose 128 + 100 for its own purposes.
    number = code - _SHELL_BASE
    crash = {_KILL, _ABORT, _SEGV, _ILL, 5, 8} | _bus(platform)
    return number if number in _CLOSED_BY_PEOPLE | crash else None


def _number(groups: dict[str, str | None]) -> int | None:
    name = groups.get("name")
    if name is not None:
        return int(signal.Signals[name]) if name in signal.Signals.__members__ else None
    status = groups.get("status") or groups.get("systemd")
    if status is not None:
        return int(status) - _SHELL_BASE
    number = groups.get("number")
    return None if number is None else int(number[:4])


def _as_killed(number: int, row: str, platform: Platform) -> int:
    """The signal to reckon with for a rank that a launcher found dead.

    Of a rank that ended by a signal which is neither a crash nor a request, no more is known than of one that was
    killed; the more so as the number is often blotted out.
    """
    crashes = {_ABORT, _SEGV, _ILL, 8} | _bus(platform)
    if row == "torchrun-rank" and number not in _CLOSED_BY_PEOPLE | crashes | _LIMIT_SIGNALS | {13, 14}:
        return _KILL
    return number
