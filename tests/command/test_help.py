"""The help: of every command, plain in a pipe, and without the weight of what the commands need."""

import subprocess
import sys

import pytest

from runner import __version__
from runner.command.console import printable
from runner.command.sizes import parse_size, size_text
from tests.command.commands import run

COMMANDS = [
    [],
    ["generate"],
    ["chat"],
    ["serve"],
    ["drill"],
    ["doctor"],
    ["diagnose"],
    ["models"],
    ["models", "list"],
    ["models", "pull"],
    ["models", "rm"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_and_its_exit_codes(command: list[str]) -> None:
    code, out, err = run(*command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith("Usage: runner")
    assert "Exit codes: 0 done" in out


def test_the_version() -> None:
    assert run("--version") == (0, f"runner-fsm {__version__}\n", "")


def test_an_unknown_command_is_wrong_usage() -> None:
    code, out, err = run("fly")
    assert (code, out) == (2, "")
    assert "fly" in err


def test_the_command_never_imports_the_engine() -> None:
    program = (
        "import sys; from runner.command.app import run; code = run(['--help']);"
        "assert code == 0; assert not {'mlx', 'mlx_lm', 'numpy', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("2GiB", 2 << 30), ("500MB", 500_000_000), ("1.5 k", 1500), ("3g", 3 * 10**9), ("1mib", 1 << 20)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "0", "1XB", "GiB", "1e9"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no size"):
        parse_size(text)


def test_sizes_are_written() -> None:
    assert [size_text(size) for size in (5, 92_871_040, 2 * 10**9)] == ["5 B", "92.9 MB", "2.0 GB"]


def test_control_characters_are_spelt_out() -> None:
    assert printable("a\tb\x1b[31mred\x07") == "a\tb\\x1b[31mred\\x07"
