"""What a caller asks for, checked and put into the message for the worker. What makes no sense is refused here, by name."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from fsm import CommandRefused
from runner.channel.messages import Generate, Sampling, Turn

_MOST_TOKENS = 2**31 - 1
"""More than any context; what the context does not hold is not generated anyway."""


def message_for(
    request: int,
    prompt: str | Sequence[Mapping[str, str]],
    *,
    max_tokens: int,
    temperature: float,
    top_p: float,
    seed: int | None,
    stop: str | Sequence[str],
    raw: bool,
) -> Generate:
    """The message that asks the worker for an answer. The arguments are those of ``RunnerSupervisor.generate``.

    Raises:
        CommandRefused: if one makes no sense. It says which, what was given, and what would do.
    """
    return Generate(
        request=request,
        turns=() if raw else _turns(prompt),
        text=_raw_text(prompt) if raw else None,
        sampling=Sampling(
            max_tokens=_whole("max_tokens", max_tokens, 1, _MOST_TOKENS),
            temperature=_number("temperature", temperature, "0 or more", lambda value: 0 <= value < math.inf),
            top_p=_number("top_p", top_p, "more than 0 and at most 1", lambda value: 0 < value <= 1),
            seed=None if seed is None else _whole("seed", seed, -(2**63), 2**64 - 1),
            stop=_stops(stop),
        ),
    )


def _refuse(reason: str) -> CommandRefused:
    return CommandRefused("generate", reason)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _refuse(f"{name} must be text; {value!r} was given.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _refuse(
            f"{name} holds {value[error.start]!r} at {error.start}, half of a character that no text can hold by itself."
        ) from None
    return value


def _turns(prompt: Any) -> tuple[Turn, ...]:
    if isinstance(prompt, str):
        if not prompt.strip():
            raise _refuse("the prompt is empty.")
        return (Turn("user", _text("the prompt", prompt)),)
    if not isinstance(prompt, Iterable):
        raise _refuse(f"the prompt must be text or turns; {prompt!r} was given.")
    turns: list[Turn] = []
    for number, turn in enumerate(cast("Iterable[Any]", prompt)):
        fields = cast("Mapping[str, Any]", turn if isinstance(turn, Mapping) else {})
        role, content = fields.get("role"), fields.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            raise _refuse(f"turn {number} needs a role and a content, both text; {turn!r} was given.")
        turns.append(Turn(_text(f"the role of turn {number}", role), _text(f"turn {number}", content)))
    if not any(turn.content.strip() for turn in turns):
        raise _refuse("the prompt is empty.")
    return tuple(turns)


def _raw_text(prompt: Any) -> str:
    if not isinstance(prompt, str):
        raise _refuse("raw needs a prompt that is one string.")
    if not prompt:
        raise _refuse("the prompt is empty.")
    return _text("the prompt", prompt)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _refuse(f"{name} must be a whole number from {least} to {most}; {value!r} was given.")
    return value


def _number(name: str, value: Any, what: str, fits: Callable[[float], bool]) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not fits(value):
        raise _refuse(f"{name} must be {what}; {value!r} was given.")
    return float(value)


def _stops(stop: Any) -> tuple[str, ...]:
    if not isinstance(stop, str | Iterable):
        raise _refuse(f"stop must be text or several texts; {stop!r} was given.")
    given = (stop,) if isinstance(stop, str) else cast("Iterable[Any]", stop)
    stops = tuple(_text("a stop string", one) for one in given)
    if not all(stops):
        raise _refuse("a stop string is empty.")
    return stops
