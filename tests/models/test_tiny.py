"""``tiny`` is the same everywhere, loads, and talks letters until it is told to stop."""

import hashlib
from pathlib import Path

import mlx_lm
import pytest
from mlx_lm.sample_utils import make_sampler

from runner.models import check, resolve
from runner.models.tiny import CONTEXT, write_tiny

LETTERS = set("abcdefghijklmnopqrstuvwxyz ")


def digests(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


def test_two_makings_are_equal_to_the_byte(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_tiny(tmp_path / name)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


@pytest.mark.parametrize("temperature", [0.0, 1.0, 2.0])
def test_it_says_letters_for_as_long_as_it_may(tiny: Path, temperature: float) -> None:
    model, tokenizer = mlx_lm.load(str(tiny))[:2]
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Grüß dich, 世界!"}], add_generation_prompt=True
    )
    pieces = list(mlx_lm.stream_generate(model, tokenizer, prompt, max_tokens=300, sampler=make_sampler(temperature)))
    text = "".join(piece.text for piece in pieces)
    assert pieces[-1].finish_reason == "length"
    assert len(text) >= 299  # a space at the very beginning is not said
    assert set(text) <= LETTERS
    assert len(set(text)) > 5


def test_what_it_says_depends_on_what_it_is_told(tiny: Path) -> None:
    model, tokenizer = mlx_lm.load(str(tiny))[:2]
    answers = {mlx_lm.generate(model, tokenizer, prompt, max_tokens=20) for prompt in ("one", "two", "three")}
    assert len(answers) == 3


def test_prompts_of_any_text_survive_its_tokenizer(tiny: Path) -> None:
    tokenizer = mlx_lm.load(str(tiny))[1]
    text = "".join(map(chr, range(1, 0x180))) + "世界 🙂"
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.anyio
async def test_it_is_made_once_and_passes_the_check(cache_dir: Path) -> None:
    directory = await resolve("tiny")
    made = (directory / "model.safetensors").stat().st_mtime_ns
    assert await resolve("tiny") == directory
    assert (directory / "model.safetensors").stat().st_mtime_ns == made
    assert directory.is_relative_to(cache_dir)
    assert check(directory).context == CONTEXT


@pytest.mark.anyio
async def test_a_damaged_one_is_made_anew() -> None:
    directory = await resolve("tiny")
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert check(await resolve("tiny"))
