"""From a failing event to its provisional cause. One function, one place; what logs and counters say comes later, from outside."""

from fsm.events import (
    DeadlineExpired,
    Event,
    Exited,
    Hello,
    Hung,
    OutOfMemory,
    ProtocolBroken,
    Settled,
    SpawnFailed,
    WorkerFailed,
)
from fsm.failure import Certainty, Exit, FailureCause, Kind, Phase, Source, cause
from fsm.states import Deadline

_TIMEOUT_KINDS = {
    Deadline.START: Kind.START_TIMEOUT,
    Deadline.LOAD: Kind.LOAD_TIMEOUT,
    Deadline.PREFILL: Kind.PREFILL_TIMEOUT,
    Deadline.DECODE: Kind.DECODE_TIMEOUT,
    Deadline.CANCEL: Kind.CANCEL_TIMEOUT,
    Deadline.UNLOAD: Kind.UNLOAD_TIMEOUT,
}

_TIMEOUT_SENTENCES = {
    Deadline.START: "The worker did not say hello within {after:g} s.",
    Deadline.LOAD: "The load made no progress for {after:g} s.",
    Deadline.PREFILL: "The prompt made no progress for {after:g} s.",
    Deadline.DECODE: "No token came for {after:g} s.",
    Deadline.CANCEL: "A cancel was not honoured within {after:g} s.",
    Deadline.UNLOAD: "The worker did not let go of the model within {after:g} s.",
}

# Numbers as POSIX systems with Linux's or macOS's numbering have them; SIGBUS differs, hence both.
_SIGNAL_KINDS = {
    2: (Kind.INTERRUPTED, Certainty.PROBABLE),
    4: (Kind.ILLEGAL_INSTRUCTION, Certainty.CERTAIN),
    7: (Kind.SEGFAULT, Certainty.PROBABLE),
    9: (Kind.KILLED_EXTERNALLY, Certainty.PROBABLE),
    10: (Kind.SEGFAULT, Certainty.PROBABLE),
    11: (Kind.SEGFAULT, Certainty.CERTAIN),
    15: (Kind.KILLED_EXTERNALLY, Certainty.CERTAIN),
}


def exit_cause(exit: Exit, phase: Phase) -> FailureCause:
    """What an exit status says by itself. Reading the last lines and the counters can only sharpen it."""
    if exit.signal is not None:
        kind, certainty = _SIGNAL_KINDS.get(exit.signal, (Kind.UNKNOWN, Certainty.CERTAIN))
    elif exit.code == 0:
        kind, certainty = Kind.CLEAN_EXIT, Certainty.CERTAIN
    else:
        kind, certainty = Kind.UNKNOWN, Certainty.CERTAIN
    sentence = f"The worker ended although nobody asked it to. {exit}."
    return cause(kind, sentence, source=Source.EXIT, certainty=certainty, phase=phase, exit=exit)


def cause_of(event: Event, phase: Phase) -> FailureCause | None:
    """The cause that an event names, or ``None`` for one that names none."""
    match event:
        case OutOfMemory():
            return cause(
                Kind.OOM,
                "Memory ran out.",
                source=Source.REPORT,
                certainty=event.certainty,
                phase=phase,
                scope=event.scope,
                evidence=event.evidence,
            )
        case WorkerFailed():
            return event.cause
        case Hung():
            how = "is stopped" if event.stopped else "gave no sign of life"
            sentence = f"The process {how} for {event.silent_s:.1f} s."
            return cause(Kind.HUNG, sentence, source=Source.TRIGGER, phase=phase)
        case DeadlineExpired(deadline=deadline) if deadline in _TIMEOUT_KINDS:
            sentence = _TIMEOUT_SENTENCES[deadline].format(after=event.after_s)
            if event.budget:
                sentence = f"The load took longer than its budget of {event.after_s:g} s."
            return cause(_TIMEOUT_KINDS[deadline], sentence, source=Source.TRIGGER, phase=phase)
        case ProtocolBroken():
            return cause(Kind.PROTOCOL_ERROR, event.detail, source=Source.TRIGGER, phase=phase)
        case Hello():
            sentence = "The worker speaks another version of the protocol."
            return cause(Kind.PROTOCOL_ERROR, sentence, source=Source.TRIGGER, phase=phase)
        case SpawnFailed():
            sentence = f"The process could not be started: {event.error}"
            return cause(Kind.UNKNOWN, sentence, source=Source.TRIGGER, phase=phase)
        case Exited():
            return exit_cause(event.exit, phase)
        case Settled():
            return event.cause
        case _:
            return None
