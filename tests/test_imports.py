"""What a program gets by importing us, and what it does not."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*(name.partition('.')[0] for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_pure_part_loads_neither_an_event_loop_nor_a_log_nor_a_model() -> None:
    assert not loaded_by("import fsm") & {"anyio", "asyncio", "trio", "loguru", "mlx", "numpy", "runner", "hypothesis"}


def test_drawing_loads_neither_an_engine_nor_sphinx_nor_an_event_loop() -> None:
    heavy = {"anyio", "mlx", "sphinx", "docutils", "graphviz_pure", "mkdocs"}
    assert not loaded_by("import runner.command.diagram") & heavy
    assert not loaded_by("import fsm, fsm.drawing") & (heavy | {"runner"})


def test_the_supervisor_never_loads_the_engine() -> None:
    statement = "import runner; [getattr(runner, name) for name in runner.__all__]"
    assert not loaded_by(statement) & {"mlx", "mlx_lm", "numpy", "transformers", "hypothesis"}


def test_the_worker_says_hello_before_it_loads_what_only_the_supervisor_needs() -> None:
    assert not loaded_by("import runner.worker.start") & {"anyio", "loguru", "transitions", "mlx", "numpy"}


PURE = [path for path in sorted((ROOT / "fsm").rglob("*.py")) if "testing" not in path.parts]


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.name)
def test_the_pure_part_has_no_clock_and_no_io(path: Path) -> None:
    allowed = {
        "fsm",
        "msgspec",
        "transitions",
        "typing",
        "enum",
        "collections",
        "datetime",
        "hashlib",
        "hmac",
        "itertools",
        "re",
        "textwrap",
    }
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= allowed
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert (node.module or "").partition(".")[0] in allowed
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input"}


@pytest.mark.parametrize("path", sorted((ROOT / "runner").rglob("*.py")), ids=lambda path: path.name)
def test_only_the_worker_imports_the_engine(path: Path) -> None:
    if "worker" in path.parts:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.partition(".")[0] for name in names} & {"mlx", "mlx_lm", "numpy", "transformers", "tokenizers"}
