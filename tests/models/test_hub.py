"""Models of the hub: fetched by its own client, had without a network once they are here, refused with a reason."""

from pathlib import Path

import pytest

from fsm import Kind
from runner.models import ModelError, Progress, check, list_models, pull, remove, resolve
from tests.models.servers import COMMIT, hub_that_holds, hub_that_refuses, serve

pytestmark = pytest.mark.anyio

REPOSITORY = "owner/some-name_4bit"
NOBODY_LISTENS = "http://127.0.0.1:9"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "GatedRepo", Kind.AUTH),
        (403, "GatedRepo", Kind.AUTH),
        (401, "RepoNotFound", Kind.MODEL_MISSING),
        (404, "RepoNotFound", Kind.MODEL_MISSING),
        (404, "RevisionNotFound", Kind.MODEL_MISSING),
        (403, None, Kind.AUTH),
        (500, None, Kind.HUB_UNREACHABLE),
    ],
)
async def test_a_refusal_of_the_hub_has_its_reason(
    monkeypatch: pytest.MonkeyPatch, status: int, code: str | None, kind: Kind
) -> None:
    with serve(hub_that_refuses(status, code)) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        with pytest.raises(ModelError, match=REPOSITORY) as caught:
            await resolve(f"{REPOSITORY}@v2")
    assert caught.value.kind is kind
    assert caught.value.remedy


async def test_a_name_that_the_hub_does_not_allow() -> None:
    with pytest.raises(ModelError, match="owner/a--b") as caught:
        await resolve("owner/a--b")
    assert caught.value.kind is Kind.MODEL_MISSING


async def test_a_hub_that_can_not_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", NOBODY_LISTENS)
    with pytest.raises(ModelError) as caught:
        await resolve(REPOSITORY)
    assert caught.value.kind is Kind.HUB_UNREACHABLE
    assert "--model DIR" in caught.value.remedy


async def test_a_model_is_fetched_listed_kept_and_removed(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Progress] = []
    with serve(hub_that_holds(REPOSITORY, tiny)) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        directory = await resolve(REPOSITORY, progress=steps.append)
    assert check(directory).model_type == "llama"
    size = sum(path.stat().st_size for path in tiny.iterdir())
    assert (steps[-1].step, steps[-1].done, steps[-1].total) == ("download", size, size)

    monkeypatch.setenv("HF_ENDPOINT", NOBODY_LISTENS)
    for reference in (REPOSITORY, f"{REPOSITORY}@{COMMIT}"):
        assert await resolve(reference) == directory
    assert await pull(REPOSITORY) == directory  # the hub's client falls back on what is here

    (model,) = list_models()
    assert (model.name, model.kind) == (REPOSITORY, "hub")
    assert model.bytes >= size
    assert await remove(REPOSITORY) == model.bytes
    assert list_models() == []


async def test_a_model_that_came_only_in_part_is_fetched_anew(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(hub_that_holds(REPOSITORY, tiny)) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        directory = await resolve(REPOSITORY)
        (directory / "model.safetensors").unlink()
        assert check(await resolve(REPOSITORY))
