"""The real command as a subprocess, and a look at every process that comes of it."""

import os
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "runner"]
MARK = "RUNNER_TEST_MARK"
"""In the environment of a command and of all its descendants."""


class Started:
    """A command under way."""

    def __init__(self, arguments: Sequence[str], **options: Any) -> None:
        self.mark = uuid.uuid4().hex
        environment = {**os.environ, MARK: self.mark, **options.pop("env", {})}
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            env=environment,
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                **options,
            },
        )

    def heard(self, word: str) -> str:
        """Read standard error up to the line that holds ``word``."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if word in line:
                return line
        raise AssertionError(f"{word} was never said")

    def descendants(self) -> list[int]:
        """Processes of this command that live, itself included."""
        return marked(self.mark)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end: exit code, rest of standard output and of standard error."""
        out, err = self.process.communicate()
        return self.process.returncode, out, err


def marked(mark: str) -> list[int]:
    """Processes that carry a mark. A zombie has no environment any more."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def worker_of(mark: str) -> int | None:
    """The worker among the processes that carry a mark."""
    for pid in marked(mark):
        if b"runner.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    return None


def run(*arguments: str, input: str | None = None, **options: Any) -> tuple[int, str, str]:
    """Run a command to its end: exit code, standard output, standard error. Nothing of it may be left."""
    given = {} if input is None else {"stdin": subprocess.PIPE}
    started = Started(arguments, **given, **options)
    out, err = started.process.communicate(input)
    assert not started.descendants()
    assert "\x1b" not in out + err
    assert "Traceback" not in err
    return started.process.returncode, out, err
