"""Is a directory a model that can be loaded? Asked before a child is started on it.

Here lives what can be known from names, headers and lengths, in pure Python: no mlx, no numbers read. What only a load
can show (a wrong shape, too little memory) is the worker's to find.
"""

import os
from pathlib import Path
from typing import cast

import msgspec

from fsm.failure import Kind
from runner.models.architectures import is_supported
from runner.models.errors import ModelError
from runner.models.safetensors import read_header

WEIGHTS = "model*.safetensors"
"""The files that mlx-lm loads."""
INDEX = "model.safetensors.index.json"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "*.tiktoken", "tokenization_*.py")
"""One of these is there in every model that transformers can make a tokenizer of."""


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the files say about a model. A number that they do not tell is 0."""

    model_type: str
    bytes: int
    """Of weights, as they lie on the disk."""
    tensors: int
    context: int
    """Longest prompt and answer together that the model was made for, in tokens (``max_position_embeddings``)."""
    layers: int
    kv_heads: int
    head_dim: int


class _Text(msgspec.Struct, frozen=True):
    """The numbers of the language part; in a model that also sees, they stand in ``text_config``."""

    max_position_embeddings: int | None = None
    num_hidden_layers: int | None = None
    num_attention_heads: int | None = None
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_size: int | None = None


class _Config(_Text, frozen=True):
    model_type: str | None = None
    architectures: list[str] | str | None = None
    model_file: str | None = None
    text_config: _Text | None = None


class _Index(msgspec.Struct, frozen=True):
    weight_map: dict[str, str]


def check(directory: Path) -> ModelFacts:
    """Hold a directory against what mlx-lm needs, and return what its files tell.

    Reads ``config.json``, the index and the headers: some milliseconds, but of disk, so call it in a thread where an
    event loop waits.

    Raises:
        ModelError: ``model_missing`` if nothing is there, or it can't be read; ``model_invalid`` if a file is missing,
            damaged or cut short, or the architecture is not known; ``import_error`` if mlx-lm is not installed.
    """
    if not directory.is_dir():
        what = "is a file, not a directory" if directory.exists() else "does not exist"
        raise ModelError(Kind.MODEL_MISSING, f"The model directory {directory} {what}.")
    config = _config(directory / "config.json")
    model_type = _model_type(directory, config)
    files = sorted(directory.glob(WEIGHTS))
    _complete(directory, files)
    headers = [read_header(file) for file in files]
    _tokenizer(directory)
    text = config if config.text_config is None or config.num_hidden_layers is not None else config.text_config
    heads = text.num_attention_heads or 0
    return ModelFacts(
        model_type=model_type,
        bytes=sum(header.bytes for header in headers),
        tensors=sum(len(header.tensors) for header in headers),
        context=text.max_position_embeddings or 0,
        layers=text.num_hidden_layers or 0,
        kv_heads=text.num_key_value_heads or heads,
        head_dim=text.head_dim or ((text.hidden_size or 0) // heads if heads else 0),
    )


def _config(path: Path) -> _Config:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Config)
    except FileNotFoundError as error:
        raise ModelError(
            Kind.MODEL_INVALID,
            f"{path.parent} holds no config.json, so it is no model in mlx-lm's format.",
            remedy="Give the directory that holds config.json and model*.safetensors, or a .gguf file.",
        ) from error
    except OSError as error:
        raise ModelError(Kind.MODEL_MISSING, f"{path} can't be read: {error.strerror or error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelError(Kind.MODEL_INVALID, f"{path} can't be understood: {error}.") from error


def _model_type(directory: Path, config: _Config) -> str:
    if not config.model_type:
        raise ModelError(Kind.MODEL_INVALID, f"{directory / 'config.json'} names no model_type.")
    if config.model_file is not None:
        raise ModelError(
            Kind.MODEL_INVALID,
            f"{directory} brings its own code ({config.model_file}), which is not run.",
            remedy="Use a model of an architecture that mlx-lm has itself.",
        )
    names = config.architectures or []
    if not is_supported(config.model_type, (names,) if isinstance(names, str) else tuple(names)):
        raise ModelError(
            Kind.MODEL_INVALID,
            f"The architecture {config.model_type!r} of {directory} is not one that the installed mlx-lm supports.",
            remedy="Update mlx-lm, or use a model of an architecture that it has.",
        )
    return config.model_type


def _complete(directory: Path, files: list[Path]) -> None:
    """There are weights, and all the files that the index names, if there is an index."""
    index = directory / INDEX
    named = cast("set[str]", set())
    if os.path.lexists(index):
        try:
            named = set(msgspec.json.decode(index.read_bytes(), type=_Index).weight_map.values())
        except OSError as error:
            raise ModelError(Kind.MODEL_MISSING, f"{index} can't be read: {error.strerror or error}.") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ModelError(Kind.MODEL_INVALID, f"{index} can't be understood: {error}.") from error
    missing = sorted(named - {file.name for file in files})
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ModelError(
            Kind.MODEL_INVALID,
            f"{directory} lacks {', '.join(missing[:3])}{more}, of {len(named)} files that its index names.",
        )
    if not files:
        raise ModelError(
            Kind.MODEL_INVALID,
            f"{directory} holds no {WEIGHTS}.",
            remedy="Fetch the weights, or convert the model with `mlx_lm.convert`.",
        )


def _tokenizer(directory: Path) -> None:
    if not any(next(directory.glob(pattern), None) for pattern in TOKENIZERS):
        raise ModelError(Kind.MODEL_INVALID, f"{directory} holds no tokenizer (such as tokenizer.json).")
