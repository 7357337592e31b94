"""What can happen in a simulated life, as values that Hypothesis draws and a failing test prints."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from fsm import Exit
from runner.channel.frames import FrameError
from runner.channel.messages import (
    PROTOCOL,
    Beat,
    Bye,
    Chunk,
    Ended,
    Fatal,
    Hello,
    LoadStep,
    ModelLoaded,
    ModelUnloaded,
    PrefillStep,
    Refused,
    Started,
)
from tests.simulated.world import SimulatedChild


class Say(msgspec.Struct, frozen=True):
    """The child says something, whether it fits or not."""

    words: tuple[Any, ...]

    def happen(self, child: SimulatedChild) -> None:
        child.channel.say(*self.words)


class Arrive(msgspec.Struct, frozen=True):
    """The child said something, and nobody has come to read it."""

    words: tuple[Any, ...]

    def happen(self, child: SimulatedChild) -> None:
        child.channel.arrive(*self.words)


class Tear(msgspec.Struct, frozen=True):
    """A frame that can't be read."""

    def happen(self, child: SimulatedChild) -> None:
        child.channel.say(FrameError("torn"))


class Shut(msgspec.Struct, frozen=True):
    """The channel ends, before or after the process does."""

    def happen(self, child: SimulatedChild) -> None:
        child.channel.shut()


class Die(msgspec.Struct, frozen=True):
    """The process ends: of itself, of a signal, or because the kernel wanted its memory."""

    exit: Exit
    oom: bool = False
    stderr: tuple[str, ...] = ()

    def happen(self, child: SimulatedChild) -> None:
        child.output.lines += self.stderr
        child.oom_kills += self.oom
        child.end(self.exit)


class Freeze(msgspec.Struct, frozen=True):
    """The process is stopped: it says nothing, and heeds SIGKILL alone."""

    def happen(self, child: SimulatedChild) -> None:
        child.stopped = True
        child.channel.on_message = lambda message: None
        child.heeds = {9}


class Deafen(msgspec.Struct, frozen=True):
    """The process answers nothing any more, and does not heed SIGTERM."""

    def happen(self, child: SimulatedChild) -> None:
        child.channel.on_message = lambda message: None
        child.heeds = {9}


class User(msgspec.Struct, frozen=True):
    """Somebody asks for something, and may lose patience."""

    verb: str
    patience: float
    """Seconds after which whoever asked is cancelled."""


class Wait(msgspec.Struct, frozen=True):
    """Time passes; ``late`` of it while the supervisor does not run."""

    seconds: float
    late: float = 0.0


REQUEST = st.integers(1, 4)
WORDS = st.one_of(
    st.just(Hello(PROTOCOL, 4711, {})),
    st.just(Hello(PROTOCOL + 1, 4711, {})),
    st.just(Beat()),
    st.builds(LoadStep, st.sampled_from(["importing", "weights", "warm-up", "?"]), st.integers(0, 9), st.just(9)),
    st.just(ModelLoaded(512)),
    st.just(ModelUnloaded()),
    st.just(Bye()),
    st.builds(Started, REQUEST, st.just(3)),
    st.builds(PrefillStep, REQUEST, st.integers(0, 3), st.just(3)),
    st.builds(Chunk, REQUEST, st.sampled_from(["a", ""]), st.integers(0, 2)),
    st.builds(Ended, REQUEST, st.sampled_from(["stop", "length", "cancelled"]), st.integers(0, 9)),
    st.builds(Refused, REQUEST, st.sampled_from(["context_limit", "exception", "?"]), st.just("no")),
    st.just(Fatal("RuntimeError", "The cache and the position disagree.", "", "decode")),
    st.just(Fatal("MemoryError", "", "", "load")),
)
EXITS = st.sampled_from(
    [Exit(code=0), Exit(code=1), Exit(signal=6), Exit(signal=9), Exit(signal=11), Exit(signal=15), Exit()]
)
OOM_TEXT = "RuntimeError: [metal::malloc] Unable to allocate 1000000000 bytes."
CHILD = st.one_of(
    st.builds(Say, st.lists(WORDS, min_size=1, max_size=3).map(tuple)),
    st.builds(Say, st.lists(WORDS, min_size=1, max_size=3).map(tuple)),
    st.builds(Arrive, st.lists(WORDS, min_size=1, max_size=2).map(tuple)),
    st.builds(Die, EXITS, st.just(False), st.sampled_from([(), ("Killed",), (OOM_TEXT,)])),
    st.just(Die(Exit(signal=9), True)),
    st.just(Tear()),
    st.just(Shut()),
    st.just(Freeze()),
    st.just(Deafen()),
)
VERBS = ("load", "unload", "generate", "generate", "drop", "cancel", "shutdown", "restart", "wait")
USER = st.builds(User, st.sampled_from(VERBS), st.sampled_from([0.0, 0.5, 5.0, 1e6]))
WAIT = st.builds(Wait, st.sampled_from([0.0, 0.01, 0.3, 2.0, 11.0, 35.0, 70.0]), st.sampled_from([0.0, 0.0, 0.0, 5.0]))
SERVING = (User("load", 1e6), Wait(0.3), User("generate", 1e6), Wait(0.01))
"""A life in which nothing has gone wrong yet."""
BEGINNINGS = st.sampled_from([(), SERVING[:1], SERVING[:2], SERVING])


def _schedule(beginning: tuple[Any, ...], rest: list[Any]) -> list[Any]:
    return [*beginning, *rest]


SCHEDULES = st.builds(_schedule, BEGINNINGS, st.lists(st.one_of(CHILD, USER, USER, WAIT, WAIT), max_size=12))
