"""The contracts behind which the world stands: clock, channel, output, child, and who starts a child.

The real ones are in ``runner.process`` and ``runner.channel``; a simulated child and a virtual clock fulfil the same. What is
said here about closing, death and cancellation holds for all of them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from fsm import Exit, Record
from fsm.checkpoint import Checkpoint
from runner.channel.messages import FromWorker, ToWorker
from runner.diagnosis.evidence import Counters
from runner.faults import Fault


class ChannelClosed(Exception):
    """The worker's end of the channel is shut, and everything before that was read.

    Attributes:
        pending: bytes of a frame that was begun and never finished.
    """

    def __init__(self, pending: int = 0) -> None:
        super().__init__(f"The channel is closed; {pending} bytes of an unfinished frame were left.")
        self.pending = pending


class ChannelFull(Exception):
    """The worker does not read: what waits to be sent is over the limit, and this message was not added to it."""


class SpawnError(Exception):
    """The child could not be started. Nothing of it is left."""


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> float:
        """Seconds, monotonic, on the same base as the event loop's deadlines."""
        ...


class Channel(Protocol):
    """The supervisor's end of the one channel to a worker."""

    def send(self, message: ToWorker) -> None:
        """Queue a message. Never blocks; after the channel broke it is dropped, since the death is told elsewhere.

        Raises:
            ChannelFull: if the worker does not read.
            FrameError: if the message is too long for a frame.
        """
        ...

    def has_room_for(self, length: int) -> bool:
        """Whether a frame of ``length`` bytes can be queued."""
        ...

    async def run_sender(self) -> None:
        """Send what is queued, until cancelled or until the channel breaks. Cancelling it may leave a frame half sent."""
        ...

    async def receive(self) -> list[FromWorker]:
        """Wait for bytes and give the whole messages in them, at least one. Cancelling it loses nothing.

        Of many that came at once it gives some, and lets others run before it gives the next.

        Raises:
            ChannelClosed: at the end of the stream, or when this end was closed.
            FrameError: when a frame can't be read; the messages before it were given.
        """
        ...

    @property
    def handled(self) -> int:
        """Bytes of the messages that were given."""
        ...

    @property
    def arrived(self) -> int:
        """Bytes that came and are not given yet."""
        ...

    def drain_some(self) -> list[FromWorker]:
        """Give some of what has arrived, without waiting; nothing if nothing has.

        Raises:
            FrameError: when a frame can't be read and there is none before it.
        """
        ...

    def drain(self) -> list[FromWorker]:
        """Give what has arrived by now, without waiting; nothing if the stream is at its end.

        Raises:
            FrameError: when a frame can't be read and there is none before it.
        """
        ...


class Output(Protocol):
    """What the child prints."""

    async def run(self) -> None:
        """Read both streams until their ends or until cancelled."""
        ...

    def drain(self, bound: float) -> None:
        """Read what has arrived by now, without waiting, for ``bound`` seconds at most."""
        ...

    async def quiet(self) -> None:
        """Wait until something was written to standard error and then nothing for a moment."""
        ...

    def stderr_lines(self) -> tuple[str, ...]:
        """Standard error as far as it is kept: the first lines and the last ones."""
        ...


class Child(Protocol):
    """A process that was started."""

    @property
    def pid(self) -> int:
        """Its process id, which is its group's and its session's too."""
        ...

    @property
    def channel(self) -> Channel:
        """The channel to it."""
        ...

    @property
    def output(self) -> Output:
        """What it prints."""
        ...

    async def wait_exit(self) -> Exit:
        """Wait until it has ended and is reaped. What is left of its group is killed at that moment.

        Any number may wait; cancelling it changes nothing.

        Raises:
            anyio.ClosedResourceError: if it was closed before it ended, which happens to one that can't be killed.
        """
        ...

    def signal_group(self, number: int) -> None:
        """Signal it and its descendants, as far as they are in its group. Nobody left is no error.

        Nothing is signalled once it is reaped: its number may be another's by then.
        """
        ...

    def signal_process(self, number: int) -> None:
        """Signal it alone. Gone is no error."""
        ...

    def catches(self, number: int) -> bool:
        """Whether it has a handler for a signal; ``False`` where that can't be known."""
        ...

    def counters(self) -> Counters:
        """The kernel's counts of out-of-memory kills, as far as they can be read."""
        ...

    def resident(self) -> int | None:
        """Its resident size in bytes."""
        ...

    def is_stopped(self) -> bool:
        """Whether it is stopped (state T)."""
        ...

    def cpu_seconds(self) -> float | None:
        """CPU time that it has used, in seconds."""
        ...

    async def close(self) -> None:
        """Kill what is left of it and of its descendants, and let go of everything held for it: descriptors, cgroup.

        Bounded, a few seconds where something can't be killed; cancellation waits for it. A second time is no error.
        """
        ...


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What to start."""

    beat_interval: float = 0.5
    """Seconds between two beats."""
    concurrency: int = 4
    """Requests served at a time."""
    fast_synch: bool = True
    """MLX's fast synchronisation on Metal."""
    memory_limit: int | None = None
    """Bytes for the child in a memory cgroup of its own."""
    faults: tuple[Fault, ...] = ()
    """Faults that it brings on itself."""


class Spawner(Protocol):
    """Starts children."""

    async def spawn(self, spec: WorkerSpec) -> Child:
        """Start a child. Cancelling it leaves none behind.

        Raises:
            SpawnError: if it can't be started.
        """
        ...


class Recorder(Protocol):
    """Writes down the records of one run. Whatever becomes of it, the runner goes on."""

    @property
    def path(self) -> Path | None:
        """The file, if it is one."""
        ...

    @property
    def text(self) -> bool:
        """Whether prompts and answers are to be written down."""
        ...

    def append(self, record: Record, checkpoint: Callable[[], Checkpoint]) -> None:
        """Note a record. Never blocks. ``checkpoint`` gives where the machine stands after it."""
        ...

    def said(self, request: int, role: str, text: str) -> None:
        """Note a prompt or an answer. Never blocks."""
        ...

    def overran(self, seq: int, waited_s: float) -> None:
        """Note that the effects of a step did not wait for it. Never blocks."""
        ...

    def is_written(self, seq: int) -> bool:
        """Whether that record is in the hands of the system."""
        ...

    async def wait_written(self, seq: int) -> None:
        """Wait until that record is written, or until it is known that it can't be now. Cancelling it changes nothing."""
        ...

    async def run(self) -> None:
        """Wake those who wait, until closed or cancelled."""
        ...

    async def close(self, checkpoint: Checkpoint) -> None:
        """Write what is left and the end, in bounded time, and let ``run`` end. Shielded from cancellation."""
        ...


class Recording(Protocol):
    """Where records are to be written down."""

    async def begin(self, settings: Mapping[str, bool | int | float | str | None]) -> Recorder:
        """Be ready to write, in bounded time.

        Raises:
            JournalRefused: if it can't be there.
        """
        ...
