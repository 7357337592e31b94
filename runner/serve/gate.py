"""Who is let in: the name the server was asked under, the web page that asks, the key. Pure ASGI, before everything else.

A web page anywhere can have a browser send requests to this machine, also under a name of its own that it points here (DNS
rebinding). A literal address can't be pointed elsewhere, so those are fine; names must be known; and a page of another origin is
refused whatever it asks.
"""

import base64
import binascii
import hashlib
import hmac
import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from runner.serve.errors import ApiError
from runner.serve.options import ServeOptions

OPEN = frozenset({"/healthz", "/readyz"})
"""Addresses that need no key."""


class Gate:
    """Lets a request through, or answers 401 or 403."""

    def __init__(self, app: ASGIApp, options: ServeOptions) -> None:
        self._app = app
        self._hosts = {"localhost", *(host.lower() for host in options.allowed_hosts)}
        self._origins = {origin.lower() for origin in options.allowed_origins}
        self._key = None if options.api_key is None else _digest(options.api_key.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self._check_origin(headers)
            # A preflight carries no key; who sends it has passed the check of origins.
            if scope["path"] not in OPEN and not _is_preflight(scope, headers):
                self._check_key(scope, headers)
        except ApiError as error:
            await error.response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        given = headers.getlist("host")
        if len(given) != 1 or not self._is_known(_name_in(given[0])):
            said = ", ".join(given) or "no name"
            raise ApiError(
                403,
                f"This server is not asked under {said}. If it is yours: --allowed-host.",
                code="host_not_allowed",
            )

    def _is_known(self, name: str) -> bool:
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _check_origin(self, headers: Headers) -> None:
        for origin in headers.getlist("origin"):
            own = urlsplit(origin).netloc.lower() == headers["host"].lower() and origin.startswith(
                ("http://", "https://")
            )
            if not own and origin.lower() not in self._origins:
                raise ApiError(
                    403,
                    f"A web page of {origin} may not ask this server. If it is yours: --allowed-origin.",
                    code="origin_not_allowed",
                )

    def _check_key(self, scope: Scope, headers: Headers) -> None:
        if self._key is None:
            return
        # Digests have one length, and all of them are compared, so that time tells nothing about the key.
        if not hmac.compare_digest(_digest(_key_in(headers)), self._key):
            page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
            # A browser asks a person for it; the key is the password, under whatever name.
            challenge = 'Basic realm="runner", charset="UTF-8"' if page else "Bearer"
            raise ApiError(
                401,
                "The key is missing or wrong. It goes into the header `Authorization: Bearer KEY`.",
                code="invalid_api_key",
                headers={"WWW-Authenticate": challenge},
            )


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _key_in(headers: Headers) -> bytes:
    """The key that a request shows, as a bearer's token or as the password of a browser; empty if there is none."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode("latin-1")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return b""


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    return scope["method"] == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


def _name_in(host: str) -> str:
    """The name or address in a ``Host``, without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""
