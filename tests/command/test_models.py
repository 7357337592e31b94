"""``runner models``: what is here, and how it comes and goes."""

import json
from pathlib import Path

from tests.command.commands import run


def test_a_model_is_pulled_listed_and_removed(tmp_path: Path) -> None:
    here = {"RUNNER_CACHE_DIR": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub")}
    code, out, err = run("models", "list", env=here)
    assert (code, out) == (0, "")
    assert "runner models pull" in err
    assert json.loads(run("models", "list", "--json", env=here)[1]) == []

    code, out, _ = run("models", "pull", "tiny", "--json", env=here)
    assert code == 0
    path = json.loads(out)["path"]
    assert Path(path).is_dir()

    (model,) = json.loads(run("models", "list", "--json", env=here)[1])
    assert (model["name"], model["kind"], model["path"]) == ("tiny", "tiny", path)
    assert model["bytes"] > 0
    assert run("models", "list", env=here)[1].startswith("tiny\ttiny\t")

    code, out, _ = run("models", "rm", "tiny", "--json", env=here)
    assert code == 0
    assert json.loads(out)["freed_bytes"] == model["bytes"]
    assert not Path(path).exists()


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    here = {"RUNNER_CACHE_DIR": str(tmp_path)}
    code, _, err = run("models", "rm", "nothing", env=here)
    assert code == 3
    assert "nothing" in err
    code, out, _ = run("models", "pull", "/no/such.gguf", "--json", env=here)
    assert code == 3
    assert json.loads(out)["error"]["kind"] == "model_missing"
