"""What may be written down of an event. Texts that come from outside are cut, credentials masked, private matter left out.

Only texts are touched: no guard looks at one, so that a machine makes the same moves of a redacted event as of the whole one.
"""

import re
from typing import Any

import msgspec

from fsm.checkpoint import Checkpoint
from fsm.events import (
    AnyEvent,
    Hello,
    Load,
    Loaded,
    LoadProgress,
    OutOfMemory,
    ProtocolBroken,
    RequestDone,
    RequestErred,
    Settled,
    SpawnFailed,
    WorkerFailed,
)
from fsm.failure import FailureCause, Kind
from fsm.states import RequestErrorKind

LINES = 40
"""Most lines of evidence that are kept of one cause: the first half and the last."""
WIDTH = 500
"""Most characters of one text."""
MASK = "[masked]"
LEFT_OUT = "[not recorded]"

_UNRECOGNISED = frozenset({Kind.PYTHON_EXCEPTION, Kind.ASSERTION, Kind.UNKNOWN})
"""Kinds whose evidence may hold anything, a prompt among it. The lines of others are known texts of known libraries."""

_CREDENTIALS = (
    # Tokens that tell by their form, as their issuers document it: hub, OpenAI and Anthropic style, GitHub, GitLab, Slack,
    # AWS access keys, Google API keys, JSON web tokens.
    re.compile(
        r"\b(?:hf_|api_org_|sk-|pk-|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_\-]{8,}"
        r"|\bA(?:KIA|SIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_\-]{30,}|\beyJ[\w\-]{8,}\.[\w\-]{8,}(?:\.[\w\-]*)?"
    ),
    # user:password@ in an address.
    re.compile(r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"),
    # Authorization headers.
    re.compile(r"(?i)(?<=bearer )[\w\-.~+/]+=*|(?<=basic )[A-Za-z0-9+/]{8,}=*"),
    # name=value and "name": "value", whatever the value is.
    re.compile(
        r"(?i)((?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|(?:access|auth|refresh|hub|hf)?[_-]?token"
        r"|signature|x-amz-\w+)[\"']?\s*[=:]\s*[\"']?)(?!\s)[^\s\"'&,;)\]}]+"
    ),
)

_EXCEPTION = re.compile(r"^(\s*(?:[A-Za-z_][\w.<>]*)):(?: .*|$)")
"""``SomeError: its arguments``, as the last line of a traceback; also any other ``word: text``."""
_FRAME = re.compile(r'^\s*(?:File ".*", line \d+|Traceback|During handling|The above exception|\+|\|)')


def mask(text: str) -> str:
    """A text that can be written down, with what looks like a credential masked."""
    # A file name that is no text comes in halves of characters, which no file of text can hold.
    text = text.encode("utf-8", "backslashreplace").decode()
    for pattern in _CREDENTIALS:
        text = pattern.sub(lambda found: (found.group(1) if found.re.groups else "") + MASK, text)
    return text


def cut(text: str) -> str:
    """A text masked, and cut to size."""
    text = mask(text)
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def cut_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Lines masked and cut to size; of too many, the first and the last stay."""
    if len(lines) > LINES:
        head = LINES // 2
        tail = LINES - head - 1
        lines = (*lines[:head], f"… {len(lines) - head - tail} lines …", *lines[-tail:])
    return tuple(cut(line) for line in lines)


class Redaction:
    """Makes of an event what may be written down of it.

    Args:
        text: whether the arguments of exceptions may be. Credentials never are.
    """

    def __init__(self, *, text: bool = False) -> None:
        self._text = text

    def event(self, event: AnyEvent) -> AnyEvent:
        """The event as it may be written down; the same object where there is nothing to leave out."""
        match event:
            case WorkerFailed():
                return _with(event, cause=self._cause(event.cause))
            case Settled():
                return _with(event, cause=self._cause(event.cause), notes=cut_lines(event.notes))
            case OutOfMemory():
                return _with(event, evidence=cut_lines(event.evidence))
            case RequestErred():
                return self._request_error(event)
            case ProtocolBroken():
                return _with(event, detail=cut(event.detail))
            case SpawnFailed():
                return _with(event, error=cut(event.error))
            case Load():
                return _with(event, model=cut(event.model))
            case LoadProgress():
                return _with(event, step=cut(event.step))
            case Loaded():
                return _with(event, device=cut(event.device))
            case RequestDone():
                return _with(event, reason=cut(event.reason))
            case Hello():
                versions = {cut(name): cut(value) for name, value in list(event.versions.items())[:LINES]}
                return _with(event, versions=versions)
            case _:
                return event

    def checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint as it may be written down."""
        facts = _with(checkpoint.facts, cause=self._cause(checkpoint.facts.cause))
        return _with(checkpoint, facts=facts)

    def _cause(self, cause: FailureCause | None) -> FailureCause | None:
        if cause is None:
            return None
        evidence = cause.evidence
        if not self._text and cause.kind in _UNRECOGNISED:
            evidence = _without_arguments(evidence)
        return _with(cause, sentence=cut(cause.sentence), remedy=cut(cause.remedy), evidence=cut_lines(evidence))

    def _request_error(self, event: RequestErred) -> RequestErred:
        message, traceback = event.message, tuple(event.traceback.splitlines())
        # What the worker rejected it tells in its own words; what was raised says anything.
        if not self._text and event.kind is RequestErrorKind.EXCEPTION:
            message = "\n".join(_without_arguments(tuple(message.splitlines())))
            traceback = _without_arguments(traceback)
        return _with(event, message=cut(message), traceback="\n".join(cut_lines(traceback)))


def _without_arguments(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Lines of a log in which no exception says what it was given, neither on its own line nor on those that follow it."""
    kept: list[str] = []
    saying = False
    for line in lines:
        if _FRAME.match(line) or not line.strip():
            saying = False
        elif found := _EXCEPTION.match(line):
            saying = True
            line = f"{found.group(1)}: {LEFT_OUT}"
        elif saying:
            continue
        kept.append(line)
    return tuple(kept)


def _with(struct: Any, **fields: Any) -> Any:
    """The struct with these fields, or itself if they are what it holds."""
    if all(getattr(struct, name) == value for name, value in fields.items()):
        return struct
    return msgspec.structs.replace(struct, **fields)
