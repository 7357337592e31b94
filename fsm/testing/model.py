"""A model to hold a supervisor against: Hypothesis says what happens, and after each event both must stand alike."""

from typing import Any, ClassVar, Protocol

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fsm.events import (
    AnyEvent,
    Bye,
    Cancel,
    Exited,
    FirstToken,
    Hello,
    Load,
    Loaded,
    OutOfMemory,
    ProtocolBroken,
    RequestDone,
    RequestStarted,
    Settled,
    Shutdown,
    Spawned,
    Start,
    Submit,
    Unload,
    Unloaded,
)
from fsm.failure import Certainty, Exit, FailureCause, Kind, Source
from fsm.lifecycle import Lifecycle
from fsm.states import Process, RequestState, State

_BEGINNING: tuple[tuple[type[Any], dict[str, Any]], ...] = (
    (Spawned, {"pid": 1}),
    (Hello, {}),
    (Load, {}),
    (Loaded, {}),
    (Submit, {"request": 1}),
    (RequestStarted, {"request": 1}),
)
"""How a life begins in which nothing goes wrong."""


def _alive(model: Any) -> bool:
    return model.alive


class Adapter(Protocol):
    """The system under test, as the model sees it."""

    def apply(self, event: AnyEvent) -> None:
        """Let the event happen to it."""
        ...

    def state(self) -> State:
        """Which of the five states it is in, by its own word."""
        ...

    def cause(self) -> Kind | None:
        """Why it failed, by its own word; ``None`` while it has not, or where it can't tell."""
        ...

    def outcomes(self) -> dict[int, RequestState]:
        """How each request ended that has, by its own word."""
        ...


class LifecycleModel(RuleBasedStateMachine):
    """Subclass it, say in ``adapter`` how to make your system, and use ``YourModel.TestCase``.

    Events come as they can in a world in which the kernel does not lie: a process says nothing before it is there, and ends
    once. Commands, deaths and an out-of-memory come at any time.

    Attributes:
        adapter: makes a fresh system under test.
    """

    adapter: ClassVar[type[Adapter]]

    def __init__(self) -> None:
        super().__init__()
        self.model = Lifecycle()
        self.system: Adapter = self.adapter()
        self.ended: dict[int, RequestState] = {}
        self.alive = False
        self.exit: Exit | None = None
        self.oom = False
        self.at = 0.0

    def happen(self, event_type: type[Any], **fields: Any) -> None:
        """Let an event happen to both, and hold them against each other."""
        self.at += 1.0
        event = event_type(incarnation=1, at=self.at, **fields)
        for change in self.model.handle(event).record.requests:
            if change.dest.terminal:
                self.ended[change.request] = change.dest
        self.system.apply(event)

    @initialize(steps=st.integers(0, len(_BEGINNING)))
    def begin(self, steps: int) -> None:
        """As far as it gets by itself, so that a search does not spend its steps on getting there."""
        self.happen(Start)
        for event_type, fields in _BEGINNING[:steps]:
            self.happen(event_type, **fields)
            self.alive = True

    @precondition(lambda self: self.model.facts.process is Process.SPAWNING)
    @rule()
    def spawn(self) -> None:
        """The process comes to be."""
        self.happen(Spawned, pid=1)
        self.alive = True

    @precondition(_alive)
    @rule(word=st.sampled_from((Hello, Loaded, Unloaded, Bye)))
    def say(self, word: type[Any]) -> None:
        """The child says something."""
        self.happen(word)

    @precondition(_alive)
    @rule()
    def say_garbage(self) -> None:
        """The child says what nobody can read."""
        self.happen(ProtocolBroken, detail="garbage")

    @rule(command=st.sampled_from((Load, Unload, Shutdown)))
    def command(self, command: type[Any]) -> None:
        """Somebody asks for something."""
        self.happen(command)

    @rule()
    def submit(self) -> None:
        """Somebody asks a question."""
        self.happen(Submit, request=self.model.checkpoint.last_request + 1)

    @precondition(_alive)
    @rule(word=st.sampled_from((RequestStarted, FirstToken, RequestDone)), request=st.integers(1, 3))
    def answer(self, word: type[Any], request: int) -> None:
        """The child says something about a request."""
        assume(self.model.was_accepted(request))
        self.happen(word, request=request)

    @rule(request=st.integers(1, 3))
    def cancel(self, request: int) -> None:
        """Somebody does not want an answer any more."""
        assume(self.model.was_accepted(request))
        self.happen(Cancel, request=request)

    @precondition(_alive)
    @rule()
    def report_oom(self) -> None:
        """The child says that memory ran out."""
        self.happen(OutOfMemory)

    @precondition(_alive)
    @rule(end=st.sampled_from((Exit(code=0), Exit(code=1), Exit(signal=11))))
    def die(self, end: Exit) -> None:
        """The child ends by itself."""
        self._die(end)

    @precondition(_alive)
    @rule()
    def killed_for_want_of_memory(self) -> None:
        """The kernel ends the child, and its counter says why."""
        self.oom = True
        self._die(Exit(signal=9))

    def _die(self, end: Exit) -> None:
        self.alive, self.exit = False, end
        self.happen(Exited, exit=end)

    @precondition(lambda self: self.exit is not None and not self.model.facts.settled)
    @rule()
    def settle(self) -> None:
        """What it left behind was read."""
        found = None
        if self.oom:
            found = FailureCause(
                kind=Kind.OOM, certainty=Certainty.CERTAIN, source=Source.EXIT, sentence="A counter rose."
            )
        self.happen(Settled, exit=self.exit, cause=found)

    @invariant()
    def stands_alike(self) -> None:
        """Both are in the same state, for the same reason."""
        assert self.system.state() is self.model.state
        known = self.model.facts.cause
        told = self.system.cause()
        if self.model.facts.settled and told is not None:
            assert known is not None
            assert told is known.kind

    @invariant()
    def no_request_is_forgotten(self) -> None:
        """Requests ended alike."""
        assert self.system.outcomes() == self.ended
