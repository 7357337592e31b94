"""Handlers of requests, each in a scope of its own, so that none outlives the server. uvicorn starts them as tasks of its own."""

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send


class Handlers:
    """Runs the application, and knows what of it runs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._scopes: set[anyio.CancelScope] = set()
        self._gone = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        with anyio.CancelScope() as cancel:
            self._scopes.add(cancel)
            try:
                await self._app(scope, receive, send)
            finally:
                self._scopes.discard(cancel)
                if not self._scopes:
                    self._gone.set()

    def cancel(self) -> None:
        """Cancel all that runs."""
        for scope in self._scopes:
            scope.cancel()

    async def gone(self) -> None:
        """Wait until none runs."""
        while self._scopes:
            self._gone = anyio.Event()
            await self._gone.wait()
