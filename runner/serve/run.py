"""A service from its start to its end: it listens, then loads the model, and goes on whatever becomes of that."""

import socket
from collections.abc import Callable

import anyio

from runner.errors import CommandRefused
from runner.models.errors import ModelError
from runner.serve.server import Server
from runner.serve.service import Service


async def run(service: Service, listeners: list[socket.socket], *, ready: Callable[[], None] | None = None) -> None:
    """Serve until ``service.stopping`` is set and what was under way has ended. The sockets are closed.

    Args:
        service: what is served; its runner is entered, and still ``Idle``.
        listeners: sockets that listen.
        ready: called once requests are answered.

    Raises:
        CommandRefused: if the model that was named at the start can't be had or used: nothing that the server could outlive.
        ProcessUnkillable: if the runner's process could not be ended.
    """
    refused: CommandRefused | None = None

    async def load() -> None:
        nonlocal refused
        try:
            await service.loading.load(service.runner)
        except CommandRefused as error:
            # Any other reason is that somebody else gave a command first.
            if isinstance(error.__cause__, ModelError):
                refused = error
                service.stopping.set()

    async with anyio.create_task_group() as tasks:
        server = Server(service)
        tasks.start_soon(load)
        if ready is not None:
            ready()
        await server.run(listeners)
        tasks.cancel_scope.cancel()
    if refused is not None:
        raise refused
