"""Reading a body, within its limits of size and time."""

import anyio
from starlette.requests import ClientDisconnect, Request

from runner.serve.errors import ApiError
from runner.serve.options import ServeOptions

_SLACK = 8
"""A body that is too long is read on for as many times its limit, so that its sender comes to read the answer."""


async def read_body(request: Request, options: ServeOptions) -> bytes:
    """The whole body.

    Raises:
        ApiError: 413 if it is too long, 408 if it does not come.
        ClientDisconnect: if its sender left.
    """
    limit = options.body_limit
    parts: list[bytes] = []
    size = 0
    late = True
    with anyio.move_on_after(options.body_timeout):
        async for part in request.stream():
            size += len(part)
            if size <= limit:
                parts.append(part)
            elif size > _SLACK * limit:
                break
        late = False
    if size > limit:
        raise ApiError(413, f"The body is longer than {limit:,} bytes.", code="body_too_large")
    if late:
        raise ApiError(408, f"The body did not come within {options.body_timeout:g} seconds.", code="body_timeout")
    return b"".join(parts)


__all__ = ["ClientDisconnect", "read_body"]
