"""Why an incarnation failed: the cause as a value.

Here live the kinds of failure, what is known about them, and the order in which a sharper cause may take the place of a
provisional one. What does *not* live here: reading logs, counters or exit statuses (``runner.diagnosis`` does that and
hands over a finished ``FailureCause``).
"""

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What went wrong, the counterpart of systemd's ``Result=``. The values are stable: journals and metrics hold them."""

    OOM = "oom"
    GPU_TIMEOUT = "gpu_timeout"
    GPU_FAULT = "gpu_fault"
    TRANSPORT = "transport"
    IMPORT_ERROR = "import_error"
    MODEL_MISSING = "model_missing"
    MODEL_INVALID = "model_invalid"
    AUTH = "auth"
    HUB_UNREACHABLE = "hub_unreachable"
    NO_DEVICE = "no_device"
    DISK_FULL = "disk_full"
    RESOURCE_LIMIT = "resource_limit"
    PORT_IN_USE = "port_in_use"
    PYTHON_EXCEPTION = "python_exception"
    ASSERTION = "assertion"
    ILLEGAL_INSTRUCTION = "illegal_instruction"
    SEGFAULT = "segfault"
    KILLED_EXTERNALLY = "killed_externally"
    INTERRUPTED = "interrupted"
    CLEAN_EXIT = "clean_exit"
    HUNG = "hung"
    START_TIMEOUT = "start_timeout"
    LOAD_TIMEOUT = "load_timeout"
    PREFILL_TIMEOUT = "prefill_timeout"
    DECODE_TIMEOUT = "decode_timeout"
    CANCEL_TIMEOUT = "cancel_timeout"
    UNLOAD_TIMEOUT = "unload_timeout"
    PROTOCOL_ERROR = "protocol_error"
    UNKNOWN = "unknown"


class Certainty(StrEnum):
    """How well the kind is known."""

    CERTAIN = "certain"
    """The evidence admits no other reading."""
    PROBABLE = "probable"
    """The best reading of the evidence; another one is possible."""


class OomScope(StrEnum):
    """Which memory ran out."""

    HOST = "host"
    DEVICE = "device"
    BUFFER_CAP = "buffer_cap"
    """One buffer was larger than the device allows a single buffer to be."""


class Phase(StrEnum):
    """What the runner was doing."""

    START = "start"
    IDLE = "idle"
    LOAD = "load"
    WARMUP = "warmup"
    PREFILL = "prefill"
    DECODE = "decode"
    UNLOAD = "unload"
    SHUTDOWN = "shutdown"
    UNKNOWN = "unknown"


class Source(StrEnum):
    """Who told of the failure. The order of the members is the order of trust, apart from ``oom``, which outranks all."""

    REPORT = "report"
    """The worker said so before it ended."""
    TRIGGER = "trigger"
    """The supervisor saw it: a missed beat, a deadline, a broken protocol."""
    EXIT = "exit"
    """How the process ended, and what it left behind: exit status, last lines, kernel counters."""


class Exit(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a process ended. Both fields are ``None`` where that could not be learnt."""

    code: int | None = None
    """Exit code, 0 to 255, if it ended by itself."""
    signal: int | None = None
    """Number of the signal that ended it."""

    def __str__(self) -> str:
        if self.signal is not None:
            return f"Terminated (signal={self.signal} ({signal_text(self.signal)}))"
        if self.code is not None:
            return f"Terminated (exitcode={self.code})"
        return "Terminated (status unknown)"


_SIGNAL_TEXTS = {
    1: "Hangup",
    2: "Interrupt",
    3: "Quit",
    4: "Illegal instruction",
    5: "Trace/breakpoint trap",
    6: "Aborted",
    7: "Bus error",
    8: "Floating point exception",
    9: "Killed",
    11: "Segmentation fault",
    13: "Broken pipe",
    14: "Alarm clock",
    15: "Terminated",
    24: "CPU time limit exceeded",
    25: "File size limit exceeded",
}
# Not the system's own words: those differ between systems, and a journal must read the same on each. Numbers that mean
# one thing on Linux and another on macOS are left out, but for 7, by which nothing dies on macOS.


def signal_text(number: int) -> str:
    """A signal in words, ``Killed`` for 9; ``signal 99`` for a number without any."""
    return _SIGNAL_TEXTS.get(number, f"signal {number}")


REMEDIES: dict[Kind, str] = {
    Kind.OOM: "Use a smaller or more quantised model, a shorter context, or free memory; then restart the runner.",
    Kind.GPU_TIMEOUT: "Lower the prefill step or the load on the GPU; a step took longer than the system allows.",
    Kind.GPU_FAULT: "Restart the runner. If it comes back with the same input, report it to MLX with the evidence below.",
    Kind.TRANSPORT: "Check the network or ring between the machines, then restart all of its ranks.",
    Kind.IMPORT_ERROR: "Reinstall mlx and mlx-lm for this Python and this machine; `runner doctor` shows what is found.",
    Kind.MODEL_MISSING: "Check the model's name or path; `runner models list` shows what is on this machine.",
    Kind.MODEL_INVALID: "Fetch or convert the model again; its files are damaged or of a kind that mlx-lm does not know.",
    Kind.AUTH: "Log in to the hub, or ask its owner for access to this model.",
    Kind.HUB_UNREACHABLE: "Check the network, or use a model that is on this machine (`--model DIR`).",
    Kind.NO_DEVICE: "No usable GPU was found; check the driver, or run on the CPU.",
    Kind.DISK_FULL: "Free space on the disk that holds the cache, then load again.",
    Kind.RESOURCE_LIMIT: "Raise the limit that the evidence names (open files, threads, GPU buffers), then restart.",
    Kind.PORT_IN_USE: "Choose another port, or stop the program that holds this one.",
    Kind.PYTHON_EXCEPTION: "Read the traceback in the evidence; it is a fault in the worker or in a library of its.",
    Kind.ASSERTION: "A check inside a library failed; report it there with the evidence below.",
    Kind.ILLEGAL_INSTRUCTION: "The build does not fit this processor; install one that does.",
    Kind.SEGFAULT: "A native library crashed; restart the runner, and report it with the evidence if it comes back.",
    Kind.KILLED_EXTERNALLY: "Somebody or something outside ended the process; look for who did.",
    Kind.INTERRUPTED: "The process was interrupted from the keyboard or by a hang-up; start it again when wanted.",
    Kind.CLEAN_EXIT: "The worker ended although nobody asked it to; look in its output for who called exit.",
    Kind.HUNG: "The process no longer ran; the stacks in the evidence show where. Restart the runner.",
    Kind.START_TIMEOUT: "The worker did not come up in time; see its output, or raise `start_timeout`.",
    Kind.LOAD_TIMEOUT: "The load made no progress; check the disk that holds the model, or raise `load_timeout`.",
    Kind.PREFILL_TIMEOUT: "The prompt made no progress; shorten it, or raise `prefill_timeout`.",
    Kind.DECODE_TIMEOUT: "No token came for too long; restart the runner, or raise `decode_timeout`.",
    Kind.CANCEL_TIMEOUT: "The worker did not honour a cancel; restart the runner, or raise `cancel_timeout`.",
    Kind.UNLOAD_TIMEOUT: "The worker did not let go of the model; restart the runner, or raise `unload_timeout`.",
    Kind.PROTOCOL_ERROR: "Worker and supervisor do not speak the same protocol; install one version of runner-fsm for both.",
    Kind.UNKNOWN: "Look in the evidence and in the worker's output; `runner doctor` shows what this machine can tell.",
}
"""What a person can do about each kind."""

INCURABLE: dict[Kind, str] = {
    Kind.MODEL_MISSING: "what is not there will not be there in a moment.",
    Kind.MODEL_INVALID: "the files stay as they are.",
    Kind.IMPORT_ERROR: "what is installed stays as it is.",
    Kind.AUTH: "access is not granted by asking again.",
    Kind.NO_DEVICE: "the machine stays as it is.",
    Kind.DISK_FULL: "nobody frees the disk meanwhile, and another attempt may fill what is left.",
    Kind.ILLEGAL_INSTRUCTION: "the build and the processor stay as they are.",
    Kind.PORT_IN_USE: "who holds the port does not let go of it by that.",
}
"""Kinds of failure that trying again does not mend, each with the reason. They are not followed by a restart of the runner's
own, and a request that failed by one is not called retryable."""


class FailureCause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cause of a failure: what, how sure, when, and what to do about it.

    ``str(cause)`` is the short form: how the process ended if it has, else the sentence.
    """

    kind: Kind
    certainty: Certainty
    phase: Phase = Phase.UNKNOWN
    source: Source
    sentence: str
    """One sentence for a person."""
    remedy: str = ""
    """What to do. Empty only in a cause that did not come through ``cause``."""
    exit: Exit | None = None
    evidence: tuple[str, ...] = ()
    """Lines that bear the kind out, in the order in which they came."""
    scope: OomScope | None = None
    """For ``oom``: which memory ran out, if that is known."""

    def __str__(self) -> str:
        return str(self.exit) if self.exit is not None else self.sentence


def cause(
    kind: Kind,
    sentence: str,
    *,
    source: Source,
    certainty: Certainty = Certainty.CERTAIN,
    phase: Phase = Phase.UNKNOWN,
    exit: Exit | None = None,
    evidence: tuple[str, ...] = (),
    scope: OomScope | None = None,
    remedy: str | None = None,
) -> FailureCause:
    """A cause with the remedy of its kind, unless a better one is given."""
    return FailureCause(
        kind=kind,
        certainty=certainty,
        phase=phase,
        source=source,
        sentence=sentence,
        remedy=REMEDIES[kind] if remedy is None else remedy,
        exit=exit,
        evidence=evidence,
        scope=scope,
    )


def rank(cause: FailureCause) -> int:
    """Place of a cause in the order of trust; the lower, the sharper: oom, report, trigger, exit."""
    if cause.kind is Kind.OOM:
        return 0
    return 1 + list(Source).index(cause.source)


def sharper(old: FailureCause | None, new: FailureCause | None) -> FailureCause | None:
    """The cause to keep when ``new`` comes to light after ``old``.

    A cause of a sharper source wins; of two from one source the first stays, but a later reading of the *exit* (with the
    last lines and the counters) takes the place of an earlier one. A cause that stays gains what it lacked: how the process
    ended, and the lines it left.
    """
    if old is None or new is None:
        return old if new is None else new
    better = rank(new) < rank(old) or (
        rank(new) == rank(old) and new.source is Source.EXIT and old.source is Source.EXIT
    )
    if better:
        phase = old.phase if new.phase is Phase.UNKNOWN else new.phase
        return msgspec.structs.replace(new, phase=phase, exit=new.exit or old.exit)
    return msgspec.structs.replace(old, exit=old.exit or new.exit, evidence=old.evidence or new.evidence)
