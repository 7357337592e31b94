"""What ``--model`` may be, and how it is told apart.

Here lives the reading of the words alone, with a look at whether a path exists. Nothing is opened, fetched or made
here; ``resolve`` does that.
"""

import re
from enum import StrEnum
from pathlib import Path
from typing import Self

import msgspec

from fsm.failure import Kind
from runner.models.errors import ModelError

HUB_ID = re.compile(r"(?P<repo>[\w][\w.-]*/[\w][\w.-]*)(?:@(?P<revision>[\w][\w./-]*))?", re.ASCII)
"""An owner, a slash, a name, and after an ``@`` a branch, tag or commit."""


class ReferenceKind(StrEnum):
    """Where a model comes from."""

    TINY = "tiny"
    """Random weights, made on the spot."""
    SMOLLM2 = "smollm2"
    """SmolLM2-135M-Instruct, fetched once as a package, then kept."""
    DIRECTORY = "directory"
    """A directory in mlx-lm's format."""
    GGUF = "gguf"
    """A GGUF file, converted once, then kept."""
    HUB = "hub"
    """A repository of the hub, in mlx-lm's format."""


class ModelReference(msgspec.Struct, frozen=True):
    """A model by name or place."""

    kind: ReferenceKind
    text: str
    """What was written."""
    path: Path | None = None
    """For ``directory`` and ``gguf``: where it is."""
    repository: str = ""
    """For ``hub``: owner and name."""
    revision: str = ""
    """For ``hub``: branch, tag or commit; empty for the repository's default branch."""

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what ``--model`` was given.

        ``tiny`` and ``smollm2`` are names (write ``./tiny`` for a directory so called); a path that exists is a path;
        ``owner/name`` or ``owner/name@revision`` is a hub id. A leading ``~`` is the home directory.

        Raises:
            ModelError: ``model_missing`` if it is none of these, or a path where nothing is;
                ``model_invalid`` for a file that is not ``.gguf``.
        """
        if text in (ReferenceKind.TINY, ReferenceKind.SMOLLM2):
            return cls(ReferenceKind(text), text)
        if not text.strip() or "\0" in text:
            raise ModelError(Kind.MODEL_MISSING, f"A model is needed, {text!r} names none.", remedy=_CHOICES)
        path = _expanded(text)
        try:
            there, directory = path.exists(), path.is_dir()
        except OSError as error:  # a name that is too long, a directory that may not be searched
            reason = f"{text[:200]} can't be looked at: {error.strerror}."
            raise ModelError(Kind.MODEL_MISSING, reason, remedy=_CHOICES) from error
        if there:
            _check_name(str(path.absolute()))
        if directory:
            return cls(ReferenceKind.DIRECTORY, text, path.absolute())
        if there:
            return cls(ReferenceKind.GGUF, text, _gguf(path))
        match = HUB_ID.fullmatch(text)
        if match is not None and path.suffix.lower() != ".gguf":
            return cls(ReferenceKind.HUB, text, repository=match["repo"], revision=match["revision"] or "")
        raise ModelError(Kind.MODEL_MISSING, _nothing(text), remedy=_CHOICES)


_CHOICES = (
    "Use `smollm2`, `tiny`, a directory in mlx-lm's format, a .gguf file, "
    "or a hub id (`owner/name`, `owner/name@revision`)."
)


def _check_name(name: str) -> None:
    """No message can carry a file name that is not UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ModelError(
            Kind.MODEL_INVALID, f"The path {name!r} is not UTF-8.", remedy="Rename it, or name a link to it."
        ) from error


def _expanded(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:  # `~name` where no such user is known
        raise ModelError(Kind.MODEL_MISSING, f"{text}: {error}", remedy=_CHOICES) from error


def _gguf(path: Path) -> Path:
    if path.suffix.lower() != ".gguf":
        raise ModelError(
            Kind.MODEL_INVALID,
            f"{path} is a file, but not a .gguf file.",
            remedy="Give the directory that holds the model, or a .gguf file.",
        )
    return path.absolute()


def _nothing(text: str) -> str:
    if "/" in text or text.startswith((".", "~")) or text.lower().endswith(".gguf"):
        return f"There is no file or directory {text}."
    return f"There is no model, file or directory {text!r} here, and it is no hub id."
