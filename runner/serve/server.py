"""The server as a task of ours: uvicorn with its own handling of signals off, and an end in order.

The end: nothing more is taken, the runner drains and goes down its ladder, whoever still reads has a moment to, then what is
left is cut off. asyncio alone, since uvicorn is.
"""

import contextlib
import socket
from collections.abc import Generator

import anyio
import uvicorn

from runner.serve.app import make_app
from runner.serve.handlers import Handlers
from runner.serve.service import Service

READ_OUT_S = 2.0
"""For answers that are done, or told why not, to be read by their clients, once the runner is down."""


class _Uvicorn(uvicorn.Server):
    """A uvicorn that leaves signals to those who started it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield


class Server:
    """Serves one runner on sockets that listen already.

    Args:
        service: what is served.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._served = anyio.Event()
        self._handlers = Handlers(make_app(service))
        self._uvicorn = _Uvicorn(
            uvicorn.Config(
                self._handlers,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
            )
        )

    async def run(self, listeners: list[socket.socket]) -> None:
        """Serve until ``service.stopping`` is set, then end in order. Cancelled, it cuts everything off. The sockets are closed.

        Raises:
            ProcessUnkillable: if the runner's process could not be ended.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve, listeners)
            try:
                await self._service.stopping.wait()
                self._uvicorn.should_exit = True
                await self._service.runner.shutdown()
                with anyio.move_on_after(READ_OUT_S):
                    await self._handlers.gone()
            finally:
                self._service.stopping.set()
                self._uvicorn.should_exit = True
                self._handlers.cancel()
                with anyio.CancelScope(shield=True):
                    # Cancelled, each of them ends without waiting for anybody.
                    await self._handlers.gone()
                    with anyio.move_on_after(READ_OUT_S):
                        await self._served.wait()
                    self._cut_off()

    async def _serve(self, listeners: list[socket.socket]) -> None:
        # It can't be cancelled without leaving connections behind. `run` ends it, within a bound.
        with anyio.CancelScope(shield=True):
            try:
                await self._uvicorn.serve(listeners)
            finally:
                self._served.set()

    def _cut_off(self) -> None:
        """Let uvicorn wait for no client."""
        for connection in list(self._uvicorn.server_state.connections):
            connection.transport.abort()
        self._uvicorn.force_exit = True
