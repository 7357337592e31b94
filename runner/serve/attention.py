"""A client that leaves ends what is done for it, at once."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from starlette.types import Receive


@asynccontextmanager
async def attended(receive: Receive) -> AsyncGenerator[None]:
    """A block that is cancelled when the client leaves. The body must have been read.

    What is raised in it must be handled in it: it would come out wrapped in a group.
    """
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        yield
        tasks.cancel_scope.cancel()
