"""Who is let in: names, pages, keys; and where a server without a key listens."""

import socket
from collections.abc import Generator

import pytest

from runner.serve.options import ServeOptions
from tests.command.commands import run
from tests.http.servers import KEY, Served, served


@pytest.fixture(scope="module")
def locked() -> Generator[Served]:
    with served(
        "--allowed-host", "models.example", "--allowed-origin", "https://chat.example", env={"RUNNER_API_KEY": KEY}
    ) as server:
        yield server


@pytest.mark.parametrize("path", ["/", "/status", "/v1/models", "/nothing"])
@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "Bearer",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        "Basic !!",
        "Basic eDp5",
        f"Digest {KEY}",
        "Bearer \xff",
    ],
)
def test_without_the_key_everything_is_closed(locked: Served, path: str, authorization: str | None) -> None:
    headers = [] if authorization is None else [(b"authorization", authorization.encode("latin-1"))]
    answer = locked.http.get(path, headers=headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert answer.headers["www-authenticate"] == "Bearer"


def test_probes_need_no_key_and_learn_little(locked: Served) -> None:
    assert locked.http.get("/healthz").json() == {"status": "ok"}
    assert locked.http.get("/readyz").json() == {"status": "ready", "state": "Running"}


def test_the_key_opens_as_a_token_and_as_a_browsers_password(locked: Served) -> None:
    assert locked.http.get("/status", headers={"authorization": f"Bearer {KEY}"}).status_code == 200
    assert locked.http.get("/status", auth=("me", KEY)).status_code == 200
    asked = locked.http.get("/", headers={"accept": "text/html"})
    assert asked.headers["www-authenticate"].startswith("Basic ")


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "models.example.evil", "[", "a b"])
def test_a_name_that_is_not_known_is_refused(locked: Served, host: str) -> None:
    answer = locked.http.get("/healthz", headers={"host": host})
    # Some are no host at all, and never reach us.
    assert answer.status_code in (400, 403)
    if answer.status_code == 403:
        assert answer.json()["error"]["code"] == "host_not_allowed"


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:99", "[::1]:8080", "192.0.2.7", "models.example", "MODELS.example:443"]
)
def test_literal_addresses_and_known_names_are_let_in(locked: Served, host: str) -> None:
    assert locked.http.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://chat.example.evil", "file://"]
)
def test_a_page_of_another_origin_may_not_ask(locked: Served, origin: str) -> None:
    answer = locked.http.get("/status", headers={"origin": origin, "authorization": f"Bearer {KEY}"})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "origin_not_allowed"


def test_its_own_page_and_one_that_is_allowed_may(locked: Served) -> None:
    key = {"authorization": f"Bearer {KEY}"}
    assert locked.http.get("/status", headers={"origin": locked.url, **key}).status_code == 200
    answer = locked.http.get("/status", headers={"origin": "https://chat.example", **key})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://chat.example"
    preflight = locked.http.options(
        "/v1/chat/completions",
        headers={
            "origin": "https://chat.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization",
        },
    )
    assert preflight.status_code == 200
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()


def test_the_models_process_does_not_hold_the_key(locked: Served) -> None:
    with open(f"/proc/{locked.worker()}/environ", "rb") as environment:  # noqa: PTH123
        assert KEY.encode() not in environment.read()


def test_without_a_key_it_listens_on_this_machine_alone() -> None:
    code, _, err = run("serve", "--model", "tiny", "--host", "0.0.0.0", "--port", "0")
    assert code == 2
    assert "--without-key" in err
    with served("--host", "0.0.0.0", "--without-key") as server:
        assert server.http.get("/healthz").status_code == 200


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = run("serve", "--model", "tiny", "--port", str(taken.getsockname()[1]))
    assert code == 3
    assert "--port" in err


def test_a_model_that_can_not_be_had_ends_the_server() -> None:
    code, _, err = run("serve", "--model", "/no/such/model", "--port", "0", "--no-journal")
    assert code == 3
    assert "/no/such/model" in err


@pytest.mark.parametrize("origin", ["chat.example", "https://", "https://a/b", ""])
def test_what_is_no_origin_is_wrong_usage(origin: str) -> None:
    with pytest.raises(ValueError, match="An origin is"):
        ServeOptions(allowed_origins=(origin,))
