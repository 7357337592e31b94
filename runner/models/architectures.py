"""Which architectures the installed mlx-lm knows, learnt from its files without importing it.

An import of mlx-lm brings mlx and transformers with it, which the supervisor process never loads. So its source is
looked at: a module of the model's type that defines ``Model``, or a row in one of the tables of other names.
"""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

from fsm.failure import Kind
from runner.models.errors import ModelError

_NAME = re.compile(r"[\w.-]+", re.ASCII)
_DEFINES_MODEL = re.compile(r"^class Model\b|^from .*\bimport\b.*\bModel\b", re.MULTILINE)
_TYPE_TABLE = "MODEL_REMAPPING"
"""In ``mlx_lm/utils.py`` of 0.32: a type that is run by another type's module."""
_ARCHITECTURE_TABLE = "MODEL_ARCHITECTURE_REMAPPING"
"""The same for a type together with a name from ``architectures``; it goes first."""


def is_supported(model_type: str, architectures: tuple[str, ...] = ()) -> bool:
    """Whether the installed mlx-lm has a module for this type.

    Raises:
        ModelError: ``import_error`` if mlx-lm is not installed.
    """
    package = _package()
    types, by_architecture = _tables(package)
    special = (by_architecture.get((model_type, name)) for name in architectures)
    module = next(filter(None, special), None) or types.get(model_type, model_type)
    return _has_model(package, module)


@cache
def _package() -> Path:
    spec = importlib.util.find_spec("mlx_lm")  # of a top-level name: looks, does not import
    if spec is None or spec.origin is None:
        raise ModelError(Kind.IMPORT_ERROR, "mlx-lm is not installed for this Python.")
    return Path(spec.origin).parent


@cache
def _has_model(package: Path, module: str) -> bool:
    if _NAME.fullmatch(module) is None:
        return False
    try:
        source = (package / "models" / f"{module}.py").read_text(encoding="utf-8")
    except OSError:
        return False
    return _DEFINES_MODEL.search(source) is not None


@cache
def _tables(package: Path) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Both tables; empty where this mlx-lm has none, or not as a plain literal."""
    types: dict[str, str] = {}
    architectures: dict[tuple[str, str], str] = {}
    for statement in ast.parse((package / "utils.py").read_bytes()).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value) if name == _TYPE_TABLE:
                types = ast.literal_eval(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value) if name == _ARCHITECTURE_TABLE:
                architectures = ast.literal_eval(value)
            case _:
                pass
    return types, architectures
