"""The answer to a call that asks the model: whole, or as a stream, or why there is none. The client's leaving cancels it.

A stream's status is sent with its first piece: a call that fails before that gets a status that says so, like any other. From
then on a failure is an event with the error's object, after which the stream ends, without ``[DONE]``.
"""

from collections.abc import Callable

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from runner.channel.messages import Chunk
from runner.errors import RequestCancelled, RequestFailed
from runner.generation import Generation
from runner.serve.attention import attended
from runner.serve.errors import ApiError, of_request
from runner.serve.events import DONE, EventSender, ReaderLeft, event
from runner.serve.forms import Form
from runner.serve.service import Service, Wanted
from runner.silence import logger

_ID_HEADER = "x-request-id"


class Reply(Response):
    """Answers one call.

    Args:
        service: what is asked.
        wanted: what is wanted of it.
        form: makes the form of the answer to a request with this name.
        stream: whether it comes in pieces.
        include_usage: whether a stream ends with the count of its tokens.
    """

    def __init__(
        self, service: Service, wanted: Wanted, form: Callable[[str], Form], *, stream: bool, include_usage: bool
    ) -> None:
        super().__init__()
        self._service = service
        self._wanted = wanted
        self._form = form
        self._stream = stream
        self._include_usage = include_usage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, unless the client leaves first."""
        async with attended(receive):
            try:
                generation = await self._service.submit(self._wanted)
            except ApiError as error:
                await error.response()(scope, receive, send)
            else:
                async with generation:
                    answer = self._streamed if self._stream else self._whole
                    await answer(generation, scope, receive, send)

    async def _whole(self, generation: Generation, scope: Scope, receive: Receive, send: Send) -> None:
        name = self._service.id_of(generation)
        try:
            answer = await generation.result()
        except (RequestFailed, RequestCancelled) as error:
            await _failure(error, name, self._service)(scope, receive, send)
            return
        body = msgspec.json.encode(self._form(name).whole(answer))
        await Response(body, 200, {_ID_HEADER: name}, "application/json")(scope, receive, send)

    async def _streamed(self, generation: Generation, scope: Scope, receive: Receive, send: Send) -> None:
        name = self._service.id_of(generation)
        try:
            first = await anext(generation, None)
        except (RequestFailed, RequestCancelled) as error:
            await _failure(error, name, self._service)(scope, receive, send)
            return
        sender = EventSender(send, self._service.options.reader_timeout, [(_ID_HEADER.encode(), name.encode())])
        try:
            await sender.begin()
            await self._pieces(generation, first, self._form(name), sender)
            await sender.end()
        except ReaderLeft:
            logger.info("The client of request {} took nothing for too long", generation.id)

    async def _pieces(self, generation: Generation, first: Chunk | None, form: Form, sender: EventSender) -> None:
        opening = form.opening()
        if opening is not None:
            await sender.send(_encoded(opening))
        try:
            if first is not None:
                await self._piece(first, form, sender)
                async for chunk in generation:
                    await self._piece(chunk, form, sender)
            answer = await generation.result()
        except (RequestFailed, RequestCancelled) as error:
            await sender.send(event(of_request(error).body()))
            return
        await sender.send(_encoded(form.end(answer)))
        if self._include_usage:
            await sender.send(_encoded(form.usage(answer)))
        await sender.send(DONE)

    async def _piece(self, chunk: Chunk, form: Form, sender: EventSender) -> None:
        if chunk.text:
            await sender.send(_encoded(form.piece(chunk.text)))


def _encoded(message: msgspec.Struct) -> bytes:
    return event(msgspec.json.encode(message))


def _failure(error: RequestFailed | RequestCancelled, name: str, service: Service) -> Response:
    answer = of_request(error)
    answer.headers[_ID_HEADER] = name
    if answer.status == 503:
        answer.headers.update(service.when_again())
    return answer.response()
