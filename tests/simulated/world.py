"""A child that does what a test tells it, behind the supervisor's own protocols, in virtual time.

The real supervisor runs against it, on trio with a clock that jumps to the next thing that is due: an hour takes milliseconds,
and the same seed gives the same life.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import trio.testing

from fsm import Exit
from fsm.journal import verify
from runner import RunnerSupervisor, Settings
from runner.channel.frames import FrameError
from runner.channel.messages import (
    PROTOCOL,
    Beat,
    Bye,
    CancelRequest,
    Chunk,
    Ended,
    FromWorker,
    Generate,
    Hello,
    LoadModel,
    LoadStep,
    ModelLoaded,
    ModelUnloaded,
    PrefillStep,
    Started,
    Stop,
    ToWorker,
    UnloadModel,
)
from runner.diagnosis.evidence import Counters
from runner.protocols import ChannelClosed, WorkerSpec
from tests.simulated.memory_journal import MemoryJournal


class SimulatedChannel:
    """What the child says waits here to be read; what it is told is kept in ``told``."""

    def __init__(self) -> None:
        self.told: list[ToWorker] = []
        self.on_message: Callable[[ToWorker], None] = lambda message: None
        self._said: list[FromWorker | FrameError] = []
        self._news = anyio.Event()
        self._closed = False

    def say(self, *messages: FromWorker | FrameError) -> None:
        self._said += messages
        self._wake()

    def arrive(self, *messages: FromWorker) -> None:
        """Let messages lie there to be read, without waking whoever reads."""
        self._said += messages

    def shut(self) -> None:
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    def send(self, message: ToWorker) -> None:
        self.told.append(message)
        self.on_message(message)

    def has_room_for(self, length: int) -> bool:
        return True

    async def run_sender(self) -> None:
        await anyio.sleep_forever()

    async def receive(self) -> list[FromWorker]:
        while not self._said:
            if self._closed:
                raise ChannelClosed
            await self._news.wait()
        return self.drain()

    handled = 0

    @property
    def arrived(self) -> int:
        return len(self._said)

    def drain_some(self) -> list[FromWorker]:
        return self.drain()

    def drain(self) -> list[FromWorker]:
        messages: list[FromWorker] = []
        while self._said and not isinstance(self._said[0], FrameError):
            messages.append(self._said.pop(0))  # pyright: ignore[reportArgumentType]
        self.handled += len(messages)
        if self._said and not messages:
            error = self._said[0]
            assert isinstance(error, FrameError)
            raise error
        return messages


class SimulatedOutput:
    """Standard error as a list of lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def run(self) -> None:
        await anyio.sleep_forever()

    def drain(self, bound: float) -> None:
        pass

    async def quiet(self) -> None:
        await anyio.sleep_forever()

    def stderr_lines(self) -> tuple[str, ...]:
        return tuple(self.lines)


class SimulatedChild:
    """A process that ends when it is signalled, unless the test says otherwise."""

    def __init__(self) -> None:
        self.pid = 4711
        self.channel = SimulatedChannel()
        self.output = SimulatedOutput()
        self.signals: list[int] = []
        self.heeds: set[int] = {9, 15}
        self.stopped = False
        self.cpu: Callable[[], float | None] = lambda: None
        self.oom_kills = 0
        self.closed = False
        self._exit: Exit | None = None
        self._ended = anyio.Event()

    def end(self, exit: Exit) -> None:
        if self._exit is None:
            self._exit = exit
            self._ended.set()

    async def wait_exit(self) -> Exit:
        await self._ended.wait()
        assert self._exit is not None
        return self._exit

    def signal_group(self, number: int) -> None:
        self.signals.append(number)
        if number in self.heeds:
            self.end(Exit(signal=number))

    def signal_process(self, number: int) -> None:
        self.signals.append(number)

    def catches(self, number: int) -> bool:
        return True

    def counters(self) -> Counters:
        return Counters(own=self.oom_kills, shared=self.oom_kills)

    def resident(self) -> int | None:
        return None

    def is_stopped(self) -> bool:
        return self.stopped

    def cpu_seconds(self) -> float | None:
        return self.cpu()

    async def close(self) -> None:
        self.closed = True


class SimulatedSpawner:
    """Starts the child that the test prepared, after ``delay`` seconds."""

    def __init__(self, child: SimulatedChild, delay: float = 0.0) -> None:
        self.child = child
        self.delay = delay

    async def spawn(self, spec: WorkerSpec) -> SimulatedChild:
        await anyio.sleep(self.delay)
        return self.child


class ManyChildren:
    """Starts another child each time, prepared by the test; ``children`` are those that were started."""

    def __init__(self, prepare: Callable[["SimulatedChild"], None]) -> None:
        self.children: list[SimulatedChild] = []
        self.times: list[float] = []
        self.prepare = prepare

    @property
    def newest(self) -> SimulatedChild:
        return self.children[-1]

    async def spawn(self, spec: WorkerSpec) -> SimulatedChild:
        await anyio.lowlevel.checkpoint()
        child = SimulatedChild()
        child.pid = 4711 + len(self.children)
        self.children.append(child)
        self.times.append(anyio.current_time())
        self.prepare(child)
        return child


async def located(name: str, progress: Any) -> Path:
    """A model that is there."""
    return Path("/simulated")


def healthy(child: SimulatedChild) -> None:
    """Let the child answer a load and a stop at once, as a good worker does."""

    def answer(message: ToWorker) -> None:
        match message:
            case LoadModel():
                child.channel.say(LoadStep("weights", 1, 1), ModelLoaded(512))
            case Stop():
                child.channel.say(Bye())
                child.end(Exit(code=0))
            case _:
                pass

    child.channel.on_message = answer
    child.channel.say(Hello(PROTOCOL, child.pid))


def obliging(child: SimulatedChild) -> None:
    """Let the child begin each answer too, and honour a cancel and an unload. It ends an answer when the test says so."""
    healthy(child)
    before = child.channel.on_message

    def answer(message: ToWorker) -> None:
        match message:
            case Generate(request=request):
                child.channel.say(Started(request, 3), PrefillStep(request, 3, 3), Chunk(request, "a"))
            case CancelRequest(request=request):
                child.channel.say(Ended(request, "cancelled", 1))
            case UnloadModel():
                child.channel.say(ModelUnloaded())
            case _:
                before(message)

    child.channel.on_message = answer


def live_again(
    test: Callable[[RunnerSupervisor, ManyChildren], Awaitable[None]],
    *,
    prepare: Callable[[SimulatedChild], None] = healthy,
    **more: Any,
) -> float:
    """Run a life of several incarnations in virtual time, each with a child of its own; give how many seconds of it passed."""

    async def main() -> float:
        start = anyio.current_time()
        spawner = ManyChildren(prepare)
        journal = MemoryJournal()
        more.setdefault("locate", located)
        with anyio.fail_after(100_000):
            async with RunnerSupervisor("any", spawner=spawner, journal=journal, **more) as runner:
                await test(runner, spawner)
            assert all(child.closed for child in spawner.children)
            checked = verify(journal.lines)
            assert checked.intact, checked
            assert checked.closed
        return anyio.current_time() - start

    clock = trio.testing.MockClock(autojump_threshold=0)
    return anyio.run(main, backend="trio", backend_options={"clock": clock})


async def beat(child: SimulatedChild, every: float = 0.5) -> None:
    """Beat until cancelled."""
    while True:
        child.channel.say(Beat())
        await anyio.sleep(every)


def live(
    test: Callable[[RunnerSupervisor, SimulatedChild, trio.testing.MockClock], Awaitable[None]],
    *,
    settings: Settings | None = None,
    spawn_delay: float = 0.0,
    prepare: Callable[[SimulatedChild], None] = healthy,
) -> float:
    """Run a life in virtual time; give how many seconds of it passed."""
    clock = trio.testing.MockClock(autojump_threshold=0)

    async def main() -> float:
        child = SimulatedChild()
        prepare(child)
        start = anyio.current_time()
        with anyio.fail_after(7200):
            spawner = SimulatedSpawner(child, spawn_delay)
            journal = MemoryJournal()
            async with RunnerSupervisor(
                "any", settings=settings, spawner=spawner, locate=located, journal=journal
            ) as runner:
                await test(runner, child, clock)
            checked = verify(journal.lines)
            assert checked.intact, checked
            assert checked.closed
        return anyio.current_time() - start

    return anyio.run(main, backend="trio", backend_options={"clock": clock})
