"""What the README shows is what the code says, and what it tells to run runs."""

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fsm.drawing import LIFECYCLE, mermaid, picture
from runner import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)[number]


def test_the_picture_is_the_machine() -> None:
    assert block("mermaid") == mermaid(picture(LIFECYCLE))


def test_every_setting_is_listed_with_its_default() -> None:
    for field in msgspec.structs.fields(Settings):
        default = (
            "none"
            if field.default is None
            else f"{field.default:g}"
            if isinstance(field.default, float)
            else field.default
        )
        assert re.search(rf"^\| `{field.name}` \| {default}\b", README, flags=re.MULTILINE), f"{field.name} = {default}"


@pytest.mark.network
def test_the_embedding_example_answers() -> None:
    done = subprocess.run([sys.executable, "-c", block("python")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Paris" in done.stdout


@pytest.mark.network
def test_the_main_job_answers() -> None:
    command = re.search(r'runner (generate "[^"]*")', README)
    assert command is not None
    done = subprocess.run(
        f"{sys.executable} -m runner {command.group(1)}", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Paris" in done.stdout
