"""Server-sent events over ASGI: their form, their headers, and a reader that takes nothing."""

import anyio
from starlette.types import Send

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # Proxies that gather an answer before they pass it on would make a stream of it no more.
    (b"x-accel-buffering", b"no"),
]

DONE = b"data: [DONE]\n\n"


class ReaderLeft(Exception):
    """The client took nothing for too long."""


def event(data: bytes, *, name: str = "", id: str = "") -> bytes:
    """One event. ``data`` has no line end in it, as JSON has none."""
    head = (f"event: {name}\n" if name else "") + (f"id: {id}\n" if id else "")
    return head.encode() + b"data: " + data + b"\n\n"


class EventSender:
    """Sends an answer that is a stream of events.

    Args:
        send: of ASGI.
        timeout: seconds that a reader may take for one event.
        headers: besides those that every stream has.
    """

    def __init__(self, send: Send, timeout: float, headers: list[tuple[bytes, bytes]] | None = None) -> None:
        self._send = send
        self._timeout = timeout
        self._headers = [*HEADERS, *(headers or [])]

    async def begin(self) -> None:
        """Send status and headers."""
        await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})

    async def send(self, data: bytes) -> None:
        """Send events.

        Raises:
            ReaderLeft: if they are not taken.
        """
        await self._body(data, more=True)

    async def end(self) -> None:
        """End the answer.

        Raises:
            ReaderLeft: if what came before is not taken.
        """
        await self._body(b"", more=False)

    async def _body(self, data: bytes, *, more: bool) -> None:
        with anyio.move_on_after(self._timeout) as scope:
            await self._send({"type": "http.response.body", "body": data, "more_body": more})
        if scope.cancelled_caught:
            raise ReaderLeft
