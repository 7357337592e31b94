"""Servers of this machine that stand for a package index and for a model hub: the real clients talk to them."""

import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def serve(handler: type[BaseHTTPRequestHandler]) -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def index_that_stalls(wheel: str, size: int, sent: int, stop: threading.Event) -> type[BaseHTTPRequestHandler]:
    """A package index whose wheel begins to come, and then does not go on."""

    class Index(Quiet):
        def do_GET(self) -> None:
            if not self.path.endswith(".whl"):
                self.answer(200, f'<a href="/{wheel}">{wheel}</a>'.encode(), Content_Type="text/html")
                return
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write(bytes(sent))
            stop.wait(60)
            self.close_connection = True

    return Index


def hub_that_refuses(status: int, code: str | None) -> type[BaseHTTPRequestHandler]:
    class Hub(Quiet):
        def do_GET(self) -> None:
            headers = {"X_Error_Code": code} if code is not None else {}
            self.answer(status, b"{}", Content_Type="application/json", **headers)

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    return Hub


def hub_that_holds(repository: str, directory: Path) -> type[BaseHTTPRequestHandler]:
    """A hub with one repository, whose files are those of a directory."""

    class Hub(Quiet):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path.startswith(f"/api/models/{repository}/revision/"):
                self.json({"id": repository, "sha": COMMIT, "siblings": [], "tags": [], "private": False})
            elif path.startswith(f"/api/models/{repository}/tree/"):
                self.json(
                    [
                        {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": oid(file)}
                        for file in files()
                    ]
                )
            elif path.startswith(f"/{repository}/resolve/{COMMIT}/"):
                file = directory / path.rpartition("/")[2]
                self.answer(200, file.read_bytes(), ETag=f'"{oid(file)}"', X_Repo_Commit=COMMIT)
            else:
                self.answer(404, b"{}", X_Error_Code="RepoNotFound")

        do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

        def json(self, value: Any) -> None:
            self.answer(200, json.dumps(value).encode(), Content_Type="application/json")

    def files() -> list[Path]:
        return sorted(directory.iterdir())

    def oid(file: Path) -> str:
        return hashlib.sha1(file.read_bytes()).hexdigest()

    return Hub
