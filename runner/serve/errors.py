"""Errors in OpenAI's form, and which of ours becomes which. Every answer that is no success is made here."""

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from fsm import Activity, CommandRefused, FailureCause, RequestErrorKind, State
from runner.errors import RequestCancelled, RequestFailed
from runner.supervisor import Snapshot

LEAST_WAIT_S = 1
MOST_WAIT_S = 60
UNKNOWN_WAIT_S = 5
"""Seconds that ``Retry-After`` names: between these, and this where nothing is known."""

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
"""OpenAI's ``type`` by status; anything else is ``server_error``."""

_REQUEST_ERRORS: dict[RequestErrorKind, tuple[int, str]] = {
    RequestErrorKind.CONTEXT_LIMIT: (400, "context_length_exceeded"),
    RequestErrorKind.DOES_NOT_FIT: (400, "does_not_fit"),
    RequestErrorKind.BAD_REQUEST: (400, "bad_request"),
    RequestErrorKind.EXCEPTION: (500, "exception"),
    RequestErrorKind.RUNNER_FAILED: (503, "runner_failed"),
}
"""Status and ``code`` of a request that failed."""


class ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong. The first four are OpenAI's; the others are there where they say something."""

    message: str
    type: str
    param: str | None = None
    """The field that is at fault."""
    code: str | None = None
    kind: str | msgspec.UnsetType = msgspec.UNSET
    """Of a failure of the runner, or of a request."""
    certainty: str | msgspec.UnsetType = msgspec.UNSET
    phase: str | msgspec.UnsetType = msgspec.UNSET
    remedy: str | msgspec.UnsetType = msgspec.UNSET
    retryable: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether the same request can succeed if it is sent again."""
    state: State | msgspec.UnsetType = msgspec.UNSET
    """Of the runner."""
    progress: str | msgspec.UnsetType = msgspec.UNSET
    """How far a load is."""
    incarnation: int | msgspec.UnsetType = msgspec.UNSET
    tokens: int | msgspec.UnsetType = msgspec.UNSET
    """Tokens of the answer that were delivered before."""


class ErrorBody(msgspec.Struct, frozen=True):
    """A body that tells of an error."""

    error: ErrorDetail


class ApiError(Exception):
    """An answer that is no success.

    Attributes:
        status: of HTTP.
        detail: the body's.
        headers: of the answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.detail = ErrorDetail(
            message=message, type=_TYPES.get(status, "server_error"), param=param, code=code, **more
        )
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(ErrorBody(self.detail))

    def response(self) -> Response:
        """As an answer."""
        return Response(self.body(), self.status, self.headers, "application/json")


def retry_after(seconds: float | None) -> dict[str, str]:
    """The header that says when to ask again."""
    known = UNKNOWN_WAIT_S if seconds is None else math.ceil(seconds)
    return {"Retry-After": str(min(max(known, LEAST_WAIT_S), MOST_WAIT_S))}


def not_ready(snapshot: Snapshot, fetching: str = "") -> ApiError:
    """Why no request is taken now, for a runner that is not ready to serve.

    Args:
        snapshot: of the runner.
        fetching: how far the fetching of its model is, if that is under way.
    """
    state = snapshot.state
    more: dict[str, Any] = {"state": state, "incarnation": snapshot.incarnation, "retryable": True}
    if state is State.LOADING or (state is State.IDLE and fetching):
        progress = fetching if state is State.IDLE else f"{snapshot.activity.value} {snapshot.done}/{snapshot.total}"
        left = None
        if snapshot.activity is Activity.WEIGHTS and 0 < snapshot.done < snapshot.total:
            left = (snapshot.at - snapshot.since) * (snapshot.total - snapshot.done) / snapshot.done
        return ApiError(
            503,
            f"The model is being loaded ({progress}); ask again.",
            code="loading",
            progress=progress,
            headers=retry_after(left),
            **more,
        )
    if state is State.FAILED:
        return _failed(snapshot.cause, more)
    if state is State.SHUTDOWN:
        return ApiError(503, "The runner was shut down. POST /admin/restart begins anew.", code="shutdown", **more)
    if state is State.RUNNING:
        return ApiError(503, "The model is being unloaded. POST /admin/load loads it again.", code="unloading", **more)
    return ApiError(503, "No model is loaded. POST /admin/load loads it.", code="not_loaded", **more)


def _failed(cause: FailureCause | None, more: dict[str, Any]) -> ApiError:
    if cause is None:
        return ApiError(503, "The runner failed.", code="unknown", **more)
    return ApiError(
        503,
        f"The runner failed ({cause.kind.value}, {cause.certainty.value}): {cause.sentence}",
        code=cause.kind.value,
        kind=cause.kind.value,
        certainty=cause.certainty.value,
        phase=cause.phase.value,
        remedy=cause.remedy,
        **more,
    )


def of_request(error: RequestFailed | RequestCancelled) -> ApiError:
    """What became of a request that was accepted."""
    outcome = error.outcome
    more: dict[str, Any] = {"incarnation": outcome.incarnation, "tokens": outcome.tokens}
    if isinstance(error, RequestCancelled):
        message = "The request was cancelled: the runner is being unloaded or shut down."
        return ApiError(503, message, code="cancelled", kind="cancelled", retryable=True, **more)
    if error.kind is RequestErrorKind.RUNNER_FAILED:
        return _failed(error.cause, {**more, "retryable": error.retryable})
    status, code = _REQUEST_ERRORS[error.kind]
    # An exception's text may hold anything, a prompt among it; it is its sender's.
    return ApiError(status, outcome.message, code=code, kind=error.kind.value, retryable=error.retryable, **more)


def of_command(error: CommandRefused) -> ApiError:
    """A command of ``/admin`` that was refused."""
    return ApiError(409, str(error), code="refused")


async def on_api_error(request: Request, error: Exception) -> Response:
    """Answer with an error of ours."""
    assert isinstance(error, ApiError)
    return error.response()


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answer with an error of the framework's: no such address, no such method."""
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase
    return ApiError(
        error.status_code,
        f"{request.method} {request.url.path}: {phrase}. /openapi.json lists what there is.",
        code=phrase.lower().replace(" ", "_"),
        headers=error.headers,
    ).response()


async def on_bug(request: Request, error: Exception) -> Response:
    """Answer where we are at fault; the log has the rest."""
    return ApiError(500, "The server is at fault; its log says more.", code="internal_error").response()
