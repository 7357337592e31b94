"""The messages between supervisor and worker. Both sides import this module; it must stay free of anyio and of mlx.

The supervisor commands (``ToWorker``), the worker reports (``FromWorker``). Every message is a frozen, tagged struct that
travels as msgpack in one length-prefixed frame (``frames.py``). A change that an older peer can't read raises ``PROTOCOL``.
"""

import msgspec

PROTOCOL = 1
"""Version of this vocabulary. The worker names it in ``Hello``; another number fails the start."""

CREDIT = 64
"""Chunks that a request may be ahead of its reader. The worker pauses a request that has none left."""


class Message(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """Base of all messages."""


class Turn(msgspec.Struct, frozen=True, array_like=True):
    """One turn of a conversation, as a chat template takes it."""

    role: str
    content: str


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True):
    """How tokens are drawn."""

    max_tokens: int = 256
    temperature: float = 0.0
    """0 takes the likeliest token."""
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    """The answer ends before the first of these strings; it is not part of the answer."""


# Supervisor to worker.


class LoadModel(Message, frozen=True, tag="load"):
    """Load the model in a directory of mlx-lm's format."""

    directory: str


class UnloadModel(Message, frozen=True, tag="unload"):
    """Let go of the model and of its memory; answered with ``ModelUnloaded``."""


class Generate(Message, frozen=True, tag="generate"):
    """Answer a prompt: either ``turns`` through the chat template, or ``text`` as it is."""

    request: int
    turns: tuple[Turn, ...] = ()
    text: str | None = None
    sampling: Sampling = Sampling()
    credit: int = CREDIT


class Credit(Message, frozen=True, tag="credit"):
    """The reader took ``chunks`` more."""

    request: int
    chunks: int


class CancelRequest(Message, frozen=True, tag="cancel"):
    """Stop a request between two tokens or two prefill steps; answered with its end. An unknown id is not an error."""

    request: int


class Stop(Message, frozen=True, tag="stop"):
    """End: drop every request, let go of the memory, say ``Bye``, exit with 0."""


ToWorker = LoadModel | UnloadModel | Generate | Credit | CancelRequest | Stop


# Worker to supervisor.


class Gauge(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """Memory of the worker, in bytes."""

    resident: int = 0
    active: int = 0
    """MLX arrays in use."""
    peak: int = 0
    cache: int = 0
    """Freed by MLX, not yet given back."""


class Hello(Message, frozen=True, tag="hello"):
    """First message of a worker: it is up and reads."""

    protocol: int
    pid: int
    versions: dict[str, str] = {}
    """Python's, and those of the engine's packages as far as they are known before they are imported."""


class Beat(Message, frozen=True, tag="beat"):
    """The process lives. From a thread of its own, so it says nothing about progress."""

    gauge: Gauge = Gauge()


class LoadStep(Message, frozen=True, tag="load_step"):
    """The load moved on. ``step`` is ``importing``, ``weights`` or ``warm-up``; ``done`` of ``total`` where it counts."""

    step: str
    done: int = 0
    total: int = 0


class ModelLoaded(Message, frozen=True, tag="loaded"):
    """The model answers."""

    context: int
    """Longest prompt and answer together, in tokens; 0 if the model does not say."""
    parameters: int = 0
    device: str = ""
    seconds: float = 0.0


class ModelUnloaded(Message, frozen=True, tag="unloaded"):
    """The model is gone and its memory is given back."""


class Need(Message, frozen=True, tag="need"):
    """Before an allocation-heavy step: how much it is about to need against what is free (both in bytes)."""

    what: str
    bytes: int
    headroom: int


class Started(Message, frozen=True, tag="started"):
    """The worker took the request up and begins its prefill."""

    request: int
    prompt_tokens: int


class PrefillStep(Message, frozen=True, tag="prefill"):
    """``done`` of ``total`` prompt tokens are in the cache."""

    request: int
    done: int
    total: int


class Chunk(Message, frozen=True, tag="chunk"):
    """A piece of the answer. Costs one credit."""

    request: int
    text: str
    """Empty while a character is incomplete, or while a stop string may have begun."""
    tokens: int = 1
    """Tokens generated since the last chunk. 0 for text that was held back and is now let go."""


class Ended(Message, frozen=True, tag="ended"):
    """The request is over: ``stop`` (the model or a stop string ended it), ``length`` or ``cancelled``."""

    request: int
    reason: str
    tokens: int = 0
    """Tokens generated in all."""


class Refused(Message, frozen=True, tag="refused"):
    """This request failed and nothing else did. ``kind`` is a value of ``fsm.RequestErrorKind``."""

    request: int
    kind: str
    message: str
    traceback: str = ""


class Fatal(Message, frozen=True, tag="fatal"):
    """The worker can't go on and ends. Sent before it does."""

    exception: str
    """The exception's class, with its module where that is not ``builtins``."""
    message: str
    traceback: str = ""
    phase: str = "unknown"
    """A value of ``fsm.Phase``."""


class Bye(Message, frozen=True, tag="bye"):
    """Last message after ``Stop``: everything is let go of, exit code 0 follows."""


FromWorker = (
    Hello
    | Beat
    | LoadStep
    | ModelLoaded
    | ModelUnloaded
    | Need
    | Started
    | PrefillStep
    | Chunk
    | Ended
    | Refused
    | Fatal
    | Bye
)
