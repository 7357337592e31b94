"""Options that several commands have in common, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

from runner.command.sizes import parse_size
from runner.journal.journal import Journal
from runner.settings import Settings

DEFAULT_MODEL = "smollm2"


def size(text: str) -> int:
    """A size in bytes, as ``2GiB``.

    Raises:
        typer.BadParameter: if it is none.
    """
    try:
        return parse_size(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _positive(value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise typer.BadParameter(f"{value:g} is not a positive number of seconds.")
    return value


def _probability(value: float) -> float:
    if not 0 < value <= 1:
        raise typer.BadParameter(f"{value:g} is not more than 0 and at most 1.")
    return value


def _not_empty(values: list[str] | None) -> list[str] | None:
    if values is not None and not all(values):
        raise typer.BadParameter("A stop string is empty; it would end every answer before it begins.")
    return values


_SAMPLING = "How the answer is drawn"
_RUNNER = "How the runner is watched"

Model = Annotated[
    str,
    typer.Option(
        "--model", "-m", metavar="MODEL", help="smollm2, tiny, a hub id, a directory for mlx-lm, or a .gguf file."
    ),
]
MaxTokens = Annotated[
    int, typer.Option(min=1, metavar="N", help="Most tokens of an answer.", rich_help_panel=_SAMPLING)
]
Temperature = Annotated[
    float, typer.Option(min=0, metavar="X", help="0 takes the likeliest token.", rich_help_panel=_SAMPLING)
]
TopP = Annotated[
    float,
    typer.Option(
        callback=_probability,
        metavar="P",
        help="Draw from the smallest set of this probability.",
        rich_help_panel=_SAMPLING,
    ),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Make what is drawn repeatable.", rich_help_panel=_SAMPLING)
]
Stop = Annotated[
    list[str] | None,
    typer.Option(
        callback=_not_empty,
        metavar="TEXT",
        help="End the answer before this text; can be repeated.",
        rich_help_panel=_SAMPLING,
    ),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option(
        parser=size,
        metavar="SIZE",
        help="Memory that the model's process may take, such as 2GiB; needs memory cgroups.",
        rich_help_panel=_RUNNER,
    ),
]
LoadTimeout = Annotated[
    float | None,
    typer.Option(
        callback=_positive,
        metavar="SECONDS",
        help="Longest time without progress of the load.",
        rich_help_panel=_RUNNER,
    ),
]
PrefillTimeout = Annotated[
    float | None,
    typer.Option(
        callback=_positive,
        metavar="SECONDS",
        help="Longest time without progress while a prompt is read.",
        rich_help_panel=_RUNNER,
    ),
]
DecodeTimeout = Annotated[
    float | None,
    typer.Option(
        callback=_positive, metavar="SECONDS", help="Longest time between two tokens.", rich_help_panel=_RUNNER
    ),
]

_JOURNAL = "What is written down"

JournalFile = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="Where to write the journal, instead of the default place (`runner journal list`). It must not be there yet.",
        rich_help_panel=_JOURNAL,
    ),
]
NoJournal = Annotated[bool, typer.Option("--no-journal", help="Write no journal.", rich_help_panel=_JOURNAL)]
JournalKey = Annotated[
    Path | None,
    typer.Option(
        "--journal-key",
        metavar="FILE",
        help="Seal the journal with the key in this file (HMAC), so that nobody without it can write it anew.",
        rich_help_panel=_JOURNAL,
    ),
]
RecordText = Annotated[
    bool,
    typer.Option(
        "--record-text",
        help="Write prompts, answers and the arguments of exceptions into the journal too.",
        rich_help_panel=_JOURNAL,
    ),
]


def key_in(path: Path | None, option: str = "--journal-key") -> bytes | None:
    """The key in the file that an option names, without a line end behind it.

    Raises:
        typer.BadParameter: if there is none.
    """
    if path is None:
        return None
    try:
        key = path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise typer.BadParameter(f"{path} can't be read: {error.strerror}.", param_hint=option) from error
    if not key:
        raise typer.BadParameter(f"{path} is empty; a key must be in it.", param_hint=option)
    return key


def journal(path: Path | None, no_journal: bool, key: Path | None, text: bool) -> Journal | None:
    """The journal that these options ask for, or ``None`` for none.

    Raises:
        typer.BadParameter: if they contradict each other, or the key can't be read.
    """
    if no_journal:
        for given, name in ((path, "--journal"), (key, "--journal-key"), (text, "--record-text")):
            if given:
                raise typer.BadParameter(f"{name} makes no sense with it.", param_hint="--no-journal")
        return None
    return Journal(path=path, key=key_in(key), text=text)


def settings(
    memory_limit: int | None, load_timeout: float | None, prefill_timeout: float | None, decode_timeout: float | None
) -> Settings:
    """The settings that these options make; the others keep their defaults.

    Raises:
        SettingsError: if one makes no sense.
    """
    default = Settings()
    return Settings(
        memory_limit=memory_limit,
        load_timeout=load_timeout or default.load_timeout,
        prefill_timeout=prefill_timeout or default.prefill_timeout,
        decode_timeout=decode_timeout or default.decode_timeout,
    )
