"""What the main loop asks of an engine. The loop knows no model and no mlx; an engine knows no socket and no queue.

An engine is used from one thread, the main one, apart from ``gauge``.
"""

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from runner.channel.messages import Gauge, Generate, LoadStep, ModelLoaded, Need, PrefillStep

Report = Callable[[LoadStep | Need], None]
"""Takes a report on the way. May raise to break the load off; the engine lets that through and can be unloaded."""


class Checkpoint(Protocol):
    """Called when a phase begins, once its first report is out. An engine does so for ``load`` and ``warmup``."""

    def __call__(self, phase: str, request: int = 0, *, guarded: bool = False) -> None:
        """Take note of ``phase``, a value of ``fsm.Phase``, and of the request whose phase it is.

        ``guarded`` says that what is raised here would end that request alone, and not the worker.
        """
        ...


RejectionKind = Literal["context_limit", "does_not_fit", "bad_request"]
"""Those values of ``fsm.RequestErrorKind`` that an engine decides."""


class RequestRejected(Exception):
    """This request can't be answered; the engine is well.

    Attributes:
        kind: why, a value of ``fsm.RequestErrorKind``.
        message: a sentence with the numbers that decided it, and what to do.
    """

    def __init__(self, kind: RejectionKind, message: str) -> None:
        super().__init__(message)
        self.kind: RejectionKind = kind
        self.message = message


class Piece(msgspec.Struct, frozen=True):
    """What one step of the decoding brought."""

    text: str
    """May be empty: half a character, or text that is held back because a stop string may begin there."""
    tokens: int = 1
    """Tokens that the step took: 1, or 0 if it only let go of text that was held back."""
    end: Literal["stop", "length"] | None = None
    """Set on the last piece: the model or a stop string ended the answer, or it is as long as it may be."""


class Generation(Protocol):
    """One request under way. Each step is a bounded piece of work; between two steps it can be closed."""

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        ...

    def step(self) -> PrefillStep | Piece:
        """Do the next piece of work: some of the prompt, or one token. Not to be called after the last piece.

        The last ``PrefillStep`` has ``done == total``; each step after it gives a ``Piece``.
        """
        ...

    def close(self) -> None:
        """Let go of the request's memory. Any number of times."""
        ...


class Engine(Protocol):
    """A model and the means to run it."""

    def load(self, directory: str, report: Report) -> ModelLoaded:
        """Load the model in ``directory`` and run it once. ``seconds`` is filled in by the caller.

        Raises:
            Exception: whatever the libraries raise; the worker ends with it.
        """
        ...

    def open(self, request: Generate, report: Report) -> Generation:
        """Take a request up: build the prompt and check that it fits. Computes nothing yet.

        Raises:
            RequestRejected: if it can't be answered.
        """
        ...

    def unload(self) -> None:
        """Let go of the model and give its memory back. Also after a load that was broken off, or without a model."""
        ...

    def gauge(self) -> Gauge:
        """Memory in use. Cheap, and safe from any thread."""
        ...
