"""Draws tokens. Each request has a random state of its own, so what others do at the same time changes nothing."""

import os
from collections.abc import Callable

import mlx.core as mx
from mlx_lm.sample_utils import apply_top_p, greedy_sampler  # pyright: ignore[reportUnknownVariableType]

from runner.channel.messages import Sampling

_GREEDY = 1e-6
"""Below this temperature the division by it overflows, and the likeliest token is certain long before."""
_SEEDS = 1 << 64
"""MLX takes seeds below this."""

Sampler = Callable[[mx.array], mx.array]
"""From log-probabilities, one row for each sequence, to tokens."""


def make_sampler(sampling: Sampling) -> Sampler:
    """Make the sampler of one request. With a seed it draws the same tokens each time, else others."""
    if sampling.temperature < _GREEDY:
        return greedy_sampler
    seed = int.from_bytes(os.urandom(8), "little") if sampling.seed is None else sampling.seed % _SEEDS
    top_p, scale = sampling.top_p, 1.0 / sampling.temperature
    state = mx.random.key(seed)

    def draw(logprobs: mx.array) -> mx.array:
        nonlocal state
        pair = mx.random.split(state)
        state, key = pair[0], pair[1]
        if top_p < 1.0:
            logprobs = apply_top_p(logprobs, top_p)
        return mx.random.categorical(logprobs * scale, key=key)

    return draw
