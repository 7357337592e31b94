"""What is answered, as structs, in OpenAI's form."""

from typing import Literal

import msgspec

FinishReason = Literal["stop", "length"]


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AnswerMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The model's turn."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class ChatChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The answer."""

    index: int = 0
    message: AnswerMessage
    logprobs: None = None
    finish_reason: str


class ChatCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """Of ``/v1/chat/completions``."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[ChatChoice]
    usage: Usage


class Delta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came."""

    role: str | None = None
    content: str | None = None


class ChatChunkChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the answer."""

    index: int = 0
    delta: Delta
    logprobs: None = None
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a stream of ``/v1/chat/completions``."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: tuple[ChatChunkChoice, ...]
    usage: Usage | msgspec.UnsetType | None = msgspec.UNSET
    """Only where it was asked for: null until the last event."""


class TextChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, or a piece of it."""

    index: int = 0
    text: str
    logprobs: None = None
    finish_reason: str | None = None


class TextCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """Of ``/v1/completions``, and an event of its stream."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: tuple[TextChoice, ...]
    usage: Usage | msgspec.UnsetType | None = msgspec.UNSET


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "runner"


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """Of ``/v1/models``."""

    object: Literal["list"] = "list"
    data: tuple[Model, ...]
