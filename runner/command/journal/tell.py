"""``runner journal replay``, ``explain`` and ``diff``: what was, why it ended so, and where two runs part."""

import sys
from typing import Annotated

import msgspec
import typer

from fsm.journal import replay as replayed
from fsm.journal.compare import compare
from fsm.journal.explain import Explanation, Moment
from fsm.journal.explain import explain as explained
from runner.command.console import on_terminal, printable, write_json
from runner.command.exit_codes import ExitCode
from runner.command.journal.opened import File, Json, reading

Incarnation = Annotated[
    int | None, typer.Option(metavar="N", help="This one, instead of the last that failed, or else the last.")
]


def replay(
    file: File,
    until: Annotated[int | None, typer.Option(metavar="SEQ", help="Where it stood after this step.")] = None,
    json: Json = False,
) -> None:
    """Rebuild where the runner stood, from the events alone."""
    status = reading(file, lambda lines: replayed(lines, until=until))
    if json:
        write_json(status)
        return
    fields = msgspec.to_builtins(status)
    requests = fields.pop("requests")
    cause = fields.pop("cause")
    for name, value in fields.items():
        sys.stdout.write(f"{name:12} {value}\n")
    sys.stdout.write(f"{'cause':12} {'none' if cause is None else cause['kind'] + ': ' + cause['sentence']}\n")
    sys.stdout.write(f"{'requests':12} {', '.join(f'{n} {s}' for n, s in requests.items()) or 'none under way'}\n")


def explain(file: File, incarnation: Incarnation = None, json: Json = False) -> None:
    """Tell what led to the failure: a paragraph, the steps, the evidence, and what to do."""
    explanation = reading(file, lambda lines: explained(lines, incarnation=incarnation))
    if json:
        write_json(explanation)
    elif on_terminal(sys.stdout):
        _show(explanation)
    else:
        sys.stdout.write("".join(f"{printable(line)}\n" for line in _plain(explanation)))


def _plain(explanation: Explanation) -> list[str]:
    lines = [explanation.paragraph, "", "What happened:"]
    lines += [_moment(moment) for moment in explanation.moments]
    if explanation.left_out:
        lines.append(f"{explanation.left_out} other steps are left out; `runner journal show` has them all.")
    if (cause := explanation.cause) is not None:
        if cause.evidence:
            lines += ["", "Evidence:", *(f"  {line}" for line in cause.evidence)]
        if cause.remedy:
            lines += ["", f"What to do: {cause.remedy}"]
    return lines


def _moment(moment: Moment) -> str:
    mark = ">" if moment.decisive else " "
    return f"{mark} {moment.seconds:>9.3f} s  #{moment.seq:<5} {moment.text}"


def _show(explanation: Explanation) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    console.print(Text(printable(explanation.paragraph), style="bold red" if explanation.failed else "bold"))
    for line in _plain(explanation)[1:]:
        style = "red" if line.startswith(">") else "bold" if line.endswith(":") else ""
        console.print(Text(printable(line), style=style), soft_wrap=True)


def diff(
    left: Annotated[str, typer.Argument(metavar="A", help="A journal.")],
    right: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    json: Json = False,
) -> None:
    """Find the first step in which two runs part. Times, process ids and digests don't count.

    The exit code is 0 if they don't part, 1 if they do.
    """
    parting = reading(left, lambda lines: reading(right, lambda others: compare(lines, others)))
    if json:
        write_json(parting)
    elif parting is None:
        sys.stdout.write("The two runs made the same steps.\n")
    else:
        before = "".join(f"      {printable(text)}\n" for text in parting.before)
        sys.stdout.write(
            f"They part at step {parting.seq} ({parting.field}):\n{before}"
            f"  A   {printable(parting.left)}\n  B   {printable(parting.right)}\n"
        )
    raise typer.Exit(ExitCode.OK if parting is None else ExitCode.RUNNER_FAILED)
