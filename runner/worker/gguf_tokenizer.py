"""The tokenizer that a GGUF file carries, as the files that transformers reads.

Here lives the translation of ``tokenizer.ggml.*``: a byte-level BPE with its merges, special tokens by type, the chat
template. How text is cut before the merges is not in the file; it only names who cut it so (``pre``), and each name that
is known stands in a table here. An unknown one is refused: a near miss would make a model that is a little worse
everywhere and wrong nowhere to be seen.
"""

import json
from typing import Any

from tokenizers import Tokenizer

from runner.worker.gguf_metadata import Metadata, unsupported

UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4
"""Types of token in ``tokenizer.ggml.token_type``; all others are ordinary."""

Part = dict[str, Any]

_BYTES: Part = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_DIGITS: Part = {"type": "Digits", "individual_digits": True}
_LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""How Llama 3 cuts text, from its tokenizer's own configuration."""
_LLAMA3_SPLIT: Part = {"type": "Split", "pattern": {"Regex": _LLAMA3}, "behavior": "Isolated", "invert": False}

_CUTS: dict[str, list[Part]] = {
    "gpt-2": [_BYTES],
    "smollm": [_DIGITS, _BYTES],
    "llama-bpe": [_LLAMA3_SPLIT, {**_BYTES, "use_regex": False}],
}
_WHOLE_WORDS_FIRST = frozenset({"llama-bpe"})
"""Those that take a word that is a token as it is, before any merge; they also begin every text with ``bos``."""


def tokenizer_files(metadata: Metadata) -> dict[str, Part]:
    """Return the contents of ``tokenizer.json`` and ``tokenizer_config.json`` by name.

    Raises:
        ModelError: ``model_invalid`` for a tokenizer of another kind, or one that does not fit together.
    """
    if (model := metadata.text("tokenizer.ggml.model")) != "gpt2":
        raise unsupported(f"its tokenizer is of the kind {model!r}, not byte-level BPE")
    pre = metadata.text("tokenizer.ggml.pre") if "tokenizer.ggml.pre" in metadata else "(not named)"
    if pre not in _CUTS:
        raise unsupported(f"its tokenizer cuts text in the way {pre}; known are {', '.join(_CUTS)}")
    tokens = metadata.texts("tokenizer.ggml.tokens")
    tokenizer = _tokenizer(metadata, tokens, pre)
    try:
        Tokenizer.from_str(json.dumps(tokenizer))
    except Exception as error:  # the library raises Exception itself, with the reason
        raise unsupported(f"its tokenizer does not fit together ({error})") from error
    return {"tokenizer.json": tokenizer, "tokenizer_config.json": _config(metadata, tokens)}


def end_tokens(metadata: Metadata) -> list[int]:
    """Return the ids that end an answer."""
    keys = ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id")
    ids = [metadata.integer(key) for key in keys if key in metadata]
    if not ids:
        raise unsupported("it does not say which token ends an answer")
    return list(dict.fromkeys(ids))


def _tokenizer(metadata: Metadata, tokens: list[str], pre: str) -> Part:
    types = metadata.integers("tokenizer.ggml.token_type")
    added = [
        _added(index, token, special=kind != USER_DEFINED)
        for index, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind in (UNKNOWN, CONTROL, USER_DEFINED)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _CUTS[pre]},
        "post_processor": _beginning(metadata, tokens, pre),
        "decoder": {**_BYTES, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": pre in _WHOLE_WORDS_FIRST,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ", 1) for merge in metadata.texts("tokenizer.ggml.merges")],
        },
    }


def _added(index: int, token: str, *, special: bool) -> Part:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": index, "content": token, **flags, "special": special}


def _beginning(metadata: Metadata, tokens: list[str], pre: str) -> Part | None:
    """Make the rule that puts ``bos`` before a text, for a model that wants it."""
    key = "tokenizer.ggml.add_bos_token"
    if not (metadata.flag(key) if key in metadata else pre in _WHOLE_WORDS_FIRST):
        return None
    bos = metadata.integer("tokenizer.ggml.bos_token_id")
    first = {"SpecialToken": {"id": tokens[bos], "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [first, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [first, {"Sequence": {"id": "A", "type_id": 0}}, first, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {tokens[bos]: {"id": tokens[bos], "ids": [bos], "tokens": [tokens[bos]]}},
    }


def _config(metadata: Metadata, tokens: list[str]) -> Part:
    config: Part = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    names = {"bos": "bos_token", "eos": "eos_token", "padding": "pad_token", "unknown": "unk_token"}
    for name, target in names.items():
        key = f"tokenizer.ggml.{name}_token_id"
        if key in metadata:
            config[target] = tokens[metadata.integer(key)]
    if "llama.context_length" in metadata:
        config["model_max_length"] = metadata.integer("llama.context_length")
    if "tokenizer.chat_template" in metadata:
        config["chat_template"] = metadata.text("tokenizer.chat_template")
    return config
