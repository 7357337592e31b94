"""``tiny``: a language model with random weights, for tests and drills.

It is written by hand, in pure Python, so that a drill starts fast and needs neither network nor mlx: the format of
safetensors is a header of JSON and raw numbers behind it. The same seed gives the same bytes on every machine: the
numbers come from ``random.Random`` without any function whose last digit depends on the platform.

What it says means nothing, but it is letters and spaces, and it does not stop before it is told to. Both come from one
trick: channel 0 of the hidden state is the same for every token and no layer writes to it, so the output layer can use
it as the bias that the llama architecture does not have.
"""

import json
import random
import struct
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED = 20240229
CONTEXT = 512
"""Tokens of prompt and answer together."""
HIDDEN = 32
LAYERS = 2
HEADS = 2
FEED_FORWARD = 64

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""Ids 0, 1, 2. The names are those of the ChatML template, which many models share."""
VOCABULARY = len(SPECIAL_TOKENS) + 256
_SPOKEN = frozenset(b" abcdefghijklmnopqrstuvwxyz")
"""The bytes that an answer is made of."""

_CONSTANT = 6.0
"""Channel 0 of every embedding. Large against the others (at most 1), so that normalising leaves it about constant."""
_PENALTY = 8.0
"""Logits per unit of channel 0 that all other tokens are behind: some 40 in the end, which no usual temperature lifts."""

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tiny(directory: Path) -> None:
    """Write the model into a directory that exists: five files, about 200 kB. Raises ``OSError`` where that fails."""
    _write_json(directory / "config.json", _config())
    _write_json(directory / "tokenizer.json", _tokenizer())
    _write_json(directory / "tokenizer_config.json", _tokenizer_config())
    (directory / "model.safetensors").write_bytes(_safetensors(dict(_tensors(random.Random(SEED)))))


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")


def _config() -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "torch_dtype": "float32",
    }


Tensor = tuple[tuple[int, ...], "array[float]"]  # quoted: Python 3.11 can not subscript array
"""Shape, and the numbers row by row."""


def _tensors(source: random.Random) -> Iterator[tuple[str, Tensor]]:
    yield "model.embed_tokens.weight", _matrix(source, VOCABULARY, HIDDEN, 1.0, column=[_CONSTANT] * VOCABULARY)
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        yield f"{prefix}.input_layernorm.weight", _ones(HIDDEN)
        yield f"{prefix}.post_attention_layernorm.weight", _ones(HIDDEN)
        # Channel 0 is not read by the layers: it would drown the others.
        for name in ("q", "k"):
            yield f"{prefix}.self_attn.{name}_proj.weight", _matrix(source, HIDDEN, HIDDEN, 1.0, column=[0.0] * HIDDEN)
        yield f"{prefix}.self_attn.v_proj.weight", _matrix(source, HIDDEN, HIDDEN, 0.5, column=[0.0] * HIDDEN)
        yield f"{prefix}.self_attn.o_proj.weight", _matrix(source, HIDDEN, HIDDEN, 0.2, silent_row=True)
        for name in ("gate", "up"):
            columns = [0.0] * FEED_FORWARD
            yield f"{prefix}.mlp.{name}_proj.weight", _matrix(source, FEED_FORWARD, HIDDEN, 0.5, column=columns)
        yield f"{prefix}.mlp.down_proj.weight", _matrix(source, HIDDEN, FEED_FORWARD, 0.2, silent_row=True)
    yield "model.norm.weight", _ones(HIDDEN)
    spoken = [_token_is_spoken(token) for token in range(VOCABULARY)]
    bias = [0.0 if likely else -_PENALTY for likely in spoken]
    yield "lm_head.weight", _matrix(source, VOCABULARY, HIDDEN, 1.0, column=bias)


def _token_is_spoken(token: int) -> bool:
    return token - len(SPECIAL_TOKENS) in _SPOKEN


def _matrix(
    source: random.Random,
    rows: int,
    columns: int,
    size: float,
    *,
    column: list[float] | None = None,
    silent_row: bool = False,
) -> Tensor:
    """Draw between -size and size; ``column`` takes the place of the first column, ``silent_row`` empties the first row."""
    values = array("f", (size * (2.0 * source.random() - 1.0) for _ in range(rows * columns)))
    if column is not None:
        values[::columns] = array("f", column)
    if silent_row:
        values[:columns] = array("f", bytes(4 * columns))
    return (rows, columns), values


def _ones(size: int) -> Tensor:
    return (size,), array("f", [1.0]) * size


def _safetensors(tensors: dict[str, Tensor]) -> bytes:
    """Lay out the file: length of the header (8 bytes, little-endian), the header (JSON), the numbers (little-endian)."""
    header: dict[str, Any] = {"__metadata__": {"format": "mlx"}}
    data = bytearray()
    for name, (shape, values) in tensors.items():
        if sys.byteorder == "big":
            values.byteswap()
        begin = len(data)
        data += values.tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": (begin, len(data))}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the numbers start at a multiple of 8, as the format asks
    return struct.pack("<Q", len(text)) + text + data


def byte_letters() -> list[str]:
    """List the letter that stands for each byte in a byte-level vocabulary, as GPT-2 chose them.

    A printable byte of Latin-1 stands for itself; the other 68 take the code points from 256 on, in order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def _tokenizer() -> dict[str, Any]:
    vocabulary = {token: index for index, token in enumerate((*SPECIAL_TOKENS, *byte_letters()))}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_special(index, token) for index, token in enumerate(SPECIAL_TOKENS)],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": [],
        },
    }


def _special(index: int, token: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": index, "content": token, **flags}


def _tokenizer_config() -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|endoftext|>",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": CONTEXT,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
