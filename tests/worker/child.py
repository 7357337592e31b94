"""A real worker at the other end of a socket pair, driven synchronously. Waits are bounded only as a net under a hang."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from runner.channel.frames import FrameDecoder, encode
from runner.channel.messages import (
    Beat,
    Chunk,
    Ended,
    FromWorker,
    Generate,
    LoadModel,
    Message,
    ModelLoaded,
    Sampling,
)

NET_S = 60.0
"""Longest silence before a test fails in words. Not a figure to hold."""

M = TypeVar("M", bound=Message)


class Gone(Exception):
    """The worker closed its end before it sent what was waited for."""


class Child:
    """One worker. What it prints goes to a file, so that it never waits for us to read."""

    def __init__(self, *options: str, faults: list[dict[str, str]] | None = None) -> None:
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(NET_S)
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        environment = dict(os.environ)
        if faults is not None:
            environment["RUNNER_FAULTS"] = json.dumps(faults)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "runner.worker", "--fd", str(theirs.fileno()), *options],
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=self.printed,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        theirs.close()
        self._decoder = FrameDecoder[FromWorker](FromWorker)
        self._messages = self._read()
        self.raw = bytearray()
        """All that came, as it came."""

    def _read(self) -> Iterator[FromWorker]:
        while True:
            try:
                data = self.socket.recv(65_536)
            except ConnectionResetError:  # it died with something of ours unread; its own words were read before
                continue
            if not data:
                return
            self.raw += data
            self._decoder.feed(data)
            yield from self._decoder

    def messages(self) -> Iterator[FromWorker]:
        """All messages to come, to the end of the socket."""
        return self._messages

    def send(self, *messages: Message) -> None:
        """Send commands. That the worker has gone is found when reading."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(b"".join(map(encode, messages)))

    def next(self) -> FromWorker:
        """Wait for the next message of any kind."""
        try:
            return next(self._messages)
        except StopIteration:
            raise Gone from None

    def until(self, kind: type[M]) -> tuple[list[FromWorker], M]:
        """Wait for a message of ``kind``; give it, and what came before it apart from beats."""
        before: list[FromWorker] = []
        while True:
            message = self.next()
            if isinstance(message, kind):
                return before, message
            if not isinstance(message, Beat):
                before.append(message)

    def rest(self) -> list[FromWorker]:
        """Wait for the end of the socket; give what came before it apart from beats."""
        return [message for message in self._messages if not isinstance(message, Beat)]

    def load(self, directory: Path) -> ModelLoaded:
        """Load a model."""
        self.send(LoadModel(str(directory)))
        return self.until(ModelLoaded)[1]

    def answer(self, request: int, text: str, **sampling: object) -> tuple[str, Ended]:
        """Ask for an answer and take it whole."""
        self.send(Generate(request, text=text, sampling=msgspec.convert(sampling, Sampling), credit=10_000))
        before, ended = self.until(Ended)
        return text_of(before, request), ended

    def code(self) -> int:
        """Wait for the process; its exit code, negative for a signal."""
        return self.process.wait(NET_S)

    def output(self) -> str:
        """What it printed so far, on both streams."""
        self.printed.seek(0)
        return self.printed.read().decode(errors="replace")

    def close(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.socket.close()
        self.printed.close()


def text_of(messages: list[FromWorker], request: int) -> str:
    """The text that was streamed for one request."""
    return "".join(message.text for message in messages if isinstance(message, Chunk) and message.request == request)
