"""``runner journal show``: the lines of a run as a table that a person can read."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from fsm.journal import Closing, Entry, Gap, Opening, Overrun, Read, Text, Torn, read
from fsm.journal.explain import detail, remark
from fsm.states import State, Verdict
from runner.command.console import on_terminal, printable
from runner.command.journal.opened import File, Json, reading


def show(
    file: File,
    request: Annotated[int | None, typer.Option(metavar="ID", help="Only what concerns this request.")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="SEQ|SECONDS", help="From this step on, or with an s behind it from so many seconds: 12, 3.5s."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show each step: when, what, from where to where, and why it failed.

    Steps that changed nothing are dim on a terminal.
    """
    first = _since(since)

    def work(lines: Iterator[bytes]) -> None:
        if not json:
            _write(_columns("step", "seconds", "event", "from", "to", "what and why"), "bold")
        began: float | None = None
        for item in read(lines):
            if isinstance(item, Read) and isinstance(item.line, Entry) and began is None:
                began = item.line.event.at
            if not first(item, began or 0.0) or not _concerns(item, request):
                continue
            if json:
                _write_json(item)
            else:
                _show(item, began or 0.0)

    reading(file, work)


class _From:
    """Whether a line is late enough to be shown. Once one is, all that follow are."""

    def __init__(self, seq: int, seconds: float) -> None:
        self._seq, self._seconds = seq, seconds
        self._begun = not seq and not seconds

    def __call__(self, item: Read | Torn, began: float) -> bool:
        if not self._begun and isinstance(item, Read) and isinstance(item.line, Entry):
            self._begun = item.line.seq >= self._seq and item.line.event.at - began >= self._seconds
        return self._begun


def _since(text: str | None) -> _From:
    try:
        if text is None:
            return _From(0, 0.0)
        return _From(0, float(text[:-1])) if text.endswith("s") else _From(int(text), 0.0)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text} is neither a step nor seconds, such as 3.5s.", param_hint="--since"
        ) from error


def _concerns(item: Read | Torn, request: int | None) -> bool:
    if request is None:
        return True
    if isinstance(item, Torn):
        return False
    line = item.line
    if isinstance(line, Text):
        return line.request == request
    return isinstance(line, Entry) and (
        getattr(line.event, "request", None) == request or any(change.request == request for change in line.requests)
    )


def _write_json(item: Read | Torn) -> None:
    if isinstance(item, Read):
        # As it stands: what is piped on can still be verified.
        sys.stdout.write((item.unsealed.body[:-1] + b',"hash":"' + item.unsealed.hash.encode() + b'"}\n').decode())


def _show(item: Read | Torn, began: float) -> None:
    if isinstance(item, Torn):
        _note(f"the last line was never finished ({item.bytes} bytes)", "yellow")
        return
    match item.line:
        case Opening() as line:
            _note(
                f"{line.wall:%Y-%m-%d %H:%M:%S} UTC: file {line.file} of run {line.run}, runner-fsm {line.package}",
                "dim",
            )
        case Entry() as line:
            seconds = f"{line.event.at - began:.3f}"
            to = line.dest.value if line.dest is not line.source else ""
            _write(
                _columns(str(line.seq), seconds, line.event.trigger, line.source.value, to, _detail(line)), _style(line)
            )
        case Gap() | Overrun() as line:
            _note(remark(line), "yellow")
        case Text() as line:
            _note(f"{line.role} of request {line.request}: {line.text!r}", "cyan")
        case Closing() as line:
            _note(f"{line.wall:%Y-%m-%d %H:%M:%S} UTC: the run ended in order", "dim")


def _columns(seq: str, seconds: str, event: str, source: str, dest: str, detail: str) -> str:
    return f"{seq:>6}  {seconds:>9}  {event:<17}  {source:<8}  {dest:<8}  {detail}".rstrip()


def _note(text: str, style: str) -> None:
    _write(f"{'':>17}  {text}", style)


def _detail(line: Entry) -> str:
    parts = [detail(line.event)]
    if line.cause is not None and (line.source is not line.dest or line.settled):
        parts.append(f"{line.cause.kind.value} ({line.cause.certainty.value}): {line.cause.sentence}")
    for change in line.requests:
        if change.source is None or change.dest is not change.source:
            before = f"{change.source.value} → " if change.source is not None else ""
            parts.append(f"request {change.request}: {before}{change.dest.value}")
    if line.verdict in (Verdict.IGNORED, Verdict.REFUSED):
        parts.append(f"{line.verdict.value}: {line.why}")
    return "; ".join(part for part in parts if part)


def _style(line: Entry) -> str:
    if line.verdict in (Verdict.IGNORED, Verdict.REFUSED):
        return "dim"
    if line.dest is State.FAILED and line.source is not State.FAILED:
        return "bold red"
    return "bold" if line.verdict is Verdict.MOVED else ""


def _write(text: str, style: str) -> None:
    text = printable(text)
    if on_terminal(sys.stdout):
        from rich.console import Console
        from rich.text import Text as Styled

        Console().print(Styled(text, style=style), soft_wrap=True)
    else:
        sys.stdout.write(text + "\n")
