"""Requests share a worker without touching one another: tokens, seeds, stop strings, credit, cancel, limits."""

import itertools
import json
import shutil
from pathlib import Path

import pytest

from runner.channel.messages import (
    CancelRequest,
    Chunk,
    Credit,
    Ended,
    FromWorker,
    Generate,
    ModelUnloaded,
    Need,
    PrefillStep,
    Refused,
    Sampling,
    Started,
    Turn,
    UnloadModel,
)
from tests.worker.child import Child, text_of
from tests.worker.conftest import StartChild

numbers = itertools.count(1)

LONG = "a long way " * 44
"""484 tokens; the tiny model takes a byte for a token and 512 in all."""


def ask(text: str = "hello", *, credit: int = 10_000, **sampling: object) -> Generate:
    return Generate(next(numbers), text=text, sampling=Sampling(**sampling), credit=credit)  # type: ignore[arg-type]


def chunks(messages: list[FromWorker], request: Generate) -> list[Chunk]:
    return [message for message in messages if isinstance(message, Chunk) and message.request == request.request]


def test_an_answer_comes_as_started_prefill_chunks_and_end(loaded: Child) -> None:
    request = ask("hello", max_tokens=7)
    loaded.send(request)
    before, ended = loaded.until(Ended)
    assert [message.what for message in before if isinstance(message, Need)] == ["kv cache"]
    assert Started(request.request, 5) in before
    assert before.index(PrefillStep(request.request, 5, 5)) < before.index(chunks(before, request)[0])
    assert len(text_of(before, request.request)) == 7
    assert sum(chunk.tokens for chunk in chunks(before, request)) == 7
    assert ended == Ended(request.request, "length", 7)


def test_turns_go_through_the_chat_template(loaded: Child) -> None:
    request = Generate(next(numbers), turns=(Turn("user", "hello"),), sampling=Sampling(max_tokens=1))
    loaded.send(request)
    before, _ = loaded.until(Ended)
    started = next(message for message in before if isinstance(message, Started))
    assert started.prompt_tokens > len("hello") + len("user")


def test_without_temperature_the_answer_is_always_the_same(loaded: Child) -> None:
    assert loaded.answer(next(numbers), "x", max_tokens=12) == (
        loaded.answer(number := next(numbers), "x", max_tokens=12)[0],
        Ended(number - 1, "length", 12),
    )


@pytest.mark.parametrize("top_p", [1.0, 0.5])
def test_a_seed_gives_the_same_answer_alone_and_among_others(loaded: Child, top_p: float) -> None:
    how = {"max_tokens": 40, "temperature": 1.0, "top_p": top_p}
    alone, _ = loaded.answer(next(numbers), "seeded", seed=7, **how)
    again, other, greedy = ask("seeded", seed=7, **how), ask("seeded", seed=8, **how), ask("seeded", max_tokens=40)
    loaded.send(again, other, greedy)
    messages: list[FromWorker] = []
    for _ in range(3):
        before, ended = loaded.until(Ended)
        messages += [*before, ended]
    order = [message.request for message in messages if isinstance(message, Chunk)]
    assert order.index(other.request) < len(order) - order[::-1].index(again.request), "they took turns"
    assert text_of(messages, again.request) == alone
    assert text_of(messages, other.request) != alone


def test_without_a_seed_answers_differ(loaded: Child) -> None:
    first, _ = loaded.answer(next(numbers), "x", max_tokens=60, temperature=1.0)
    second, _ = loaded.answer(next(numbers), "x", max_tokens=60, temperature=1.0)
    assert first != second


def test_a_stop_string_ends_the_answer_before_it(loaded: Child) -> None:
    whole, _ = loaded.answer(next(numbers), "stop here", max_tokens=30)
    stop = whole[9:12]
    text, ended = loaded.answer(next(numbers), "stop here", max_tokens=30, stop=["nowhere to be seen", stop])
    assert text == whole[: whole.index(stop)]
    assert ended.reason == "stop"
    assert ended.tokens == whole.index(stop) + len(stop)


def test_text_that_only_began_like_a_stop_string_is_not_lost(loaded: Child) -> None:
    whole, _ = loaded.answer(next(numbers), "stop here", max_tokens=10)
    text, ended = loaded.answer(next(numbers), "stop here", max_tokens=10, stop=[whole[-2:] + "never"])
    assert text == whole
    assert ended.reason == "length"


def test_a_request_without_credit_waits_alone(loaded: Child) -> None:
    slow, quick = ask(credit=2, max_tokens=9), ask(max_tokens=30)
    loaded.send(slow, quick)
    before, ended = loaded.until(Ended)
    assert ended.request == quick.request
    assert len(chunks(before, slow)) == 2
    loaded.send(Credit(slow.request, 3))
    for _ in range(3):
        loaded.until(Chunk)
    loaded.send(Credit(slow.request, 100))
    after, ended = loaded.until(Ended)
    assert ended == Ended(slow.request, "length", 9)
    assert len(chunks(after, slow)) == 4


def test_a_cancel_takes_effect_between_tokens_also_without_credit(loaded: Child) -> None:
    request = ask(credit=3, max_tokens=400)
    loaded.send(request)
    for _ in range(3):
        loaded.until(Chunk)
    loaded.send(CancelRequest(request.request))
    before, ended = loaded.until(Ended)
    assert before == []
    assert ended == Ended(request.request, "cancelled", 3)


def test_a_cancel_takes_effect_between_prefill_steps(start: StartChild, tiny: Path) -> None:
    child = start("--prefill-step", "1")
    child.load(tiny)
    request = ask(LONG)
    child.send(request)
    child.until(PrefillStep)
    child.send(CancelRequest(request.request))
    before, ended = child.until(Ended)
    assert chunks(before, request) == []
    assert ended == Ended(request.request, "cancelled")


def test_a_long_prompt_does_not_hold_up_the_tokens_of_others(start: StartChild, tiny: Path) -> None:
    child = start("--prefill-step", "1")
    child.load(tiny)
    quick, long = ask(max_tokens=20), ask(LONG, max_tokens=1)
    child.send(quick, long)
    _, ended = child.until(Ended)
    assert ended.request == quick.request


def test_a_cancel_of_an_unknown_or_ended_request_changes_nothing(loaded: Child) -> None:
    loaded.send(CancelRequest(999_999), Credit(999_999, 1))
    assert loaded.answer(next(numbers), "x", max_tokens=1)[1].reason == "length"


def test_what_is_over_the_concurrency_waits_in_order_and_can_be_cancelled(start: StartChild, tiny: Path) -> None:
    child = start("--concurrency", "1")
    child.load(tiny)
    first, second, third = (ask(max_tokens=3) for _ in range(3))
    paused = ask(credit=0)
    child.send(paused, first, second, third, CancelRequest(second.request), CancelRequest(paused.request))
    ends: list[Ended] = []
    started: list[int] = []
    for _ in range(4):
        before, ended = child.until(Ended)
        ends.append(ended)
        started += [message.request for message in before if isinstance(message, Started)]
    assert ends[0] == Ended(second.request, "cancelled")
    assert [ended.request for ended in ends[1:]] == [paused.request, first.request, third.request]
    assert started == [paused.request, first.request, third.request]


def test_a_prompt_over_the_context_is_refused_with_the_numbers(loaded: Child) -> None:
    request = ask("a" * 512)
    loaded.send(request)
    before, refused = loaded.until(Refused)
    assert (refused.request, refused.kind) == (request.request, "context_limit")
    assert "512" in refused.message
    assert before == []


def test_an_answer_ends_at_the_context(loaded: Child) -> None:
    text, ended = loaded.answer(next(numbers), "a" * 500, max_tokens=1000)
    assert len(text) == 12
    assert (ended.reason, ended.tokens) == ("length", 12)


def test_a_cache_that_can_not_fit_is_refused_before_anything_is_computed(
    start: StartChild, tiny: Path, tmp_path: Path
) -> None:
    endless = tmp_path / "endless"
    shutil.copytree(tiny, endless)
    config = json.loads((endless / "config.json").read_text())
    (endless / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 10**12}))
    child = start()
    child.load(endless)
    child.send(ask(max_tokens=10**11))
    before, refused = child.until(Refused)
    assert refused.kind == "does_not_fit"
    needs = [message for message in before if isinstance(message, Need)]
    assert before == needs
    assert needs[0].bytes > needs[0].headroom
    assert child.answer(next(numbers), "x", max_tokens=1)[1].reason == "length"


@pytest.mark.parametrize(
    "request_",
    [
        Generate(1),
        Generate(1, text=""),
        Generate(1, turns=(Turn("user", " "),)),
        Generate(1, text="both", turns=(Turn("user", "of them"),)),
        Generate(1, text="x", sampling=Sampling(max_tokens=0)),
        Generate(1, text="x", sampling=Sampling(temperature=-1.0)),
        Generate(1, text="x", sampling=Sampling(top_p=0.0)),
        Generate(1, text="x", sampling=Sampling(stop=("",))),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(loaded: Child, request_: Generate) -> None:
    loaded.send(request_)
    before, refused = loaded.until(Refused)
    assert refused.kind == "bad_request"
    assert refused.message.endswith(".") or refused.message.endswith("begins.")
    assert before == []


def test_a_chat_template_that_objects_refuses_the_request(start: StartChild, tiny: Path, tmp_path: Path) -> None:
    strict = tmp_path / "strict"
    shutil.copytree(tiny, strict)
    config = json.loads((strict / "tokenizer_config.json").read_text())
    config["chat_template"] = "{{ raise_exception('Only a pirate may speak') }}"
    (strict / "tokenizer_config.json").write_text(json.dumps(config))
    child = start()
    child.load(strict)
    child.send(Generate(1, turns=(Turn("user", "ahoy"),)))
    _, refused = child.until(Refused)
    assert refused.kind == "bad_request"
    assert "Only a pirate may speak" in refused.message


def test_unload_ends_what_is_left_of_the_requests(start: StartChild, tiny: Path) -> None:
    child = start("--concurrency", "1")
    child.load(tiny)
    active, queued = ask(credit=0), ask()
    child.send(active, queued, UnloadModel())
    before, _ = child.until(ModelUnloaded)
    ended = [message for message in before if isinstance(message, Ended)]
    assert ended == [Ended(active.request, "cancelled"), Ended(queued.request, "cancelled")]
