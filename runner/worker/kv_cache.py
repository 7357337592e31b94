"""How much memory the key-value cache of a request will take, measured on the cache that the warm-up filled.

Measured and not computed from the configuration: each architecture builds its cache in its own way, and what one of
them really allocated for a known number of tokens is right for all.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

_STEP = 256
"""Tokens by which mlx-lm's caches grow."""


class Layer(msgspec.Struct, frozen=True):
    """What one layer's cache takes."""

    fixed: int = 0
    """Bytes, however long the text."""
    per_token: int = 0
    """Bytes for each token kept."""
    window: int | None = None
    """Tokens kept at most, for attention over a sliding window."""

    def bytes(self, tokens: int) -> int:
        """Bytes for a text of ``tokens``."""
        kept = tokens if self.window is None else min(tokens, self.window)
        return self.fixed + self.per_token * (-(-kept // _STEP) * _STEP)


class KvCost(msgspec.Struct, frozen=True):
    """What all layers take together."""

    layers: tuple[Layer, ...]

    def bytes(self, tokens: int) -> int:
        """Bytes for a text of ``tokens``, prompt and answer together."""
        return sum(layer.bytes(tokens) for layer in self.layers)


def measure(caches: Iterable[Any]) -> KvCost:
    """Read the cost off mlx-lm's caches, one for each layer, that have taken at least one token."""
    return KvCost(tuple(_layers(caches)))


def _layers(caches: Iterable[Any]) -> Iterator[Layer]:
    for cache in caches:
        parts = getattr(cache, "caches", None)
        if parts is not None:
            yield from _layers(parts)
            continue
        keys = getattr(cache, "keys", None)
        if keys is None:
            yield Layer(fixed=cache.nbytes)
        else:
            yield Layer(per_token=cache.nbytes // keys.shape[2], window=getattr(cache, "max_size", None))
