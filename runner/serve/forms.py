"""The two forms of an answer, whole or as the events of a stream: a conversation's turn, and a text that goes on."""

from typing import Protocol

import msgspec

from runner.generation import Answer
from runner.serve.answers import (
    AnswerMessage,
    ChatChoice,
    ChatChunk,
    ChatChunkChoice,
    ChatCompletion,
    Delta,
    TextChoice,
    TextCompletion,
    Usage,
)


class Form(Protocol):
    """How an answer is written."""

    def whole(self, answer: Answer) -> msgspec.Struct:
        """The body of an answer."""
        ...

    def opening(self) -> msgspec.Struct | None:
        """What a stream begins with, if anything."""
        ...

    def piece(self, text: str) -> msgspec.Struct:
        """The event that brings a piece of text."""
        ...

    def end(self, answer: Answer) -> msgspec.Struct:
        """The event that says why it ended."""
        ...

    def usage(self, answer: Answer) -> msgspec.Struct:
        """The event that counts the tokens."""
        ...


def _usage(answer: Answer) -> Usage:
    return Usage(
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.tokens,
        total_tokens=answer.prompt_tokens + answer.tokens,
    )


class ChatForm:
    """Of ``/v1/chat/completions``."""

    def __init__(self, id: str, created: int, model: str, *, include_usage: bool) -> None:
        self._id = f"chatcmpl-{id}"
        self._created = created
        self._model = model
        self._no_usage = None if include_usage else msgspec.UNSET

    def whole(self, answer: Answer) -> ChatCompletion:
        """The body of an answer."""
        choice = ChatChoice(message=AnswerMessage(content=answer.text), finish_reason=answer.reason)
        return ChatCompletion(
            id=self._id, created=self._created, model=self._model, choices=(choice,), usage=_usage(answer)
        )

    def opening(self) -> ChatChunk:
        """Whose turn it is."""
        return self._chunk(Delta(role="assistant", content=""))

    def piece(self, text: str) -> ChatChunk:
        """A piece of text."""
        return self._chunk(Delta(content=text))

    def end(self, answer: Answer) -> ChatChunk:
        """Why it ended."""
        return self._chunk(Delta(), answer.reason)

    def usage(self, answer: Answer) -> ChatChunk:
        """Its tokens."""
        return ChatChunk(id=self._id, created=self._created, model=self._model, choices=(), usage=_usage(answer))

    def _chunk(self, delta: Delta, reason: str | None = None) -> ChatChunk:
        choice = ChatChunkChoice(delta=delta, finish_reason=reason)
        return ChatChunk(id=self._id, created=self._created, model=self._model, choices=(choice,), usage=self._no_usage)


class TextForm:
    """Of ``/v1/completions``."""

    def __init__(self, id: str, created: int, model: str, *, include_usage: bool) -> None:
        self._id = f"cmpl-{id}"
        self._created = created
        self._model = model
        self._no_usage = None if include_usage else msgspec.UNSET

    def whole(self, answer: Answer) -> TextCompletion:
        """The body of an answer."""
        return self._completion((TextChoice(text=answer.text, finish_reason=answer.reason),), _usage(answer))

    def opening(self) -> None:
        """Nothing comes before the text."""

    def piece(self, text: str) -> TextCompletion:
        """A piece of text."""
        return self._completion((TextChoice(text=text),), self._no_usage)

    def end(self, answer: Answer) -> TextCompletion:
        """Why it ended."""
        return self._completion((TextChoice(text="", finish_reason=answer.reason),), self._no_usage)

    def usage(self, answer: Answer) -> TextCompletion:
        """Its tokens."""
        return self._completion((), _usage(answer))

    def _completion(self, choices: tuple[TextChoice, ...], usage: Usage | msgspec.UnsetType | None) -> TextCompletion:
        return TextCompletion(id=self._id, created=self._created, model=self._model, choices=choices, usage=usage)
