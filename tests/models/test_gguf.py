"""A GGUF file of the llama architecture becomes a model that says the same; any other is refused in words."""

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_lm
import pytest
from mlx_lm.models import llama
from mlx_lm.models.rope_utils import Llama3RoPE

from fsm import Kind
from runner.models import ModelError, Progress, check, resolve
from tests.models.gguf_files import HEADS, HIDDEN, KV_HEADS, LAYERS, METADATA, TOKENS, Packing, tensors, write_gguf

# What a child makes of a file does not depend on the parent's event loop; that both carry it is shown in test_cache.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

# How far a number may be from what it was before it was packed, as the half of a step.
STEP = {Packing.F32: 1e-6, Packing.F16: 5e-4, Packing.Q8_0: 0.5 / 127, Packing.Q4_0: 0.5 / 7, Packing.Q4_1: 0.5 / 15}
PACKINGS = list(Packing)


def written(path: Path, packing: Packing = Packing.F32, *, drop: str = "", **changes: Any) -> Path:
    metadata = {**METADATA, **{key.replace("__", "."): value for key, value in changes.items()}}
    return write_gguf(path / "a.gguf", {k: v for k, v in metadata.items() if k != drop}, tensors(packing))


def interleaved_llama() -> llama.Model:
    """The numbers of the file as they lie there, in a model that turns neighbours, as GGUF means it."""
    names = {
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    model = llama.Model(
        llama.ModelArgs(
            model_type="llama",
            hidden_size=HIDDEN,
            num_hidden_layers=LAYERS,
            intermediate_size=METADATA["llama.feed_forward_length"],
            num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS,
            rms_norm_eps=1e-5,
            vocab_size=len(TOKENS),
            rope_theta=5000.0,
            rope_traditional=True,
        )
    )
    weights: list[tuple[str, mx.array]] = []
    for name, (_, rows) in tensors(Packing.F32).items():
        array = mx.array(rows[0] if len(rows) == 1 else rows)
        if name.startswith("blk."):
            _, layer, part, _ = name.split(".")
            weights.append((f"model.layers.{layer}.{names[part]}.weight", array))
        else:
            place = "model.embed_tokens" if name == "token_embd.weight" else "model.norm"
            weights.append((f"{place}.weight", array))
    model.load_weights(weights)
    return model


PROMPT = mx.array([[10, 77, 130, 8, 200, 61, 33, 99]])


async def test_the_converted_model_computes_what_the_file_means(tmp_path: Path) -> None:
    model, _ = mlx_lm.load(str(await resolve(str(written(tmp_path)))))[:2]
    assert mx.allclose(model(PROMPT), interleaved_llama()(PROMPT), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("packing", PACKINGS, ids=lambda packing: packing.name)
async def test_every_packing_keeps_the_numbers_and_puts_q_and_k_into_halves(tmp_path: Path, packing: Packing) -> None:
    directory = await resolve(str(written(tmp_path, packing)))
    weights: Any = mx.load(str(directory / "model.safetensors"))
    config = json.loads((directory / "config.json").read_text())
    source = tensors(packing)
    for ours, theirs, heads in (("q", "attn_q", HEADS), ("k", "attn_k", KV_HEADS), ("v", "attn_v", 0)):
        rows = source[f"blk.1.{theirs}.weight"][1]
        name = f"model.layers.1.self_attn.{ours}_proj"
        found = weights[f"{name}.weight"]
        if f"{name}.scales" in weights:
            found = mx.dequantize(
                found,
                weights[f"{name}.scales"],
                weights[f"{name}.biases"],
                group_size=config["quantization"]["group_size"],
                bits=config["quantization"]["bits"],
            )
        size = HIDDEN // HEADS
        if heads:  # row i of the first half, row i of the second, lay next to one another
            order = [
                head * size + 2 * (i % (size // 2)) + i // (size // 2) for head in range(heads) for i in range(size)
            ]
            rows = [rows[row] for row in order]
        assert mx.allclose(found.astype(mx.float32), mx.array(rows), rtol=0, atol=STEP[packing] * 1.05)


async def test_a_model_whose_layers_are_packed_in_two_ways_says_so(tmp_path: Path) -> None:
    matrices = tensors(Packing.Q4_1)
    matrices["token_embd.weight"] = (Packing.Q8_0, matrices["token_embd.weight"][1])
    directory = await resolve(str(write_gguf(tmp_path / "mixed.gguf", METADATA, matrices)))
    quantization = json.loads((directory / "config.json").read_text())["quantization"]
    assert quantization == {"group_size": 32, "bits": 4, "model.embed_tokens": {"group_size": 32, "bits": 8}}
    model, tokenizer = mlx_lm.load(str(directory))[:2]
    assert mlx_lm.generate(model, tokenizer, "the", max_tokens=3)


async def test_the_tokenizer_is_the_one_in_the_file(tmp_path: Path) -> None:
    directory = await resolve(str(written(tmp_path)))
    tokenizer = mlx_lm.load(str(directory))[1]
    assert [TOKENS[token] for token in tokenizer.encode("then the 42<|end|>")] == [
        *("t", "he", "n", "Ġthe", "Ġ", "4", "2", "<|end|>")  # digits singly, specials whole
    ]
    text = "Déjà vu, 北京:\n\tnaïve 🙂"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.eos_token_ids == {0}
    assert tokenizer.apply_chat_template([{"role": "user", "content": "the"}], tokenize=False) == "the"


async def test_a_model_that_begins_texts_with_a_token_does_so(tmp_path: Path) -> None:
    directory = await resolve(str(written(tmp_path, tokenizer__ggml__add_bos_token=True)))
    tokenizer = mlx_lm.load(str(directory))[1]
    assert TOKENS[tokenizer.encode("the")[0]] == "<|say|>"


async def test_the_rotary_factors_of_llama_3_are_understood(tmp_path: Path) -> None:
    scaling = {
        "rope_type": "llama3",
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    size, base = HIDDEN // HEADS, 500_000.0
    scaled: Any = Llama3RoPE(size, 131_072, False, base, scaling)._freqs
    factors: Any = (scaled / base ** (mx.arange(0, size, 2) / size)).tolist()
    assert 1 < factors[4] < 32 == round(factors[-1])  # the three stretches of the rule are all there
    metadata = {**METADATA, "llama.rope.freq_base": base}
    matrices = {**tensors(Packing.F32), "rope_freqs.weight": (Packing.F32, [factors])}
    directory = await resolve(str(write_gguf(tmp_path / "three.gguf", metadata, matrices)))
    found = json.loads((directory / "config.json").read_text())["rope_scaling"]
    assert found == {**scaling, "factor": pytest.approx(32.0)}
    matrices["rope_freqs.weight"] = (Packing.F32, [[*factors[:-1], 3.0]])
    with pytest.raises(ModelError, match="rotary factors"):
        await resolve(str(write_gguf(tmp_path / "other.gguf", metadata, matrices)))


async def test_a_file_is_converted_once_and_again_when_it_changes(tmp_path: Path) -> None:
    file = written(tmp_path)
    steps: list[Progress] = []
    first = await resolve(str(file), progress=steps.append)
    assert check(first).model_type == "llama"
    assert steps[-1].step == "convert"
    assert steps[-1].done == steps[-1].total
    steps.clear()
    (tmp_path / "elsewhere").mkdir()
    moved = file.rename(tmp_path / "elsewhere" / file.name)
    assert await resolve(str(moved), progress=steps.append) == first
    assert steps == []
    write_gguf(file, METADATA, tensors(Packing.F32, seed=2))
    assert await resolve(str(file)) != first


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"general__architecture": "mamba"}, "mamba"),
        ({"tokenizer__ggml__model": "llama"}, "byte-level"),
        ({"tokenizer__ggml__pre": "hieroglyphs"}, "hieroglyphs"),
        ({"llama__rope__scaling__type": "yarn"}, "yarn"),
        ({"llama__block_count": 3}, "lacks 9 tensors"),
        ({"llama__attention__head_count": 8}, "part of each head"),
        ({"tokenizer__ggml__merges": ["x yy"]}, "does not fit together"),
        ({"drop": "llama.context_length"}, "llama.context_length"),
        ({"split__count": 2}, "one part of several"),
    ],
)
async def test_what_can_not_be_converted_is_refused_and_named(
    tmp_path: Path, cache_dir: Path, changes: dict[str, Any], word: str
) -> None:
    with pytest.raises(ModelError, match=word) as caught:
        await resolve(str(written(tmp_path, **changes)))
    assert caught.value.kind is Kind.MODEL_INVALID
    assert caught.value.remedy
    assert list((cache_dir / "building").iterdir()) == []


@pytest.mark.parametrize("length", [0, 10, 3000, 60_000])
async def test_a_file_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    file = written(tmp_path)
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(ModelError, match="can't be read") as caught:
        await resolve(str(file))
    assert caught.value.kind is Kind.MODEL_INVALID
