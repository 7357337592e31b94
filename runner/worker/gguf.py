"""A GGUF file of the llama architecture, rewritten as a directory that mlx-lm loads.

Here lives the translation of names, of the order of rows, and of the configuration. It needs mlx, so only a child
imports it (``runner.worker.convert``). mlx 0.32 reads from a GGUF file: Q4_0, Q4_1 and Q8_0 as they are packed, as
weights, scales and biases of groups of 32; F32 and F16 as they are; of the other kinds some, unpacked to F16.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import mlx.core as mx

from fsm.failure import Kind
from runner.models.errors import ModelError
from runner.models.progress import Progress
from runner.worker.gguf_metadata import Metadata, unsupported
from runner.worker.gguf_tokenizer import end_tokens, tokenizer_files

GROUP = 32
"""Numbers that share a scale, in every kind of block that mlx keeps packed."""

_PLACES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_LAYER_PLACES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_LAYER = re.compile(r"blk\.(\d+)\.(\w+)")
_ROPE_FACTORS = "rope_freqs.weight"
"""By how much each rotary frequency is divided; Llama 3.1 and later carry it."""

Arrays = dict[str, mx.array]


def convert(file: Path, directory: Path, tell: Callable[[Progress], None]) -> None:
    """Write the model of a GGUF file into a directory that exists.

    Raises:
        ModelError: ``model_invalid`` if the file can't be read, or is of an architecture, a rotary scaling or a
            tokenizer that is not supported; ``disk_full``.
    """
    arrays, metadata = _load(file)
    config = _config(metadata, arrays.pop(_ROPE_FACTORS, None))
    files = tokenizer_files(metadata)
    weights: Arrays = {}
    for done, name in enumerate(sorted(arrays), 1):
        weights[_target(name)] = _in_our_order(name, arrays[name], config)
        tell(Progress("convert", done, len(arrays)))
    _complete(weights, config["num_hidden_layers"])
    config["tie_word_embeddings"] = "lm_head.weight" not in weights
    config["vocab_size"] = weights["model.embed_tokens.weight"].shape[0]
    if (quantization := _quantization(weights)) is not None:
        config["quantization"] = quantization
    for target, content in {**files, "config.json": config}.items():
        (directory / target).write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
    _save(directory / "model.safetensors", _computable(weights))


def half_split(rows: mx.array, heads: int) -> mx.array:
    """Put the rows of a query or key projection into the order that mlx-lm expects.

    A head turns its numbers in pairs. GGUF stores the two of a pair next to one another (0, h/2, 1, h/2+1, ...), here the
    first halves of all pairs come before the second halves.
    """
    pairs = mx.unflatten(rows, 0, (heads, rows.shape[0] // heads // 2, 2))
    return mx.contiguous(mx.flatten(pairs.swapaxes(1, 2), 0, 2))


def _load(file: Path) -> tuple[Arrays, Metadata]:
    try:
        loaded = mx.load(str(file), format="gguf", return_metadata=True)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            Kind.MODEL_INVALID,
            f"{file} can't be read as GGUF: {error}",
            remedy="Fetch the file again; if it stays so, it is of a kind that mlx can't read.",
        ) from error
    arrays, values = cast("tuple[Arrays, dict[str, Any]]", loaded)
    metadata = Metadata(values)
    if (architecture := metadata.text("general.architecture")) != "llama":
        raise unsupported(f"its architecture is {architecture}, not llama")
    if "split.count" in metadata and metadata.integer("split.count") > 1:
        raise unsupported("it is one part of several")
    return arrays, metadata


def _config(metadata: Metadata, rope_factors: mx.array | None) -> dict[str, Any]:
    hidden = metadata.integer("llama.embedding_length")
    heads = metadata.integer("llama.attention.head_count")
    kv_heads = "llama.attention.head_count_kv"
    head_dim = "llama.attention.key_length"
    theta = "llama.rope.freq_base"
    end = end_tokens(metadata)
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": metadata.integer("llama.feed_forward_length"),
        "num_hidden_layers": metadata.integer("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": metadata.integer(kv_heads) if kv_heads in metadata else heads,
        "head_dim": metadata.integer(head_dim) if head_dim in metadata else hidden // heads,
        "max_position_embeddings": metadata.integer("llama.context_length"),
        "rms_norm_eps": metadata.number("llama.attention.layer_norm_rms_epsilon"),
        "rope_theta": metadata.number(theta) if theta in metadata else 10000.0,
        "hidden_act": "silu",
        "eos_token_id": end[0] if len(end) == 1 else end,
    }
    if "tokenizer.ggml.bos_token_id" in metadata:
        config["bos_token_id"] = metadata.integer("tokenizer.ggml.bos_token_id")
    turned = "llama.rope.dimension_count"
    if turned in metadata and metadata.integer(turned) != config["head_dim"]:
        raise unsupported("only part of each head is turned")
    if (scaling := _rope_scaling(metadata, rope_factors, config)) is not None:
        config["rope_scaling"] = scaling
    return config


def _rope_scaling(metadata: Metadata, factors: mx.array | None, config: dict[str, Any]) -> dict[str, Any] | None:
    key = "llama.rope.scaling.type"
    kind = metadata.text(key) if key in metadata else "none"
    if kind == "linear" and factors is None:
        return {"type": "linear", "factor": metadata.number("llama.rope.scaling.factor")}
    if kind != "none":
        raise unsupported(f"its rotary scaling is {kind}")
    return None if factors is None else _llama3_scaling(cast("list[float]", factors.tolist()), config)


def _llama3_scaling(factors: list[float], config: dict[str, Any]) -> dict[str, Any]:
    """Find the parameters behind a table of factors: those of Llama 3 are known but for one, which is the largest factor.

    The table that they give must be the one in the file, or the file means something else.
    """
    factor, low, high, original = max(factors), 1.0, 4.0, 8192

    def expected(index: int) -> float:
        wavelength = 2 * math.pi * config["rope_theta"] ** (2 * index / config["head_dim"])
        smooth = min(max((original / wavelength - low) / (high - low), 0.0), 1.0)
        return 1 / ((1 - smooth) / factor + smooth)

    if not all(math.isclose(value, expected(index), rel_tol=1e-3) for index, value in enumerate(factors)):
        raise unsupported("its rotary factors are not those of Llama 3")
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": original,
    }


def _target(name: str) -> str:
    base, _, part = name.rpartition(".")
    layer = _LAYER.fullmatch(base)
    place = _PLACES.get(base) if layer is None else _LAYER_PLACES.get(layer[2])
    if place is None or part not in ("weight", "scales", "biases"):
        raise unsupported(f"it holds {name}, which mlx-lm's llama has no place for")
    return f"{place}.{part}" if layer is None else f"model.layers.{layer[1]}.{place}.{part}"


def _in_our_order(name: str, array: mx.array, config: dict[str, Any]) -> mx.array:
    for projection, heads in (("attn_q", "num_attention_heads"), ("attn_k", "num_key_value_heads")):
        if f".{projection}." in name:
            if array.shape[0] != config[heads] * config["head_dim"]:
                raise unsupported(f"{name} has {array.shape[0]} rows for {config[heads]} heads of {config['head_dim']}")
            return half_split(array, config[heads])
    return array


def _complete(weights: Arrays, layers: int) -> None:
    needed = {"model.embed_tokens", "model.norm"}
    needed |= {f"model.layers.{layer}.{place}" for layer in range(layers) for place in _LAYER_PLACES.values()}
    missing = sorted(name for name in needed if f"{name}.weight" not in weights)
    if missing:
        raise unsupported(f"it lacks {len(missing)} tensors, {missing[0]} among them")


def _quantization(weights: Arrays) -> dict[str, Any] | None:
    """Say how the packed layers are packed: what most have for all, the others by name. ``None`` if none is packed."""
    bits = {name.removesuffix(".scales"): _bits(weights, name) for name in weights if name.endswith(".scales")}
    if not bits:
        return None
    usual = Counter(bits.values()).most_common(1)[0][0]
    others = {name: {"group_size": GROUP, "bits": own} for name, own in bits.items() if own != usual}
    return {"group_size": GROUP, "bits": usual, **others}


def _bits(weights: Arrays, scales: str) -> int:
    packed = weights[scales.removesuffix(".scales") + ".weight"].shape[-1] * 32  # in words of 32 bits
    return packed // (weights[scales].shape[-1] * GROUP)


def _computable(weights: Arrays) -> Arrays:
    """Give all numbers that are not packed one width: a single norm of another makes all that follows compute in it.

    On a GPU that is F16, as they mostly are. On a CPU it is F32: mlx 0.32 has no fast product of F16 there, and
    SmolLM2-135M was seen to answer 30 times as fast with it.
    """
    width = mx.float32 if mx.default_device() == mx.Device(mx.cpu) else mx.float16
    return {name: array.astype(width) if array.dtype in _WIDTHS else array for name, array in weights.items()}


_WIDTHS = (mx.float32, mx.float16, mx.bfloat16)


def _save(path: Path, weights: Arrays) -> None:
    try:
        mx.save_safetensors(str(path), weights, {"format": "mlx"})  # pyright: ignore[reportUnknownMemberType]
    except RuntimeError as error:  # mlx says no more than that it could not write
        raise ModelError(Kind.DISK_FULL, f"The converted weights could not be written: {error}") from error
