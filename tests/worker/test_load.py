"""A load tells how far it is, can be broken off, can be repeated, and says what went wrong."""

from pathlib import Path

from runner.channel.messages import (
    Bye,
    Fatal,
    Generate,
    Hello,
    LoadModel,
    LoadStep,
    ModelLoaded,
    ModelUnloaded,
    Need,
    Refused,
    Stop,
    UnloadModel,
)
from tests.worker.conftest import StartChild


def test_a_load_is_told_step_by_step(start: StartChild, tiny: Path) -> None:
    child = start("--beat-interval", "1000")
    child.until(Hello)
    child.send(LoadModel(str(tiny)))
    steps, loaded = child.until(ModelLoaded)
    needs = [step for step in steps if isinstance(step, Need)]
    weights = [step for step in steps if isinstance(step, LoadStep) and step.step == "weights"]
    assert steps[0] == LoadStep("importing")
    assert [need.what for need in needs] == ["weights"]
    assert 100_000 < needs[0].bytes < needs[0].headroom
    assert steps.index(needs[0]) < steps.index(weights[0])
    assert [step.done for step in weights] == list(range(weights[-1].total + 1))
    assert isinstance(steps[-1], LoadStep)
    assert steps[-1].step == "warm-up"
    assert loaded.context == 512
    assert loaded.parameters > 30_000
    assert loaded.device
    assert loaded.seconds > 0


def test_a_stop_breaks_a_load_off(start: StartChild, tiny: Path) -> None:
    child = start()
    child.send(LoadModel(str(tiny)))
    child.until(LoadStep)
    child.send(Stop())
    steps, _ = child.until(Bye)
    assert child.code() == 0
    assert not any(isinstance(step, ModelLoaded) for step in steps)


def test_a_model_can_be_unloaded_and_loaded_again(start: StartChild, tiny: Path) -> None:
    child = start()
    child.load(tiny)
    first, _ = child.answer(1, "again", max_tokens=8)
    child.send(UnloadModel())
    child.until(ModelUnloaded)
    child.load(tiny)
    assert child.answer(2, "again", max_tokens=8)[0] == first


def test_without_a_model_a_request_is_refused_and_unload_changes_nothing(start: StartChild) -> None:
    child = start()
    child.send(Generate(1, text="anyone?"), UnloadModel())
    _, refused = child.until(Refused)
    assert refused.kind == "bad_request"
    child.until(ModelUnloaded)


def test_a_load_that_fails_is_reported_with_its_traceback_and_ends_the_worker(
    start: StartChild, tmp_path: Path
) -> None:
    child = start()
    child.send(LoadModel(str(tmp_path / "nothing")))
    _, fatal = child.until(Fatal)
    assert fatal.exception == "FileNotFoundError"
    assert "nothing" in fatal.message
    assert fatal.traceback.startswith("Traceback")
    assert fatal.phase == "load"
    assert child.rest() == []
    assert child.code() == 1
