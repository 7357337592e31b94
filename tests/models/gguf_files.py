"""GGUF files written by hand, after the format's description: what the converter reads must not come from its own code."""

import random
import struct
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from runner.models.tiny import byte_letters

ALIGNMENT = 32


class Packing(IntEnum):
    """Kinds of tensor, by their number in the format."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q8_0 = 8


HIDDEN, LAYERS, HEADS, KV_HEADS, FEED_FORWARD = 64, 2, 4, 2, 96
TOKENS = ["<|end|>", "<|say|>", *byte_letters(), "Ġt", "he", "Ġthe"]
MERGES = ["Ġ t", "h e", "Ġt he"]
METADATA: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.embedding_length": HIDDEN,
    "llama.block_count": LAYERS,
    "llama.feed_forward_length": FEED_FORWARD,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KV_HEADS,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.context_length": 256,
    "llama.rope.freq_base": 5000.0,
    "llama.rope.dimension_count": HIDDEN // HEADS,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 3, *[1] * (len(TOKENS) - 2)],
    "tokenizer.ggml.merges": MERGES,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 0,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}",
}

Matrix = tuple[Packing, list[list[float]]]


def tensors(packing: Packing, seed: int = 1) -> dict[str, Matrix]:
    """A whole llama with random numbers; the norms are F32, as they are in every GGUF file."""
    source = random.Random(seed)

    def matrix(rows: int, columns: int) -> Matrix:
        return packing, [[source.uniform(-0.5, 0.5) for _ in range(columns)] for _ in range(rows)]

    def norm() -> Matrix:
        return Packing.F32, [[source.uniform(0.5, 1.5) for _ in range(HIDDEN)]]

    kv = KV_HEADS * HIDDEN // HEADS
    found = {"token_embd.weight": matrix(len(TOKENS), HIDDEN), "output_norm.weight": norm()}
    for layer in range(LAYERS):
        shapes = {
            "attn_q": (HIDDEN, HIDDEN),
            "attn_k": (kv, HIDDEN),
            "attn_v": (kv, HIDDEN),
            "attn_output": (HIDDEN, HIDDEN),
            "ffn_gate": (FEED_FORWARD, HIDDEN),
            "ffn_up": (FEED_FORWARD, HIDDEN),
            "ffn_down": (HIDDEN, FEED_FORWARD),
        }
        found |= {f"blk.{layer}.{name}.weight": matrix(*shape) for name, shape in shapes.items()}
        found |= {f"blk.{layer}.{name}.weight": norm() for name in ("attn_norm", "ffn_norm")}
    return found


def write_gguf(path: Path, metadata: dict[str, Any], matrices: dict[str, Matrix]) -> Path:
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(matrices), len(metadata))
    head += b"".join(_text(key) + _value(value) for key, value in metadata.items())
    data = b""
    for name, (packing, rows) in matrices.items():
        shape = (len(rows[0]),) if len(rows) == 1 else (len(rows[0]), len(rows))  # the fastest first
        head += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        head += struct.pack("<IQ", packing, len(data))
        data = _padded(data + b"".join(_packed(packing, row) for row in rows))
    path.write_bytes(_padded(head) + data)
    return path


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + _text(value)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(_text(item) for item in value)
        case _:
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def _packed(packing: Packing, row: Sequence[float]) -> bytes:
    if packing is Packing.F32:
        return struct.pack(f"<{len(row)}f", *row)
    if packing is Packing.F16:
        return struct.pack(f"<{len(row)}e", *row)
    return b"".join(_block(packing, row[start : start + 32]) for start in range(0, len(row), 32))


def _block(packing: Packing, numbers: Sequence[float]) -> bytes:
    """32 numbers with one scale, and for Q4_1 the least of them."""
    if packing is Packing.Q8_0:
        scale = max(map(abs, numbers)) / 127
        return struct.pack("<e32b", scale, *(round(number / scale) for number in numbers))
    if packing is Packing.Q4_0:
        least, scale = 0.0, max(map(abs, numbers)) / 7
        head, steps = struct.pack("<e", scale), [round(number / scale) + 8 for number in numbers]
    else:
        least, scale = min(numbers), (max(numbers) - min(numbers)) / 15
        head, steps = struct.pack("<ee", scale, least), [round((number - least) / scale) for number in numbers]
    return head + bytes(low | high << 4 for low, high in zip(steps[:16], steps[16:], strict=True))
