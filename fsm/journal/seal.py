"""The chain: each line names the hash of the line before and ends with its own.

The hash is over the very bytes of the line up to its last field, so that it can be checked with any tool and without
knowing what the bytes mean::

    {"kind":"step","run":"…","prev":"<hash of the line before>",…,"hash":"<hash of all before this field, and a }>"}
"""

import hashlib
import hmac
from typing import NamedTuple

import msgspec

ZERO = "0" * 64
"""What the first line names as the hash before it."""

_FIELD = b',"hash":"'
_END = b'"}\n'
_TAIL = len(_FIELD) + 64 + len(_END)


class Unsealed(NamedTuple):
    """A line taken apart."""

    body: bytes
    """What the hash is over: the line without its last field."""
    hash: str
    """The hash that it carries."""


class NotSealed(ValueError):
    """A line that does not end with a hash."""


class Seal:
    """Hashes lines; with a key, so that nobody without it can make a line that passes.

    Args:
        key: SHA-256 without one, HMAC-SHA-256 with one.

    Raises:
        ValueError: for an empty key.
    """

    def __init__(self, key: bytes | None = None) -> None:
        if key is not None and not key:
            raise ValueError("An empty key protects nothing.")
        self._key = key

    @property
    def name(self) -> str:
        """The name that the opening carries."""
        return "sha256" if self._key is None else "hmac-sha256"

    def hash(self, body: bytes) -> str:
        """The hash of a line's body."""
        if self._key is None:
            return hashlib.sha256(body).hexdigest()
        return hmac.digest(self._key, body, "sha256").hex()

    def line(self, content: msgspec.Struct) -> tuple[bytes, str]:
        """Content as a whole line, and its hash."""
        body = msgspec.json.encode(content, order="deterministic")
        own = self.hash(body)
        return body[:-1] + _FIELD + own.encode() + _END, own


def unseal(line: bytes) -> Unsealed:
    """Take a whole line apart, without judging the hash.

    Raises:
        NotSealed: if it has no hash where one must be.
    """
    start = len(line) - _TAIL
    if start < 1 or line[start : start + len(_FIELD)] != _FIELD or not line.endswith(_END):
        raise NotSealed
    return Unsealed(line[:start] + b"}", line[start + len(_FIELD) : -len(_END)].decode("ascii", "replace"))
