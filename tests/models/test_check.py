"""A directory that can't be loaded is found before a process is started on it, and the fault is named."""

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fsm import Kind
from runner.models import ModelError, check


def refused(directory: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        check(directory)
    assert caught.value.remedy
    return caught.value


def configure(directory: Path, **changes: Any) -> None:
    path = directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_whole_model_tells_its_facts(tiny: Path) -> None:
    facts = check(tiny)
    assert (facts.model_type, facts.layers, facts.kv_heads, facts.head_dim, facts.context) == ("llama", 2, 2, 16, 512)
    assert facts.tensors == 21
    assert facts.bytes < (tiny / "model.safetensors").stat().st_size


def test_the_facts_of_a_model_that_also_sees_stand_in_its_text_part(tiny: Path) -> None:
    text = {"num_hidden_layers": 7, "num_attention_heads": 8, "num_key_value_heads": 4, "hidden_size": 64}
    (tiny / "config.json").write_text(json.dumps({"model_type": "mistral3", "text_config": text}))
    facts = check(tiny)
    assert (facts.layers, facts.kv_heads, facts.head_dim, facts.context) == (7, 4, 8, 0)


def test_a_path_where_nothing_is(tmp_path: Path) -> None:
    assert refused(tmp_path / "nothing").kind is Kind.MODEL_MISSING
    (tmp_path / "file").touch()
    assert "is a file" in str(refused(tmp_path / "file"))


@pytest.mark.parametrize("missing", [1, 1000, 148_000])
def test_weights_cut_short_say_how_much_is_missing(tiny: Path, missing: int) -> None:
    weights = tiny / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-missing])
    error = refused(tiny)
    assert error.kind is Kind.MODEL_INVALID
    assert f"{missing:,} bytes are missing" in str(error)


def header(**tensors: dict[str, Any]) -> bytes:
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x10\0\0", "is cut short"),
        (struct.pack("<Q", 500) + b"{", "cut short inside its header: at least 499 bytes"),
        (struct.pack("<Q", 1 << 62) + b"{}", "no safetensors file"),
        (struct.pack("<Q", 4) + b"{]}!", "header that can't be read"),
        (struct.pack("<Q", 4) + b"\xff\xfe\xfd\xfc", "header that can't be read"),
        (header(a={"dtype": "F32"}), "header that can't be read"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (header(a={"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}) + bytes(4), "do not fit"),
        (header(a={"dtype": "F32", "shape": [1], "data_offsets": [8, 4]}) + bytes(4), "no place in the file"),
        (header(a={"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}) + bytes(9), "5 bytes more"),
    ],
)
def test_weights_that_are_damaged_say_how(tiny: Path, content: bytes, words: str) -> None:
    (tiny / "model.safetensors").write_bytes(content)
    error = refused(tiny)
    assert error.kind is Kind.MODEL_INVALID
    assert words in str(error)


def test_an_architecture_that_mlx_lm_lacks(tiny: Path) -> None:
    for model_type in ("perceptron", "cache", "../llama", "base"):
        configure(tiny, model_type=model_type)
        assert "not one that the installed mlx-lm supports" in str(refused(tiny))


def test_an_architecture_that_runs_under_another_name(tiny: Path) -> None:
    for model_type in ("mistral", "kimi_k2", "phi-msft"):
        configure(tiny, model_type=model_type)
        assert check(tiny).model_type == model_type


def test_a_model_that_brings_code_of_its_own_is_not_run(tiny: Path) -> None:
    configure(tiny, model_file="model.py")
    assert "brings its own code" in str(refused(tiny))


@pytest.mark.parametrize("config", ["{", "[]", '{"model_type": 3}', "{}", '{"model_type": ""}'])
def test_a_config_that_can_not_be_understood(tiny: Path, config: str) -> None:
    (tiny / "config.json").write_text(config)
    assert "config.json" in str(refused(tiny))


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_file_that_is_not_there(tiny: Path, file: str) -> None:
    (tiny / file).unlink()
    error = refused(tiny)
    assert error.kind is Kind.MODEL_INVALID
    assert "holds no" in str(error)


def test_files_that_the_index_names_and_nobody_fetched(tiny: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (tiny / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "lacks model-00002-of-00002.safetensors" in str(refused(tiny))
    (tiny / "model.safetensors.index.json").write_text("null")
    assert "index.json can't be understood" in str(refused(tiny))


def test_a_link_into_nothing_is_missing(tiny: Path) -> None:
    (tiny / "model.safetensors").unlink()
    (tiny / "model.safetensors").symlink_to(tiny / "gone")
    assert refused(tiny).kind is Kind.MODEL_MISSING


def test_nothing_heavy_is_imported_for_it(tiny: Path) -> None:
    code = (
        "import sys, pathlib, runner.models as m\n"
        f"m.check(pathlib.Path({str(tiny)!r})); m.list_models()\n"
        "heavy = {'mlx', 'mlx_lm', 'numpy', 'transformers', 'tokenizers', 'huggingface_hub'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
