"""Whatever comes as a body, the answer is one that says what is wrong, and the server goes on."""

import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.http.servers import Served

MANY = int(os.environ.get("RUNNER_TEST_BODIES", "60"))
"""Examples of each kind. The long run: RUNNER_TEST_BODIES=5000."""

bounded = settings(max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ASKED = ("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop")
OTHERS = ("n", "stream", "stream_options", "prompt", "tools", "user")
fields = st.sampled_from(ASKED + OTHERS)
messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "system", "x"]), "content": st.text() | anything}),
    max_size=3,
)
nearly_right = st.dictionaries(fields, anything, max_size=4).flatmap(
    lambda some: messages.map(lambda turns: {"messages": turns, "max_tokens": 1, **some})
)
PATHS = st.sampled_from(["/v1/chat/completions", "/v1/completions"])


def tell(server: Served, path: str, body: bytes) -> dict[str, Any]:
    """Send a body; what comes back is an answer, or an error that names the caller's fault."""
    answer = server.http.post(path, content=body)
    assert answer.status_code in (200, 400, 404), (answer.status_code, answer.text)
    if answer.status_code == 200:
        return {}
    error = answer.json()["error"]
    assert error["message"]
    assert error["type"] in ("invalid_request_error", "not_found_error")
    return error


@bounded
@given(path=PATHS, body=st.binary(max_size=200))
def test_bytes(server: Served, path: str, body: bytes) -> None:
    tell(server, path, body)


@bounded
@given(path=PATHS, body=anything)
def test_any_json(server: Served, path: str, body: Any) -> None:
    tell(server, path, json.dumps(body).encode("utf-8", "surrogatepass"))


@bounded
@given(path=PATHS, body=nearly_right)
def test_nearly_right(server: Served, path: str, body: Any) -> None:
    if body.get("stream") is not True:
        tell(server, path, json.dumps(body).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        (b"", None, "invalid_json"),
        (b"[" * 50_000, None, "invalid_value"),
        (b'{"messages":' + b"[" * 50_000, "messages[0]", "invalid_value"),
        (b'{"x":' + b"[" * 50_000, "x", "unsupported_parameter"),
        (b'{"messages":[{"role":"user","content":"\\ud800"}]}', None, "invalid_json"),
        (b'{"messages":[{"role":"user","content":"\xff"}]}', None, "invalid_json"),
        (b"{}", "messages", "missing_required_parameter"),
        (b'{"messages":[]}', "messages", "invalid_value"),
        (b'{"messages":[{"role":"user","content":" "}]}', "messages", "invalid_value"),
        (b'{"messages":[{"role":"user","content":"x","name":"y"}]}', "messages[0].name", "unsupported_parameter"),
        (
            b'{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}',
            "messages[0].content[0].type",
            "invalid_value",
        ),
        (
            b'{"messages":[{"role":"user","content":"x"}],"max_tokens":1,"max_completion_tokens":2}',
            "max_tokens",
            "invalid_value",
        ),
        (
            b'{"messages":[{"role":"user","content":"x"}],"max_tokens":99999999999999999999}',
            "max_tokens",
            "invalid_value",
        ),
        (b'{"messages":[{"role":"user","content":"x"}],"temperature":1e999}', "temperature", "invalid_value"),
        (b'{"messages":[{"role":"user","content":"x"}],"stop":[""]}', "stop[0]", "invalid_value"),
    ],
)
def test_the_field_at_fault_is_named(server: Served, body: bytes, param: str | None, code: str) -> None:
    error = tell(server, "/v1/chat/completions", body)
    assert (error["param"], error["code"]) == (param, code), error


def test_a_body_that_is_too_long(server: Served) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 64_000}]}).encode()
    answer = server.http.post("/v1/chat/completions", content=body)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "body_too_large"
    # Also one that does not say how long it is.
    assert server.http.post("/v1/chat/completions", content=(body for _ in range(3))).status_code == 413


def test_an_address_or_a_method_that_is_not_there(server: Served) -> None:
    assert server.http.get("/v2").json()["error"]["code"] == "not_found"
    answer = server.http.get("/v1/chat/completions")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert answer.json()["error"]["code"] == "method_not_allowed"
