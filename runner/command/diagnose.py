"""``runner diagnose``: the cause of a death from what is left of it, for one case or for a file of cases.

The judgement is ``runner.diagnosis``; here are the options, the reading of files and the writing of answers.
"""

import signal
import sys
from typing import Annotated, BinaryIO

import typer

from fsm import Exit, Phase
from runner.command.console import drop_output, on_terminal, printable, write_json
from runner.command.exit_codes import ExitCode
from runner.diagnosis.batch import answer, answer_line
from runner.diagnosis.diagnose import diagnose as judge
from runner.diagnosis.evidence import PLATFORMS, Evidence, Platform


def _signal(text: str) -> int:
    """A signal by number or by name, with or without SIG."""
    if text.isdigit():
        return int(text)
    name = "SIG" + text.upper().removeprefix("SIG")
    if name not in signal.Signals.__members__:
        raise typer.BadParameter(f"{text!r} is no signal of this system. Write a number, or a name such as SIGKILL.")
    return int(signal.Signals[name])


def _platform(text: str) -> Platform:
    for platform in PLATFORMS:
        if platform == text:
            return platform
    raise typer.BadParameter(f"{text!r} is not known. Known: {', '.join(PLATFORMS)}.")


def diagnose(
    exit_code: Annotated[int | None, typer.Option("--exit", metavar="N", help="Exit code of the process.")] = None,
    signal_number: Annotated[
        int | None, typer.Option("--signal", parser=_signal, metavar="N|NAME", help="Signal that ended the process.")
    ] = None,
    phase: Annotated[Phase, typer.Option(help="What the process was doing.")] = Phase.UNKNOWN,
    platform: Annotated[
        str, typer.Option(parser=_platform, metavar="PLATFORM", help=f"Where it ran: {', '.join(PLATFORMS)}.")
    ] = "other",
    stderr: Annotated[
        typer.FileBinaryRead | None,
        typer.Option(metavar="FILE", help="What it wrote to stderr; - for standard input."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write the answer as one JSON object.")] = False,
    batch: Annotated[
        bool,
        typer.Option("--batch", help="Read cases as JSON lines from standard input; write one answer a line, at once."),
    ] = False,
) -> None:
    """Name the cause of a process's death from its exit, phase and stderr.

    A case of --batch is an object with exit ({"code": N} or {"signal": N}), phase, platform and stderr, each optional. A line
    that is no case is answered with {"error": ...}, and the exit code is 1 at the end.
    """
    if batch:
        raise typer.Exit(_answer_lines())
    if exit_code is not None and signal_number is not None:
        raise typer.BadParameter("A process ends by --exit or by --signal, not by both.")
    if exit_code is None and signal_number is None and stderr is None:
        raise typer.BadParameter("Nothing is known of the process. Give --exit, --signal or --stderr.")
    cause = judge(
        Evidence(
            exit=Exit(code=exit_code, signal=signal_number),
            phase=phase,
            platform=_platform(platform),
            stderr=_lines(stderr),
        )
    )
    if json:
        write_json(answer(cause))
        return
    scope = f", {cause.scope.value} memory" if cause.scope is not None else ""
    lines = [f"{cause.kind.value} ({cause.certainty.value}{scope})", cause.sentence]
    if cause.evidence:
        lines += ["Evidence:", *(f"  {line}" for line in cause.evidence)]
    lines.append(f"What to do: {cause.remedy}")
    clean = printable if on_terminal(sys.stdout) else str
    sys.stdout.write("".join(f"{clean(line)}\n" for line in lines))


def _lines(file: BinaryIO | None) -> tuple[str, ...]:
    return () if file is None else tuple(file.read().decode("utf-8", "replace").splitlines())


def _answer_lines() -> ExitCode:
    code = ExitCode.OK
    try:
        for line in sys.stdin.buffer:
            answered = answer_line(line)
            if "error" in answered:
                code = ExitCode.RUNNER_FAILED
            write_json(answered)
    except BrokenPipeError:
        drop_output()
        return ExitCode.BROKEN_PIPE
    return code
