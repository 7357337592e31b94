"""What a person is told when something goes wrong: cause, evidence and remedy, and which exit code goes with it.

Only errors that can be expected are known here. Any other is a bug, and its traceback is wanted.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from fsm import FailureCause
from runner.command.console import on_terminal, printable, write_json
from runner.command.exit_codes import ExitCode
from runner.errors import CommandRefused, ProcessUnkillable, RequestCancelled, RequestFailed, RunnerFailed
from runner.journal.errors import JournalRefused
from runner.models.errors import ModelError
from runner.settings import SettingsError

EXPECTED = (
    RunnerFailed,
    RequestFailed,
    RequestCancelled,
    CommandRefused,
    ModelError,
    SettingsError,
    ProcessUnkillable,
    JournalRefused,
)
"""Errors that are told in words."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error in the words of the command."""

    code: ExitCode
    what: str
    """What failed: ``runner``, ``request``, ``command``, ``model``, ``settings``, ``process``, ``journal`` or ``server``."""
    sentence: str
    kind: str = ""
    certainty: str = ""
    phase: str = ""
    remedy: str = ""
    evidence: tuple[str, ...] = ()
    journal: str = ""
    """The journal that tells what led to it."""

    @property
    def title(self) -> str:
        """One line that names it."""
        kind = f": {self.kind}" if self.kind else ""
        sure = f" ({self.certainty})" if self.certainty else ""
        when = f" during {self.phase}" if self.phase else ""
        return f"{_TITLES[self.what]}{kind}{sure}{when}"


Teller = Callable[[Failure], None]
"""Tells somebody of a failure."""

_TITLES = {
    "runner": "The runner failed",
    "request": "The request failed",
    "command": "Refused",
    "model": "The model can't be used",
    "settings": "Wrong usage",
    "process": "A process is left behind",
    "journal": "The journal can't be written there",
    "server": "The server can't start",
}


def describe(error: Exception) -> Failure:
    """Put one of the ``EXPECTED`` errors into words. Any other is raised again."""
    match error:
        case RunnerFailed(cause=FailureCause() as cause):
            return _of_cause(cause)
        case RequestFailed(cause=FailureCause() as cause):
            return _of_cause(cause)
        case RunnerFailed():
            return Failure(code=ExitCode.RUNNER_FAILED, what="runner", sentence=str(error))
        case RequestFailed():
            return Failure(
                code=ExitCode.REQUEST_FAILED,
                what="request",
                kind=error.kind.value,
                sentence=error.outcome.message,
                remedy="The same request can succeed if it is sent again." if error.retryable else "",
            )
        case RequestCancelled():
            return Failure(code=ExitCode.REQUEST_FAILED, what="request", kind="cancelled", sentence=str(error))
        case CommandRefused(__cause__=ModelError() as cause):
            return describe(cause)
        case CommandRefused():
            return Failure(
                code=ExitCode.REFUSED,
                what="command",
                sentence=f"{error.command}: {error.reason}",
            )
        case ModelError():
            return Failure(
                code=ExitCode.REFUSED,
                what="model",
                kind=error.kind.value,
                sentence=error.sentence,
                remedy=error.remedy,
                evidence=error.evidence,
            )
        case SettingsError():
            return Failure(code=ExitCode.USAGE, what="settings", sentence=str(error))
        case ProcessUnkillable():
            return Failure(code=ExitCode.UNKILLABLE, what="process", sentence=str(error))
        case JournalRefused():
            return Failure(code=ExitCode.REFUSED, what="journal", sentence=str(error))
        case _:
            raise error


def _of_cause(cause: FailureCause) -> Failure:
    return Failure(
        code=ExitCode.RUNNER_FAILED,
        what="runner",
        kind=cause.kind.value,
        certainty=cause.certainty.value,
        phase=cause.phase.value,
        sentence=cause.sentence,
        remedy=cause.remedy,
        evidence=cause.evidence,
    )


def with_journal(failure: Failure, journal: Path | None) -> Failure:
    """A failure of the runner with the journal that tells what led to it."""
    if journal is None or failure.what not in ("runner", "process"):
        return failure
    return msgspec.structs.replace(failure, journal=str(journal))


def show(failure: Failure) -> None:
    """Tell of it on standard error: in a panel on a terminal, else in plain lines."""
    if on_terminal(sys.stderr):
        _show_panel(failure)
        return
    lines = [f"{failure.title}. {failure.sentence}" if failure.kind else f"{failure.title}: {failure.sentence}"]
    if failure.evidence:
        lines += ["Evidence:", *(f"  {line}" for line in failure.evidence)]
    if failure.remedy:
        lines.append(f"What to do: {failure.remedy}")
    if failure.journal:
        lines.append(f"What led to it: runner journal explain {failure.journal}")
    sys.stderr.write("".join(f"{printable(line)}\n" for line in lines))


def _show_panel(failure: Failure) -> None:
    from rich.console import Console, Group
    from rich.panel import Panel
    from rich.text import Text

    parts = [Text(printable(failure.sentence))]
    parts += [Text(f"  {printable(line)}", style="dim") for line in failure.evidence]
    if failure.remedy:
        parts.append(Text.assemble(("What to do: ", "bold"), printable(failure.remedy)))
    if failure.journal:
        parts.append(Text.assemble(("What led to it: ", "bold"), f"runner journal explain {failure.journal}"))
    panel = Panel(Group(*parts), title=Text(failure.title), title_align="left", border_style="red")
    Console(stderr=True).print(panel)


def show_json(failure: Failure) -> None:
    """Tell of it on standard output, for a script that reads JSON there."""
    write_json({"error": failure})


def teller(*, json: bool) -> Teller:
    """How a command with the option ``--json`` tells of a failure."""
    return show_json if json else show
