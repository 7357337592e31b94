"""``/v1/chat/completions`` and ``/v1/completions``: a body becomes what is wanted of the model."""

import time

from starlette.requests import Request
from starlette.responses import Response

from runner.serve.bodies import DEFAULT_MAX_TOKENS, Asked, ChatBody, CompletionBody, decode
from runner.serve.body import read_body
from runner.serve.errors import ApiError
from runner.serve.forms import ChatForm, TextForm
from runner.serve.reply import Reply
from runner.serve.service import Service, Wanted


async def chat_completions(request: Request) -> Response:
    """Answer a conversation."""
    service: Service = request.app.state.service
    asked = decode(await read_body(request, service.options), ChatBody)
    service.check_model(asked.model)
    turns = [message.turn() for message in asked.messages]
    wanted = _wanted(asked, turns, "messages", _most(asked), raw=False)
    return _reply(service, asked, wanted, ChatForm)


async def completions(request: Request) -> Response:
    """Go on with a text."""
    service: Service = request.app.state.service
    asked = decode(await read_body(request, service.options), CompletionBody)
    service.check_model(asked.model)
    prompt = asked.prompt if isinstance(asked.prompt, str) else asked.prompt[0]
    wanted = _wanted(asked, prompt, "prompt", asked.max_tokens or DEFAULT_MAX_TOKENS, raw=True)
    return _reply(service, asked, wanted, TextForm)


def _most(asked: ChatBody) -> int:
    given = {asked.max_tokens, asked.max_completion_tokens} - {None}
    if len(given) > 1:
        raise ApiError(
            400,
            f"max_tokens ({asked.max_tokens}) and max_completion_tokens ({asked.max_completion_tokens}) mean the same; give one.",
            code="invalid_value",
            param="max_tokens",
        )
    return asked.max_completion_tokens or asked.max_tokens or DEFAULT_MAX_TOKENS


def _wanted(asked: Asked, prompt: str | list[dict[str, str]], field: str, most: int, *, raw: bool) -> Wanted:
    if asked.stream_options is not None and not asked.stream:
        raise ApiError(
            400, "stream_options makes sense with stream alone.", code="invalid_value", param="stream_options"
        )
    return Wanted(
        prompt=prompt,
        field=field,
        raw=raw,
        max_tokens=most,
        temperature=asked.temperature or 0.0,
        top_p=1.0 if asked.top_p is None else asked.top_p,
        seed=asked.seed,
        stop=asked.stops,
    )


def _reply(service: Service, asked: Asked, wanted: Wanted, form: type[ChatForm] | type[TextForm]) -> Reply:
    created = int(time.time())

    def make(id: str) -> ChatForm | TextForm:
        return form(id, created, service.model, include_usage=asked.include_usage)

    return Reply(service, wanted, make, stream=bool(asked.stream), include_usage=asked.include_usage)
