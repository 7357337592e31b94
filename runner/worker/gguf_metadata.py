"""The metadata of a GGUF file, by key and kind, and the error for what can't be converted.

Here lives the reading of single values; what they mean is found in ``gguf`` and ``gguf_tokenizer``. Like those, it runs
in a child.
"""

from typing import Any, cast

from fsm.failure import Kind
from runner.models.errors import ModelError


def unsupported(what: str) -> ModelError:
    """Make the error for a GGUF file that can be read, but is of a kind that can't be converted."""
    return ModelError(
        Kind.MODEL_INVALID,
        f"This GGUF file can't be converted: {what}.",
        remedy="Use a GGUF file of the llama architecture in F16, Q8_0, Q4_0 or Q4_1, or a model in mlx-lm's format.",
    )


class Metadata:
    """Values by key. Each getter raises ``ModelError`` if there is no such key, or a value of another kind."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def integer(self, key: str) -> int:
        """Return a whole number."""
        return int(self._scalar(key))

    def number(self, key: str) -> float:
        """Return a number."""
        return float(self._scalar(key))

    def flag(self, key: str) -> bool:
        """Return a truth value."""
        return bool(self._scalar(key))

    def text(self, key: str) -> str:
        """Return a text."""
        value = self._get(key)
        if not isinstance(value, str):
            raise unsupported(f"{key} is no text")
        return value

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        value = self._get(key)
        if not isinstance(value, list):
            raise unsupported(f"{key} is no list")
        return cast("list[str]", value)

    def integers(self, key: str) -> list[int]:
        """Return a list of whole numbers."""
        value = self._get(key)
        if not hasattr(value, "tolist"):
            raise unsupported(f"{key} is no list of numbers")
        return cast("list[int]", value.tolist())

    def _get(self, key: str) -> Any:
        try:
            return self._values[key]
        except KeyError:
            raise unsupported(f"it does not say {key}") from None

    def _scalar(self, key: str) -> Any:
        value = self._get(key)
        if getattr(value, "size", 0) != 1:
            raise unsupported(f"{key} is not one number")
        return value.item()
