"""Where journals are if nobody says where: one directory a user, a file a run, the newest kept."""

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import platformdirs

STATE_VARIABLE = "RUNNER_STATE_DIR"
"""Names another directory for journals."""

KEPT = 200
"""Runs that are kept in the default place; older ones make room when a new one begins."""

_SUFFIX = ".jsonl"


class Run(msgspec.Struct, frozen=True):
    """A run in the default place."""

    path: Path
    """Its first file."""
    began: datetime
    """By its name."""
    run: str
    """Its id."""
    bytes: int
    """Of all its files."""
    live: bool
    """Whether somebody is writing it."""


def state_directory() -> Path:
    """Where journals are kept: ``RUNNER_STATE_DIR`` if that is set, else the user's state directory of this system."""
    named = os.environ.get(STATE_VARIABLE)
    base = Path(named).expanduser().absolute() if named else platformdirs.user_state_path("runner-fsm")
    return base / "journals"


def path_for(run: str, began: datetime) -> Path:
    """The file of a run that begins now, in the default place."""
    return state_directory() / f"{began.astimezone(UTC):%Y%m%dT%H%M%S}Z-{run}{_SUFFIX}"


def files_of(path: Path) -> list[Path]:
    """All files of a run that are there, in order: ``PATH``, ``PATH.1``, ``PATH.2`` and so on."""
    numbered = [
        (int(other.name.removeprefix(f"{path.name}.")), other)
        for other in path.parent.glob(f"{_glob_escaped(path.name)}.*")
        if other.name.removeprefix(f"{path.name}.").isdigit()
    ]
    return ([path] if path.exists() else []) + [other for _, other in sorted(numbered)]


def runs() -> list[Run]:
    """The runs in the default place, the newest first. A file that vanishes meanwhile is left out."""
    found: list[Run] = []
    for path in state_directory().glob(f"*{_SUFFIX}"):
        stamp, _, run = path.name.removesuffix(_SUFFIX).partition("-")
        try:
            began = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            size = sum(file.stat().st_size for file in files_of(path))
            found.append(Run(path, began, run, size, is_live(path)))
        except (ValueError, FileNotFoundError):
            continue
    return sorted(found, key=lambda run: (run.began, run.run), reverse=True)


def is_live(path: Path) -> bool:
    """Whether somebody holds the lock of a run, which its writer does until it ends."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def make_room(keep: int = KEPT) -> None:
    """Remove the oldest runs of the default place beyond ``keep``; never one that is being written.

    Raises:
        OSError: if one can't be removed.
    """
    for run in runs()[keep:]:
        if not run.live:
            # The first file last: without it the others would not be found again.
            for file in reversed(files_of(run.path)):
                file.unlink(missing_ok=True)


def prepare(path: Path) -> None:
    """Make the default place, and room in it for one more run.

    Raises:
        OSError: if that can't be done.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    make_room(KEPT - 1)


def _glob_escaped(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)
