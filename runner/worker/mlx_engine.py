"""The engine on mlx-lm. Importing this module imports mlx and mlx-lm, which takes a second or two: only a load does.

MLX is called from the main thread alone. The prompt is read in steps of our own rather than in ``generate_step``'s,
so that between two of them other requests get their turn, a cancel is seen, and a stop too.
"""

import gc
import math
import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

# The directory is complete when it comes here; nothing is to be fetched, and a missing network must not slow us down.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import mlx.core as mx
from jinja2.exceptions import TemplateError
from mlx.utils import tree_flatten  # pyright: ignore[reportUnknownVariableType]
from mlx_lm.generate import generate_step  # pyright: ignore[reportUnknownVariableType]
from mlx_lm.models.cache import make_prompt_cache  # pyright: ignore[reportUnknownVariableType]
from mlx_lm.utils import (  # pyright: ignore[reportUnknownVariableType]
    get_total_parameters,  # pyright: ignore[reportUnknownVariableType]
    load_model,  # pyright: ignore[reportUnknownVariableType]
    load_tokenizer,  # pyright: ignore[reportUnknownVariableType]
    maybe_set_recommended_wired_limit,
)

from runner.channel.messages import Gauge, Generate, LoadStep, ModelLoaded, Need, PrefillStep, Sampling
from runner.worker import device, memory
from runner.worker.engine import Checkpoint, Piece, Report, RequestRejected
from runner.worker.kv_cache import KvCost, measure
from runner.worker.sampling import make_sampler
from runner.worker.stop_strings import StopStrings

_GROUPS = 20
"""Steps in which the weights are read, so that the load shows progress."""

_STEP_S = 1.0
"""Seconds that a step of the prompt may take; a cancel and other requests wait so long."""

_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length", "seq_length")
"""Under one of these a ``config.json`` says how long prompt and answer may be together."""


class MlxEngine:
    """One model of mlx-lm's. See ``runner.worker.engine.Engine``."""

    def __init__(self, prefill_step: int, checkpoint: Checkpoint) -> None:
        self._most_in_step = prefill_step
        self._prefill_step = prefill_step
        self._checkpoint = checkpoint
        # One stream for everything: generate_step leaves its stream as the default one between two tokens.
        self._stream = mx.new_stream(mx.default_device())
        mx.set_default_stream(self._stream)
        self._model: Any = None
        self._tokenizer: Any = None
        self._context = 0
        self._kv_cost = KvCost(())

    def gauge(self) -> Gauge:
        """Memory in use."""
        return Gauge(memory.resident(), mx.get_active_memory(), mx.get_peak_memory(), mx.get_cache_memory())

    def load(self, directory: str, report: Report) -> ModelLoaded:
        """Load and warm up. Raises whatever mlx-lm raises."""
        path = Path(directory)
        model, config = cast("tuple[Any, dict[str, Any]]", load_model(path, lazy=True))
        self._model = model
        self._tokenizer = load_tokenizer(path, eos_token_ids=config.get("eos_token_id"))
        self._context = _context(config)
        maybe_set_recommended_wired_limit()
        self._read_weights(report)
        report(LoadStep("warm-up"))
        self._checkpoint("warmup")
        self._warm_up(report)
        return ModelLoaded(
            context=self._context,
            parameters=cast("int", get_total_parameters(model)),
            device=device.describe(),
        )

    def _read_weights(self, report: Report) -> None:
        arrays = [array for _, array in cast("list[tuple[str, mx.array]]", tree_flatten(self._model.parameters()))]
        left = device.headroom()
        if left is not None:
            report(Need("weights", sum(array.nbytes for array in arrays), left))
        groups = list(_groups(arrays, _GROUPS))
        arrays.clear()
        report(LoadStep("weights", 0, len(groups)))
        self._checkpoint("load")
        for done, group in enumerate(groups, start=1):
            mx.eval(group)  # pyright: ignore[reportUnknownMemberType]
            report(LoadStep("weights", done, len(groups)))

    def _warm_up(self, report: Report) -> None:
        """Make one token, and learn what the cache costs and how much of a prompt can be read in one step.

        A cancel waits for the step that is under way, so a step must be short on a slow machine too. It is found once
        a load, and not on the way, so that a seed gives the same answer for as long as the model stays.
        """
        caches = make_prompt_cache(self._model)
        for _ in generate_step(mx.array([0, 0]), self._model, self._stream, max_tokens=1, prompt_cache=caches):
            pass
        self._kv_cost = measure(caches)
        most = min(self._most_in_step, self._context or self._most_in_step)
        self._prefill_step = 1
        while self._prefill_step < most and self._seconds_to_read(self._prefill_step) < _STEP_S / 2:
            self._prefill_step = min(2 * self._prefill_step, most)
            report(LoadStep("warm-up"))
        mx.clear_cache()

    def _seconds_to_read(self, tokens: int) -> float:
        caches = make_prompt_cache(self._model)
        begin = time.perf_counter()
        self._model(mx.zeros((1, tokens), dtype=mx.int32), cache=caches)
        mx.eval([cache.state for cache in caches])  # pyright: ignore[reportUnknownMemberType]
        return time.perf_counter() - begin

    def open(self, request: Generate, report: Report) -> "MlxGeneration":
        """Build the prompt, check it, and tell what its cache will need. Raises ``RequestRejected``."""
        if self._model is None:
            raise RequestRejected("bad_request", "No model is loaded; load one first.")
        _check_sampling(request.sampling)
        prompt = self._prompt(request)
        longest = len(prompt) + request.sampling.max_tokens
        if self._context:
            if len(prompt) + 1 > self._context:
                raise RequestRejected(
                    "context_limit",
                    f"The prompt has {len(prompt):,} tokens; the model's context holds {self._context:,}, answer"
                    " included. Shorten the prompt.",
                )
            longest = min(longest, self._context)
        need, left = self._kv_cost.bytes(longest), device.headroom()
        if left is not None:
            report(Need("kv cache", need, left))
            if need > left:
                raise RequestRejected(
                    "does_not_fit",
                    f"The cache for {longest:,} tokens takes {need:,} bytes; {left:,} are free. Shorten the prompt,"
                    " ask for fewer tokens, or free memory.",
                )
        return MlxGeneration(
            request=request.request,
            prompt=prompt,
            max_tokens=longest - len(prompt),
            sampling=request.sampling,
            model=self._model,
            tokenizer=self._tokenizer,
            stream=self._stream,
            prefill_step=self._prefill_step,
        )

    def _prompt(self, request: Generate) -> list[int]:
        turns = [{"role": turn.role, "content": turn.content} for turn in request.turns]
        if bool(turns) == bool(request.text):
            raise RequestRejected("bad_request", "Give either turns of a conversation or a text, and not an empty one.")
        tokenizer = self._tokenizer
        if not turns:
            prompt = _encode(tokenizer, request.text or "")
        elif not any(turn["content"].strip() for turn in turns):
            raise RequestRejected("bad_request", "All turns are empty; say something.")
        elif tokenizer.has_chat_template:
            try:
                prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True)
            except TemplateError as error:
                raise RequestRejected(
                    "bad_request", f"The model's chat template does not take these turns: {error}."
                ) from error
        else:
            # A model that was never taught a conversation; the plain form is what it has seen most.
            lines = [f"{turn['role']}: {turn['content']}" for turn in turns]
            prompt = _encode(tokenizer, "\n".join((*lines, "assistant:")))
        if not prompt:
            raise RequestRejected("bad_request", "The prompt comes to no token at all.")
        return prompt

    def unload(self) -> None:
        """Drop the model and give its memory back."""
        self._model = self._tokenizer = None
        self._kv_cost = KvCost(())
        self._context = 0
        mx.synchronize(self._stream)
        gc.collect()
        mx.clear_cache()


class MlxGeneration:
    """One request on the model. See ``runner.worker.engine.Generation``."""

    def __init__(
        self,
        *,
        request: int,
        prompt: list[int],
        max_tokens: int,
        sampling: Sampling,
        model: Any,
        tokenizer: Any,
        stream: mx.Stream,
        prefill_step: int,
    ) -> None:
        self._request = request
        self._prompt = prompt
        self._max_tokens = max_tokens
        self._model: Any = model
        self._stream = stream
        self._prefill_step = prefill_step
        self._sampler = make_sampler(sampling)
        self._stops = StopStrings(sampling.stop)
        self._detokenizer = tokenizer.detokenizer  # a copy of its own for each request
        self._end_tokens: set[int] = tokenizer.eos_token_ids
        self._caches: Any = make_prompt_cache(model)
        self._read = 0
        self._written = 0
        self._tokens: Generator[tuple[Any, mx.array]] | None = None
        self._first: int | None = None

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        return len(self._prompt)

    def step(self) -> PrefillStep | Piece:
        """Read some of the prompt, or make one token."""
        if self._tokens is None:
            return self._read_prompt()
        return self._take(self._next_token())

    def close(self) -> None:
        """Let go of the cache."""
        if self._tokens is not None:
            self._tokens.close()
        self._model = self._caches = self._tokens = None
        mx.clear_cache()

    def _read_prompt(self) -> PrefillStep:
        total = len(self._prompt)
        count = min(self._prefill_step, total - 1 - self._read)
        if count > 0:
            some = mx.array(self._prompt[self._read : self._read + count])
            self._model(some[None], cache=self._caches)
            mx.eval([cache.state for cache in self._caches])  # pyright: ignore[reportUnknownMemberType]
            mx.clear_cache()
            self._read += count
            return PrefillStep(self._request, self._read, total)
        # The last token of the prompt gives the first of the answer.
        self._tokens = generate_step(
            mx.array(self._prompt[-1:]),
            self._model,
            self._stream,
            max_tokens=self._max_tokens,
            sampler=self._sampler,
            prompt_cache=self._caches,
        )
        self._first = self._next_token()
        return PrefillStep(self._request, total, total)

    def _next_token(self) -> int:
        if self._first is not None:
            token, self._first = self._first, None
            return token
        assert self._tokens is not None
        token, _ = next(self._tokens)
        return token

    def _take(self, token: int) -> Piece:
        detokenizer, stops = self._detokenizer, self._stops
        if token in self._end_tokens:
            return Piece(self._rest(), tokens=0, end="stop")
        self._written += 1
        detokenizer.add_token(token)
        text = stops.push(detokenizer.last_segment)
        if stops.found:
            return Piece(text, end="stop")
        if self._written == self._max_tokens:
            text += self._rest()
            return Piece(text, end="stop" if stops.found else "length")
        return Piece(text)

    def _rest(self) -> str:
        """What the detokenizer and the stop strings hold back, now that nothing follows."""
        self._detokenizer.finalize()
        return self._stops.push(self._detokenizer.last_segment) + self._stops.flush()


def _encode(tokenizer: Any, text: str) -> list[int]:
    bos = tokenizer.bos_token
    return tokenizer.encode(text, add_special_tokens=bos is None or not text.startswith(bos))


def _check_sampling(sampling: Sampling) -> None:
    if sampling.max_tokens < 1:
        raise RequestRejected("bad_request", f"max_tokens is {sampling.max_tokens}; it must be 1 or more.")
    if not (math.isfinite(sampling.temperature) and sampling.temperature >= 0):
        raise RequestRejected("bad_request", f"temperature is {sampling.temperature}; it must be 0 or more.")
    if not 0 < sampling.top_p <= 1:
        raise RequestRejected("bad_request", f"top_p is {sampling.top_p}; it must be above 0 and at most 1.")
    if "" in sampling.stop:
        raise RequestRejected("bad_request", "A stop string is empty; it would end every answer before it begins.")


def _context(config: dict[str, Any]) -> int:
    """Give the context in tokens, 0 if the model does not say. A model that also sees has it in ``text_config``."""
    for part in (config, config.get("text_config") or {}):
        for key in _CONTEXT_KEYS:
            if isinstance(value := part.get(key), int) and value > 0:
                return value
    return 0


def _groups(arrays: list[mx.array], count: int) -> Iterator[list[mx.array]]:
    """Cut ``arrays`` into at most ``count`` runs of about the same number of bytes."""
    share = sum(array.nbytes for array in arrays) / count
    group: list[mx.array] = []
    size = 0
    for array in arrays:
        group.append(array)
        size += array.nbytes
        if size >= share:
            yield group
            group, size = [], 0
    if group:
        yield group
