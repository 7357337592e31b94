"""Faults to order, for drills and tests: what can go wrong with a worker, at a phase of one's choice.

They come in the environment variable ``RUNNER_FAULTS``, which the supervisor passes on only where it was created with
faults allowed. A fault must look like the real thing to those who judge it: nothing that the worker sends or prints may
name it. So the code below runs under a neutral file name, which is what tracebacks and stack dumps show.
"""

import ctypes
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from runner.channel.messages import Chunk, Need
from runner.worker import memory
from runner.worker.ending import leave
from runner.worker.reader import Reader
from runner.worker.sender import Sender

VARIABLE = "RUNNER_FAULTS"
"""JSON: a list of objects with ``fault``, ``phase`` and ``argument``."""

_SIZE = 200_000
"""Rows and columns of the matrices of ``oom``: 160 GB each."""
_SPARE = 512 * 1024 * 1024
"""Bytes that ``oom rlimit`` leaves itself."""
_LINES = 200_000
"""Lines of ``flood lines``."""

F = TypeVar("F", bound=Callable[..., Any])


def _unnamed(function: F) -> F:
    """Let ``function`` appear under a neutral name in tracebacks and stack dumps."""
    code: Any = function.__code__  # type: ignore[attr-defined]
    function.__code__ = code.replace(co_filename="<worker>", co_name="step", co_qualname="step")  # type: ignore[attr-defined]
    return function


class Order(msgspec.Struct, frozen=True):
    """One fault: what, when, and how."""

    fault: str
    phase: str = "idle"
    """A value of ``fsm.Phase``: start (before ``Hello``), idle, load, warmup, prefill, decode, unload or shutdown."""
    argument: str = ""


class Faults:
    """Carries out each order once, when its phase comes. Without orders it does nothing."""

    def __init__(self, orders: list[Order], sender: Sender, reader: Reader) -> None:
        if unknown := {order.fault for order in orders} - KINDS.keys():
            raise ValueError(f"Unknown in {VARIABLE}: {', '.join(sorted(unknown))}. Known: {', '.join(sorted(KINDS))}.")
        self._orders = orders
        self.sender = sender
        self.reader = reader
        self.request = 0
        """The request whose phase it is, 0 outside of one."""

    @_unnamed
    def __call__(self, phase: str, request: int = 0, *, guarded: bool = False) -> None:
        """Take note that ``phase`` begins. ``guarded`` where an exception would end the request alone."""
        self.request = request
        for order in [order for order in self._orders if order.phase == phase]:
            if guarded == (order.fault == "raise" and order.argument == "request"):
                self._orders.remove(order)
                KINDS[order.fault](self, order.argument)


def orders_from_environment() -> list[Order]:
    """Read the orders and remove them from the environment, so that no process of ours inherits them."""
    text = os.environ.pop(VARIABLE, "")
    return msgspec.json.decode(text, type=list[Order]) if text else []


@_unnamed
def _oom(worker: Faults, argument: str) -> None:
    """``[rlimit] [N]``: compute with N x N matrices; ``rlimit`` bounds the address space first."""
    import mlx.core as mx

    from runner.worker import device

    words = argument.split()
    size = next((int(word) for word in words if word.isdigit()), _SIZE)
    if "rlimit" in words:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (memory.address_space() + _SPARE, hard))
    worker.sender.send(Need("allocation", 4 * size * size * 4, device.headroom() or 0))
    left, right = mx.random.uniform(shape=(size, size)), mx.random.uniform(shape=(size, size))
    mx.eval(mx.sigmoid(left @ right @ left @ right))  # pyright: ignore[reportUnknownMemberType]


@_unnamed
def _crash(_: Faults, argument: str) -> None:
    """``SIGNAL``, by name or number: end by it, SIGSEGV and SIGABRT in the way in which they really come."""
    number = int(argument) if argument.isdigit() else signal.Signals["SIG" + argument.upper().removeprefix("SIG")]
    if number == signal.SIGSEGV:
        ctypes.string_at(0)
    elif number == signal.SIGABRT:
        os.abort()
    os.kill(os.getpid(), number)


@_unnamed
def _exit(_: Faults, argument: str) -> None:
    """``CODE``: end with it, out of the blue."""
    leave(int(argument or 0))


@_unnamed
def _raise(_: Faults, argument: str) -> None:
    """``[request]``: raise; inside the request or outside any."""
    raise RuntimeError("The cache and the position disagree.")


@_unnamed
def _hang(_: Faults, argument: str) -> None:
    """Block the main thread for ever, while the others go on."""
    threading.Event().wait()


@_unnamed
def _freeze(_: Faults, argument: str) -> None:
    """Stop the process, all threads of it."""
    os.kill(os.getpid(), signal.SIGSTOP)


@_unnamed
def _ignore_term(_: Faults, argument: str) -> None:
    """Block the main thread, deaf to ``Stop`` and to SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Event().wait()


@_unnamed
def _flood(worker: Faults, argument: str) -> None:
    """Send chunks at full speed and without credit, for ever; ``lines``: print many lines, then go on."""
    if argument == "lines":
        for number in range(_LINES):
            print(f"{number} of {_LINES} blocks visited")
        return
    while True:
        worker.sender.send(Chunk(worker.request, "and so on " * 100))


@_unnamed
def _garbage(worker: Faults, argument: str) -> None:
    """Send random bytes, the first four of which announce more than a frame may have."""
    data = bytearray(os.urandom(65_536))
    data[3] |= 0x80
    worker.sender.send_bytes(bytes(data))


@_unnamed
def _torn(worker: Faults, argument: str) -> None:
    """``BYTES``: announce a frame of so many, send half of it, and die."""
    size = int(argument)
    worker.sender.send_bytes(size.to_bytes(4, "little") + bytes(size // 2))
    os.kill(os.getpid(), signal.SIGKILL)


@_unnamed
def _deaf(worker: Faults, argument: str) -> None:
    """Read nothing from the socket any more."""
    worker.reader.close()


@_unnamed
def _exit_grandchild(_: Faults, argument: str) -> None:
    """Leave a process behind that holds stdout and stderr open, and die."""
    subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    os.kill(os.getpid(), signal.SIGKILL)


KINDS: dict[str, Callable[[Faults, str], None]] = {
    "oom": _oom,
    "crash": _crash,
    "exit": _exit,
    "raise": _raise,
    "hang": _hang,
    "freeze": _freeze,
    "ignore-term": _ignore_term,
    "flood": _flood,
    "garbage": _garbage,
    "torn": _torn,
    "deaf": _deaf,
    "exit-grandchild": _exit_grandchild,
}
"""What can be ordered."""
