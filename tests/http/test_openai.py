"""The official client, unchanged, without retries: it chats, streams, lists, and raises its own errors for ours."""

from collections.abc import Generator

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

from tests.http.servers import Served

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Say something."}]


@pytest.fixture(scope="module")
def client(server: Served) -> Generator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_a_conversation_is_answered(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model="tiny",
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Say "}, {"type": "text", "text": "something."}]},
        ],
        max_completion_tokens=7,
        temperature=0.7,
        top_p=0.9,
        seed=3,
        n=1,
    )
    assert answer.id.startswith("chatcmpl-")
    assert answer.object == "chat.completion"
    assert answer.model == "tiny"
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 7
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 7


def test_a_seed_repeats_and_a_stream_says_what_the_whole_answer_says(client: OpenAI) -> None:
    def whole(seed: int) -> str | None:
        answer = client.chat.completions.create(model="tiny", messages=HELLO, max_tokens=30, temperature=1, seed=seed)
        return answer.choices[0].message.content

    stream = client.chat.completions.create(
        model="tiny",
        messages=HELLO,
        max_tokens=30,
        temperature=1,
        seed=5,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole(5)
    assert text != whole(6)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "length"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 30
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_a_text_goes_on_and_stops_where_it_is_told(client: OpenAI) -> None:
    first = client.completions.create(model="tiny", prompt="Once", max_tokens=40)
    text = first.choices[0].text
    stop = text[10:13]
    assert text.index(stop) <= 10
    second = client.completions.create(model="tiny", prompt=["Once"], max_tokens=40, stop=[stop])
    assert second.choices[0].finish_reason == "stop"
    assert second.choices[0].text == text[: text.index(stop)]
    streamed = client.completions.create(model="tiny", prompt="Once", max_tokens=40, stop=stop, stream=True)
    assert "".join(chunk.choices[0].text for chunk in streamed) == second.choices[0].text


def test_models_are_listed(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "runner"


def test_another_model_is_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="gpt-9", messages=HELLO)
    assert caught.value.param == "model"
    assert caught.value.code == "model_not_found"


def test_a_prompt_longer_than_the_context_is_told_as_such_also_to_a_stream(client: OpenAI) -> None:
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(
                model="tiny", messages=[{"role": "user", "content": "word " * 500}], stream=stream
            )
        assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tools", [{"type": "function", "function": {"name": "f"}}]),
        ("response_format", {"type": "json_object"}),
        ("logprobs", True),
        ("n", 2),
        ("presence_penalty", 0.5),
        ("invented", "x"),
        ("temperature", 3),
        ("top_p", 0),
        ("max_tokens", 0),
        ("stop", ["a", "b", "c", "d", "e"]),
        ("stream_options", {"include_usage": True}),
    ],
)
def test_what_is_not_supported_is_refused_by_name(client: OpenAI, field: str, value: object) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="tiny", messages=HELLO, extra_body={field: value})
    assert caught.value.param == field
    assert caught.value.type == "invalid_request_error"


def test_the_client_s_error_for_a_wrong_value_names_its_place(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model="tiny",
            messages=[{"role": "user", "content": "x"}, {"role": "tool", "content": "x", "tool_call_id": "1"}],
        )
    assert caught.value.param in ("messages[1].role", "messages[1].tool_call_id")
