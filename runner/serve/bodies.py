"""What may be asked, as structs: a field that is not here is refused by name, never ignored."""

import re
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from runner.serve.errors import ApiError

Whole = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Stop = Annotated[str, Meta(min_length=1)]

DEFAULT_MAX_TOKENS = 512
"""As ``mlx_lm.server`` has it."""


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all bodies."""


class TextPart(Body, frozen=True, kw_only=True):
    """A part of a message. There is no other than text."""

    type: Literal["text"]
    text: str


class Message(Body, frozen=True, kw_only=True):
    """One turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    """``developer`` reaches the model's template as ``system``."""
    content: str | list[TextPart]

    def turn(self) -> dict[str, str]:
        """As the supervisor takes it."""
        parts = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return {"role": "system" if self.role == "developer" else self.role, "content": parts}


class StreamOptions(Body, frozen=True, kw_only=True):
    """What a stream holds besides."""

    include_usage: bool = False


class Asked(Body, frozen=True, kw_only=True):
    """What both ways of asking have in common. Whatever is left out, or null, has its default."""

    model: str | None = None
    """The one that is served, if any is named."""
    max_tokens: Whole | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    """0, the default, takes the likeliest token."""
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    stop: Stop | Annotated[list[Stop], Meta(max_length=4)] | None = None
    n: Annotated[int, Meta(ge=1, le=1)] | None = None
    """Answers to one prompt; there is one."""
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts before which the answer ends."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with the count of its tokens."""
        return self.stream_options is not None and self.stream_options.include_usage


class ChatBody(Asked, frozen=True, kw_only=True):
    """Of ``/v1/chat/completions``."""

    messages: Annotated[list[Message], Meta(min_length=1)]
    max_completion_tokens: Whole | None = None
    """The newer name of ``max_tokens``."""


class CompletionBody(Asked, frozen=True, kw_only=True):
    """Of ``/v1/completions``."""

    prompt: (
        Annotated[str, Meta(min_length=1)]
        | Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1, max_length=1)]
    )
    """A text, or a list of one. It goes to the model as it is."""


T = TypeVar("T")

_PATH = re.compile(r" - at `\$\.?(.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(.*)`$", re.DOTALL)


def decode(raw: bytes, kind: type[T]) -> T:
    """A body as the struct that it must be.

    Raises:
        ApiError: 400, with the field that is at fault.
    """
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise _at_fault(str(error)) from None
    except RecursionError:
        raise ApiError(400, "The body is nested too deeply.", code="invalid_json") from None
    except msgspec.DecodeError as error:
        raise ApiError(400, f"The body is no JSON: {error}", code="invalid_json") from None


def _at_fault(said: str) -> ApiError:
    at = _PATH.search(said)
    path, what = (at.group(1), said[: at.start()]) if at else ("", said)
    if unknown := _UNKNOWN.match(what):
        field = _joined(path, unknown.group(1))
        return ApiError(400, f"{field} is not supported here.", code="unsupported_parameter", param=field)
    if missing := _MISSING.match(what):
        field = _joined(path, missing.group(1))
        return ApiError(400, f"{field} is missing.", code="missing_required_parameter", param=field)
    where = f"{path}: " if path else "The body: "
    return ApiError(400, f"{where}{what}.", code="invalid_value", param=path or None)


def _joined(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field
