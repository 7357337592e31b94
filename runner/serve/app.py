"""Which address answers with what. The application is made for one service and holds nothing of its own."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from runner.serve import completions, status
from runner.serve.errors import ApiError, on_api_error, on_bug, on_http_error
from runner.serve.gate import Gate
from runner.serve.service import Service


def make_app(service: Service) -> Starlette:
    """The application that serves a runner."""
    options = service.options
    middleware = [Middleware(Gate, options=options)]
    if options.allowed_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=options.allowed_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=["x-request-id", "retry-after"],
            )
        )
    app = Starlette(
        routes=ROUTES,
        middleware=middleware,
        exception_handlers={
            ApiError: on_api_error,
            HTTPException: on_http_error,
            ClientDisconnect: _on_left,
            Exception: on_bug,
        },
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


ROUTES = [
    Route("/v1/chat/completions", completions.chat_completions, methods=["POST"]),
    Route("/v1/completions", completions.completions, methods=["POST"]),
    Route("/v1/models", status.models),
    Route("/v1/models/{name:path}", status.model),
    Route("/healthz", status.healthz),
    Route("/readyz", status.readyz),
    Route("/status", status.status),
]


async def _on_left(request: Request, error: Exception) -> Response:
    """Nobody is there to read it."""
    return Response(status_code=400)
