"""What must not be written down is not: credentials never, what was asked and raised only if it is asked for."""

from typing import Any

import pytest

import fsm
from fsm.failure import cause
from fsm.journal import Redaction
from fsm.journal.redact import LINES, MASK, WIDTH, cut_lines, mask
from tests.journal.runs import WALL, keeper
from tests.machine.lives import LOADING, RUNNING, STAMP

SECRETS = (
    "hf_abcdefghijklmnopqrstuvwx",
    "sk-proj-abcdefghij0123456789",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghij_klmnop",
    "glpat-abcdefghij0123456789",
    "xoxb-1234567890-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz012345",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "around", ["{}", "token {} was refused", 'headers={{"x": "{}"}}', "https://host/path?x={}&y=1"]
)
def test_a_credential_that_tells_by_its_form_is_masked(secret: str, around: str) -> None:
    assert secret not in mask(around.format(secret))
    assert MASK in mask(around.format(secret))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=hunter2 and more", f"password={MASK} and more"),
        ('"api_key": "abc123"', f'"api_key": "{MASK}"'),
        ("HF_TOKEN=abc", f"HF_TOKEN={MASK}"),
        ("Authorization: Bearer abc.def", f"Authorization: Bearer {MASK}"),
        ("https://user:secret@host/x", f"https://{MASK}@host/x"),
        ("GET /m?X-Amz-Signature=abcdef&n=1", f"GET /m?X-Amz-Signature={MASK}&n=1"),
    ],
)
def test_a_credential_that_is_named_is_masked_and_the_rest_stays(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "[metal::malloc] Attempting to allocate 1234 bytes which is greater than the maximum allowed buffer size",
        "needed 6,400,000,000 bytes for allocation, had 1,000,344,752 bytes free",
        "The prompt has 2024 tokens; the model's context holds 512, answer included.",
        "OOM kills counted by the kernel: own cgroup +1, shared +1",
        'File "/usr/lib/python3/tokenizers/__init__.py", line 12, in encode',
    ],
)
def test_evidence_is_left_as_it_is(text: str) -> None:
    assert mask(text) == text


def test_a_file_name_that_is_no_text_can_be_written_down() -> None:
    mask("/tmp/bad\udcff").encode()


def test_of_too_many_lines_the_first_and_the_last_stay() -> None:
    lines = cut_lines(tuple(f"line {number}" for number in range(100)))
    assert len(lines) == LINES
    assert (lines[0], lines[-1]) == ("line 0", "line 99")
    assert cut_lines(("x" * 1000,)) == ("x" * (WIDTH - 1) + "…",)


PRIVATE = "my private prompt"
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "model.py", line 1, in step',
    "    raise ValueError(prompt)",
    f"ValueError: {PRIVATE}",
    f"{PRIVATE}, its second line",
    "",
    "During handling of the above exception, another exception occurred:",
    f"package.Custom: {PRIVATE}",
)


def raised(kind: fsm.Kind) -> list[Any]:
    told = cause(kind, "The worker failed with ValueError.", source=fsm.Source.REPORT, evidence=TRACEBACK)
    return [
        fsm.WorkerFailed(cause=told, **STAMP),
        fsm.Settled(cause=told, **STAMP),
        fsm.RequestErred(
            request=1,
            kind=fsm.RequestErrorKind.EXCEPTION,
            message=f"ValueError: {PRIVATE}",
            traceback="\n".join(TRACEBACK),
            **STAMP,
        ),
    ]


def journal_of(events: list[Any], *, text: bool) -> bytes:
    writer, life = keeper(text=text), fsm.Lifecycle()
    lines = [writer.opening(WALL)]
    lines += [writer.step(life.handle(event).record, WALL) for event in events]
    lines.append(writer.gap(1, "A disk was full.", life.checkpoint, WALL))
    return b"".join(lines)


@pytest.mark.parametrize("kind", [fsm.Kind.PYTHON_EXCEPTION, fsm.Kind.ASSERTION, fsm.Kind.UNKNOWN])
@pytest.mark.parametrize("number", range(3))
def test_what_an_exception_was_given_is_left_out_unless_text_is_asked_for(kind: fsm.Kind, number: int) -> None:
    events = [*RUNNING, fsm.Submit(request=1, **STAMP), fsm.RequestStarted(request=1, **STAMP), raised(kind)[number]]
    if number == 1:
        events.insert(-1, fsm.Exited(exit=fsm.Exit(code=1), **STAMP))
    assert PRIVATE.encode() not in journal_of(events, text=False)
    assert b"ValueError: [not recorded]" in journal_of(events, text=False)
    assert b"line 1, in step" in journal_of(events, text=False)
    assert PRIVATE.encode() in journal_of(events, text=True)


@pytest.mark.parametrize("text", [False, True])
def test_no_field_of_any_event_lets_a_credential_through(text: bool) -> None:
    secret = SECRETS[0]
    told = cause(fsm.Kind.OOM, f"It said {secret}.", source=fsm.Source.REPORT, evidence=(secret,), remedy=secret)
    planted: list[Any] = [
        fsm.Load(model=f"https://host/{secret}", **STAMP),
        fsm.SpawnFailed(error=secret, **STAMP),
        fsm.Hello(versions={secret: secret}, **STAMP),
        fsm.LoadProgress(step=secret, **STAMP),
        fsm.OutOfMemory(evidence=(secret,), **STAMP),
        fsm.WorkerFailed(cause=told, **STAMP),
        fsm.ProtocolBroken(detail=secret, **STAMP),
        fsm.Loaded(device=secret, **STAMP),
        fsm.RequestDone(request=1, reason=secret, **STAMP),
        fsm.RequestErred(request=1, kind=fsm.RequestErrorKind.BAD_REQUEST, message=secret, traceback=secret, **STAMP),
        fsm.Settled(cause=told, notes=(secret,), **STAMP),
    ]
    tried = {type(event) for event in planted}
    strings = {
        event
        for event in fsm.Event.__subclasses__()
        for event in (event, *event.__subclasses__())
        if any("str" in str(annotation) for annotation in event.__annotations__.values())
    }
    assert strings - tried <= {fsm.Submit, fsm.Event}
    for event in planted:
        for history in (LOADING, (*RUNNING, fsm.Submit(request=1, **STAMP), fsm.RequestStarted(request=1, **STAMP))):
            assert secret.encode() not in journal_of([*history, event], text=text), event


def test_what_needs_no_redaction_is_left_as_it_is() -> None:
    event = fsm.Load(model="tiny", **STAMP)
    assert Redaction().event(event) is event
