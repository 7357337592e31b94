"""What a server is told: who may ask, how much, and how long a call waits. Values in, checked once."""

import msgspec

MIB = 1024 * 1024

BODY_LIMIT = 8 * MIB
"""Bytes of a body. The longest contexts that models have are a million tokens, some 4 MB of text."""


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a server answers.

    Raises:
        ValueError: for a limit that is not positive, an empty key, or an origin that is not ``scheme://host[:port]``.
    """

    api_key: str | None = None
    """What every call but ``/healthz`` and ``/readyz`` must show; ``None`` for nothing."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the server may be asked, besides ``localhost`` and any literal address."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of web pages, other than its own, that may ask."""
    body_limit: int = BODY_LIMIT
    """Bytes of a body; a longer one is answered with 413."""
    body_timeout: float = 30.0
    """Seconds in which a body has to come."""
    reader_timeout: float = 60.0
    """Seconds for which a client may take nothing of its answer before it counts as gone: it holds up a place."""
    wait_ready: float = 0.0
    """Seconds for which a call waits while the model is on its way; 0 answers 503 at once."""

    def __post_init__(self) -> None:
        if self.api_key is not None and not self.api_key.strip():
            raise ValueError("The key is empty.")
        for name in ("body_limit", "body_timeout", "reader_timeout"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive; {getattr(self, name)} was given.")
        if self.wait_ready < 0:
            raise ValueError(f"wait_ready must not be negative; {self.wait_ready} was given.")
        for origin in self.allowed_origins:
            scheme, mark, host = origin.partition("://")
            if not scheme or not mark or not host or "/" in host:
                raise ValueError(
                    f"An origin is scheme://host[:port], as in https://chat.example; {origin!r} was given."
                )
