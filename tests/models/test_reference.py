"""What ``--model`` takes, and what it says of anything else."""

import os
from pathlib import Path

import pytest

from fsm import Kind
from runner.models import ModelError, ModelReference, ReferenceKind


def test_the_two_names_are_names_even_beside_directories_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    assert ModelReference.parse("tiny").kind is ReferenceKind.TINY
    assert ModelReference.parse("smollm2").kind is ReferenceKind.SMOLLM2
    assert ModelReference.parse("./tiny").path == tmp_path / "tiny"


def test_a_path_that_exists_is_a_path_even_if_it_reads_like_a_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owner" / "name").mkdir(parents=True)
    (tmp_path / "owner" / "file.GGUF").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    directory = ModelReference.parse("owner/name")
    assert (directory.kind, directory.path) == (ReferenceKind.DIRECTORY, tmp_path / "owner" / "name")
    assert ModelReference.parse("~/owner/name").path == directory.path
    assert ModelReference.parse("owner/file.GGUF").kind is ReferenceKind.GGUF


def test_a_hub_id_may_name_a_revision() -> None:
    plain = ModelReference.parse("mlx-community/Some.Model-4bit_v2")
    assert (plain.kind, plain.repository, plain.revision) == (
        ReferenceKind.HUB,
        "mlx-community/Some.Model-4bit_v2",
        "",
    )
    pinned = ModelReference.parse("owner/name@refs/pr/1")
    assert (pinned.repository, pinned.revision) == ("owner/name", "refs/pr/1")
    assert str(pinned) == "owner/name@refs/pr/1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "nothing",
        "./nothing",
        "/no/such/place",
        "a/b/c",
        "owner/name@",
        "owner/model.gguf",
        "~nobody-here/x",
        "x\0y",
    ],
)
def test_anything_else_is_missing_and_the_choices_are_named(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        ModelReference.parse(text)
    assert caught.value.kind is Kind.MODEL_MISSING
    assert "`tiny`" in caught.value.remedy


def test_a_file_of_another_kind_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ModelError, match=r"not a \.gguf file") as caught:
        ModelReference.parse(str(tmp_path / "model.safetensors"))
    assert caught.value.kind is Kind.MODEL_INVALID


def test_a_name_that_is_too_long_for_a_file_is_no_model() -> None:
    with pytest.raises(ModelError) as missing:
        ModelReference.parse("x" * 5000)
    assert missing.value.kind is Kind.MODEL_MISSING


def test_a_path_that_is_no_text_is_refused_because_no_message_could_carry_it(tmp_path: Path) -> None:
    named = tmp_path / os.fsdecode(b"bad\xff")
    named.mkdir()
    with pytest.raises(ModelError, match="not UTF-8"):
        ModelReference.parse(str(named))
