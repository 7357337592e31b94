"""One incarnation at work: its machine, its child, and the tasks between them.

Whatever is seen (a message, a death, a deadline, a poll, a command) becomes an event and goes through ``post``, the one
way into the machine. A step is atomic: nothing is awaited between an event and its effects, so that a command is answered at
once and no two events meet. Effects that take time are tasks of this incarnation; all of them end with ``run``.
"""

import signal
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple, TypedDict

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup, TaskStatus

from fsm import (
    Announce,
    AnyEffect,
    AnyEvent,
    Arm,
    Ask,
    Bye,
    Cancel,
    Deadline,
    DeadlineExpired,
    Disarm,
    DumpStacks,
    Exit,
    Exited,
    FailureCause,
    FirstToken,
    GiveUp,
    Hello,
    Hung,
    Kill,
    Kind,
    Lifecycle,
    Loaded,
    LoadProgress,
    OutOfMemory,
    Phase,
    Process,
    ProtocolBroken,
    Record,
    Release,
    RequestDone,
    RequestEnded,
    RequestErred,
    RequestErrorKind,
    RequestProgress,
    RequestStarted,
    RequestState,
    SendCancel,
    SendLoad,
    SendRequest,
    SendUnload,
    Settle,
    Settled,
    Spawn,
    Spawned,
    SpawnFailed,
    State,
    Step,
    SupervisorLate,
    Terminate,
    Unloaded,
    Verdict,
    WorkerFailed,
)
from runner.channel.frames import FRAME_LIMIT, HEADER, FrameError
from runner.channel.messages import (
    PROTOCOL,
    CancelRequest,
    Chunk,
    Credit,
    Ended,
    Fatal,
    FromWorker,
    Gauge,
    Generate,
    LoadModel,
    LoadStep,
    ModelLoaded,
    ModelUnloaded,
    Need,
    PrefillStep,
    Refused,
    Started,
    Stop,
    ToWorker,
    UnloadModel,
)
from runner.channel.messages import Beat as BeatMessage
from runner.channel.messages import Bye as ByeMessage
from runner.channel.messages import Hello as HelloMessage
from runner.channel.stream import OUTBOX_LIMIT
from runner.deadlines import Deadlines
from runner.diagnosis.diagnose import diagnose
from runner.diagnosis.evidence import Counters, Evidence, Platform
from runner.diagnosis.evidence import Need as NeedFigures
from runner.diagnosis.report import diagnose_report
from runner.diagnosis.stacks import stacks_in
from runner.generation import Overdrawn, Stream
from runner.liveness import Liveness
from runner.protocols import ChannelClosed, ChannelFull, Child, Clock, Recorder, Spawner, SpawnError, WorkerSpec
from runner.settings import Settings

_SIGNALS = {Deadline.TERMINATE: signal.SIGTERM, Deadline.KILL: signal.SIGKILL}
"""What the two last rungs wait for to be heeded. Stacks and records come before the signal, within their own bounds."""

RESERVE = OUTBOX_LIMIT - FRAME_LIMIT - HEADER
"""Bytes on the way to the worker that no request may take."""

PROGRESS_S = 0.05
"""Between two records of progress. What comes more often is progress all the same, and is not written down."""

NONSENSE = 1000
"""Words of a child that no longer fit, one after another, after which it counts as broken."""

_LARGE = 20_000
"""Characters of last words that are read on the event loop; more are read in a thread, where they hold up nobody."""

WRITE_TIMEOUT_S = 0.05
"""What reaches the worker waits at most so long for its record to be written down."""

_REACHES_OUT = (Spawn, SendLoad, SendUnload, SendRequest, SendCancel, Ask, Terminate)
"""Effects that wait for their record. SIGKILL, the release of those who wait and what stays in here do not."""


class Incarnation:
    """One child from before its start until nothing of it is left.

    Args:
        lifecycle: its machine, fresh.
        spawner: starts the child.
        spec: what to start.
        settings: spans and sizes.
        clock: seconds.
        publish: told of each record, in order.
        recorder: writes the records down; what reaches the worker waits for it, within a bound.
    """

    def __init__(
        self,
        lifecycle: Lifecycle,
        *,
        spawner: Spawner,
        spec: WorkerSpec,
        settings: Settings,
        clock: Clock,
        publish: Callable[[Record], None],
        recorder: Recorder | None = None,
    ) -> None:
        self.lifecycle = lifecycle
        self.settled = anyio.Event()
        self.closed = anyio.Event()
        self.unkillable = False
        self.pid: int | None = None
        self.gauge = Gauge()
        self.context = 0
        self.directory = ""
        self.versions: dict[str, str] = {}
        self._spawner = spawner
        self._spec = spec
        self._settings = settings
        self._clock = clock
        self._publish = publish
        self._recorder = recorder
        self._answers: dict[int, list[str]] = {}
        self._held: deque[Held] = deque()
        self._holding = anyio.Event()
        self._child: Child | None = None
        self._exit = Exit()
        self._counters = Counters()
        self._need: NeedFigures | None = None
        self._load_step = ""
        self._news = 0
        self._streams: dict[int, Stream] = {}
        self._outgoing: dict[int, Outgoing] = {}
        self._dropped: deque[int] = deque()
        self._inbox: deque[AnyEvent] = deque()
        self._handling = False
        self._forgiven = False
        self._nonsense = 0
        self._deaf = False
        self._progress_at = -PROGRESS_S
        self._budget: anyio.CancelScope | None = None
        self._dumping = False
        self._dumped = False
        self._sent: set[int] = set()
        self._tasks: TaskGroup | None = None
        self._liveness = Liveness(settings)
        self._deadlines = Deadlines(
            clock,
            catch_up=self._catch_up,
            expired=self._on_deadline,
            late=self._on_late,
            late_after=2 * settings.poll_interval,
        )

    @property
    def number(self) -> int:
        """Its number."""
        return self.lifecycle.facts.incarnation

    @property
    def over(self) -> bool:
        """Whether it is settled."""
        return self.lifecycle.facts.settled

    # The one way into the machine.

    def post(self, event: AnyEvent) -> Step:
        """Handle an event, and what follows from it, at once; give back the event's own step."""
        if self._handling:
            raise RuntimeError("An event was posted from inside a step.")
        self._handling = True
        try:
            step = self._step(event)
            while self._inbox:
                self._step(self._inbox.popleft())
        finally:
            self._handling = False
        return step

    def _step(self, event: AnyEvent) -> Step:
        step = self.lifecycle.handle(event)
        self._publish(step.record)
        if step.record.source is State.LOADING and step.record.dest is not State.LOADING and self._budget is not None:
            self._budget.cancel()
        self._count_nonsense(step.record)
        for effect in step.effects:
            if isinstance(effect, _REACHES_OUT) and self._must_wait(step.record.seq):
                self._held.append(Held(step.record.seq, effect, self._clock.now() + WRITE_TIMEOUT_S))
                self._holding.set()
            else:
                self._perform(effect)
        return step

    def _count_nonsense(self, record: Record) -> None:
        if record.verdict is not Verdict.IGNORED:
            self._nonsense = 0
            return
        self._nonsense += 1
        if self._nonsense == NONSENSE:
            # It is ended for that, and nothing more that it says is worth a record.
            self._deaf = True
            detail = f"The worker said {NONSENSE} things in a row that do not fit, the last {record.event.trigger}."
            self._inbox.append(ProtocolBroken(detail=detail, **self.stamp))

    # What reaches the worker is written down first.

    def _must_wait(self, seq: int) -> bool:
        return bool(self._held) or (self._recorder is not None and not self._recorder.is_written(seq))

    async def _perform_held(self) -> None:
        """Perform what was held once its record is written, in order; not later than the bound, and then that is noted."""
        while True:
            await self._holding.wait()
            self._holding = anyio.Event()
            noted = -1
            while self._held:
                held = self._held[0]
                if held.seq != noted:
                    await self._wait_written(held)
                    noted = held.seq
                # Settled meanwhile, and there is nobody to be reached.
                if self._held:
                    self._perform(self._held.popleft().effect)

    async def _wait_written(self, held: "Held") -> None:
        recorder = self._recorder
        if recorder is None or recorder.is_written(held.seq):
            return
        # All that waits for one slow write is late together, not one after another.
        with anyio.move_on_after(held.until - self._clock.now()):
            await recorder.wait_written(held.seq)
        if not recorder.is_written(held.seq):
            recorder.overran(held.seq, self._clock.now() - held.until + WRITE_TIMEOUT_S)

    def _follow(self, event: AnyEvent) -> None:
        """Post an event that may be found while a step is performed: it is handled right after that step."""
        if self._handling:
            self._inbox.append(event)
        else:
            self.post(event)

    @property
    def stamp(self) -> "Stamp":
        """Number and time for an event that is seen now."""
        return {"incarnation": self.number, "at": self._clock.now()}

    # Requests.

    def accept(self, stream: Stream, message: Generate, length: int) -> None:
        """Hold what a request needs before it is submitted; ``forget`` takes it back if it is refused.

        Args:
            stream: for its answer.
            message: for the worker.
            length: of the message's frame, in bytes.
        """
        self._streams[stream.request] = stream
        self._outgoing[stream.request] = Outgoing(message, length)

    def forget(self, request: int) -> None:
        """Take back a request that was refused."""
        self._streams.pop(request, None)
        self._outgoing.pop(request, None)

    def grant(self, request: int, chunks: int) -> None:
        """A reader took chunks: the worker may send as many more."""
        if request in self._streams:
            self._send(Credit(request, chunks))
            self._deadlines.touch(Deadline.PREFILL, Deadline.DECODE)

    def drop(self, request: int) -> None:
        """A caller dropped its generation. Only noted here: a finaliser runs anywhere, even inside a step."""
        self._dropped.append(request)

    def has_room_for(self, length: int) -> bool:
        """Whether the worker takes its messages fast enough for one more request of ``length`` bytes.

        Requests that wait for their record count, and room is left for what must always go: cancels, credit, the end.
        """
        waiting = sum(outgoing.length for outgoing in self._outgoing.values())
        return self._child is None or self._child.channel.has_room_for(waiting + length + RESERVE)

    # Effects.

    def _perform(self, effect: AnyEffect) -> None:
        match effect:
            case Arm(deadline=deadline):
                resident = self._child.resident() if self._child and deadline is Deadline.TERMINATE else None
                self._deadlines.arm(deadline, self._settings.span(deadline, resident))
            case Disarm(deadline=deadline):
                self._deadlines.disarm(deadline)
            case SendRequest(request=request):
                self._send(self._outgoing.pop(request).message)
            case SendCancel(request=request):
                self._send(CancelRequest(request))
            case Release(outcome=outcome):
                stream = self._streams.pop(outcome.request, None)
                if stream is not None:
                    stream.finish(outcome)
                if self._recorder is not None and (answer := self._answers.pop(outcome.request, None)) is not None:
                    self._recorder.said(outcome.request, "answer", "".join(answer))
            case Spawn():
                self._start(self._spawn)
            case SendLoad():
                self._send(LoadModel(self.directory))
                self._start(self._watch_budget)
            case SendUnload():
                self._send(UnloadModel())
            case Ask():
                self._send(Stop())
            case DumpStacks():
                self._dumping = True
            case Terminate():
                self._signal(signal.SIGTERM)
            case Kill():
                self._signal(signal.SIGKILL)
            case GiveUp():
                self.unkillable = True
                self._settle()
            case Settle():
                self._settle()
            case Announce():
                self._held.clear()
                self.settled.set()

    def _start(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        assert self._tasks is not None, "run() is not running"
        self._tasks.start_soon(task)

    def _send(self, message: ToWorker) -> None:
        if self._child is None:
            return
        try:
            self._child.channel.send(message)
        except ChannelFull:
            self._follow(ProtocolBroken(detail="The worker does not read its channel.", **self.stamp))

    def _signal(self, number: signal.Signals) -> None:
        if self._dumping:
            self._dumping = False
            self._start(partial(self._signal_after_stacks, number))
        elif self._child is not None:
            self._sent.add(number)
            self._child.signal_group(number)

    async def _signal_after_stacks(self, number: signal.Signals) -> None:
        """Let the child write its stacks, then signal it. A stopped process writes none, hence the bound."""
        # One that has no handler yet would be ended by it.
        if self._child is not None and self._child.catches(signal.SIGUSR1):
            self._child.signal_process(signal.SIGUSR1)
            self._dumped = True
            with anyio.move_on_after(self._settings.stacks_timeout):
                await self._child.output.quiet()
        self._signal(number)

    async def _spawn(self) -> None:
        try:
            child = await self._spawner.spawn(self._spec)
        except (OSError, SpawnError) as error:
            self._follow(SpawnFailed(error=str(error), **self.stamp))
            return
        self._child = child
        self.pid = child.pid
        self._counters = child.counters()
        for task in (child.output.run, child.channel.run_sender, self._read, self._watch_exit):
            self._start(task)
        self.post(Spawned(pid=child.pid, **self.stamp))

    def _settle(self) -> None:
        """Read what the child left behind, and say what it comes to.

        Whatever a dead process wrote is in the kernel's buffers by now, so reading until they are empty is reading
        everything, without waiting for descendants that hold the other ends open.
        """
        child = self._child
        if child is None:
            self._follow(Settled(unkillable=self.unkillable, **self.stamp))
            return
        child.signal_group(signal.SIGKILL)
        self._read_now()
        child.output.drain(self._settings.settle_timeout)
        self._judge_end(
            child,
            Evidence(
                exit=self._exit,
                phase=self.lifecycle.phase,
                platform=_PLATFORM,
                stderr=child.output.stderr_lines(),
                before=self._counters,
                after=child.counters(),
                sent_signals=tuple(sorted(self._sent)),
                child_alive=self.unkillable,
                need=self._need,
            ),
        )

    def _judge_end(self, child: Child, evidence: Evidence) -> None:
        if sum(map(len, evidence.stderr)) > _LARGE:
            self._start(partial(self._diagnose_in_thread, evidence))
        else:
            self._settled(evidence, diagnose(evidence))

    async def _diagnose_in_thread(self, evidence: Evidence) -> None:
        found = await anyio.to_thread.run_sync(diagnose, evidence)
        self._settled(evidence, found)

    def _settled(self, evidence: Evidence, found: FailureCause) -> None:
        if self._dumped and found.kind is not Kind.OOM and (stacks := stacks_in(evidence.stderr)):
            found = msgspec.structs.replace(found, evidence=stacks)
        # The machine takes this from here: after the frames that were just read, before anything else.
        self._follow(Settled(exit=self._exit, cause=found, unkillable=self.unkillable, **self.stamp))

    # What the world tells.

    async def _watch_exit(self) -> None:
        assert self._child is not None
        self._exit = await self._child.wait_exit()
        # What it said before it died comes first: a bye makes an exit an orderly one.
        self._read_now()
        self.post(Exited(exit=self._exit, ours=self._exit.signal in self._sent, **self.stamp))

    async def _read(self) -> None:
        assert self._child is not None
        channel = self._child.channel
        try:
            while True:
                for message in await channel.receive():
                    self._on_message(message)
        except ChannelClosed:
            # The end of the channel and the death of the process come in either order; only an end without a death is news.
            with anyio.move_on_after(self._settings.poll_interval):
                await self._child.wait_exit()
                return
            self.post(ProtocolBroken(detail="The worker shut its end of the channel and lives on.", **self.stamp))
        except FrameError as error:
            self.post(ProtocolBroken(detail=str(error), **self.stamp))

    def _read_now(self) -> None:
        """Handle the frames that can be read without waiting."""
        if self._child is None:
            return
        try:
            for message in self._child.channel.drain():
                self._on_message(message)
        except FrameError as error:
            self._follow(ProtocolBroken(detail=str(error), **self.stamp))

    def _on_message(self, message: FromWorker) -> None:
        self._liveness.beat(self._clock.now())
        self._forgiven = False
        if self._deaf:
            return
        if isinstance(message, Chunk):
            self._on_chunk(message)
            return
        stamp = self.stamp
        match message:
            case BeatMessage(gauge=gauge):
                self.gauge = gauge
            case HelloMessage():
                self.versions = {
                    _short(name): _short(version) for name, version in list(message.versions.items())[:_NAMES]
                }
                self._follow(Hello(protocol_ok=message.protocol == PROTOCOL, versions=self.versions, **stamp))
            case LoadStep():
                if self._is_due(message.step != self._load_step):
                    self._load_step = _short(message.step)
                    self._follow(LoadProgress(step=self._load_step, done=message.done, total=message.total, **stamp))
                else:
                    self._deadlines.touch(Deadline.LOAD)
            case ModelLoaded():
                self.context = message.context
                self._follow(Loaded(context=message.context, device=_short(message.device), **stamp))
            case ModelUnloaded():
                self._follow(Unloaded(**stamp))
            case Need():
                self._need = NeedFigures(_short(message.what), message.bytes, message.headroom)
            case Started(request=request):
                if request in self._streams:
                    self._streams[request].prompt_tokens = message.prompt_tokens
                self._follow(RequestStarted(request=request, prompt_tokens=message.prompt_tokens, **stamp))
            case PrefillStep(request=request):
                if self._is_due(message.done == message.total):
                    self._follow(RequestProgress(request=request, done=message.done, total=message.total, **stamp))
                else:
                    self._deadlines.touch(Deadline.PREFILL, Deadline.DECODE)
            case Ended(request=request, reason="cancelled"):
                self._follow(RequestEnded(request=request, tokens=message.tokens, **stamp))
            case Ended(request=request):
                self._follow(
                    RequestDone(request=request, reason=_short(message.reason), tokens=message.tokens, **stamp)
                )
            case Refused(request=request):
                self._follow(
                    RequestErred(
                        request=request,
                        kind=_request_error_kind(message.kind),
                        message=_short(message.message, _LONG),
                        traceback=_short(message.traceback, _LONG),
                        **stamp,
                    )
                )
            case Fatal():
                self._on_fatal(message)
            case ByeMessage():
                self._follow(Bye(**stamp))

    def _is_due(self, changed: bool) -> bool:
        """Whether progress is to be written down: not more often than a person could read, but for what is new."""
        now = self._clock.now()
        if now - self._progress_at >= PROGRESS_S:
            self._progress_at, self._news = now, 0
            return True
        self._news += changed
        return changed and self._news < _NEWS

    def _on_chunk(self, chunk: Chunk) -> None:
        if len(chunk.text) > _LONG:
            detail = f"The worker sent {len(chunk.text):,} characters at once; {_LONG:,} are the most."
            self._follow(ProtocolBroken(detail=detail, **self.stamp))
            return
        stream = self._streams.get(chunk.request)
        if stream is None:
            # Its request has ended, which the worker had not heard of yet. One that never was is another matter.
            if not self.lifecycle.was_accepted(chunk.request):
                detail = f"The worker answers request {chunk.request}, which was never made."
                self._follow(ProtocolBroken(detail=detail, **self.stamp))
            return
        first = stream.first_at is None
        try:
            stream.put(chunk)
        except Overdrawn:
            detail = f"The worker sent more of request {chunk.request} than it had credit for."
            self._follow(ProtocolBroken(detail=detail, **self.stamp))
            return
        if self._recorder is not None and self._recorder.text:
            self._answers.setdefault(chunk.request, []).append(chunk.text)
        if first:
            self._follow(FirstToken(request=chunk.request, **self.stamp))
        else:
            self._deadlines.touch(Deadline.PREFILL, Deadline.DECODE)
        if self._dropped:
            self._cancel_dropped()

    def _on_fatal(self, message: Fatal) -> None:
        cause = diagnose_report(
            _short(message.exception),
            _short(message.message, _LONG),
            _ends_of(message.traceback.splitlines()),
            _phase(message.phase),
        )
        if cause.kind is Kind.OOM:
            self._follow(
                OutOfMemory(certainty=cause.certainty, scope=cause.scope, evidence=cause.evidence, **self.stamp)
            )
        else:
            self._follow(WorkerFailed(cause=cause, **self.stamp))

    # Polls and deadlines.

    async def _poll(self) -> None:
        """The second line: whatever no notice came for."""
        interval = self._settings.poll_interval
        while True:
            due = self._clock.now() + interval
            await anyio.sleep(interval)
            late = self._clock.now() - due
            if late <= 2 * interval:
                self._forgiven = False
            elif not self._forgiven:
                # Once: a supervisor that is late again without a word from the worker has to judge, or nothing would end.
                self._forgiven = True
                self._on_late(late)
            self._cancel_dropped()
            self._judge_silence()

    def _judge_silence(self) -> None:
        child = self._child
        if child is None or self.lifecycle.facts.process is not Process.UP:
            return
        if child.channel.arrived:
            # A word that nobody has come to read yet is a sign of life as well.
            self._liveness.beat(self._clock.now())
        silence = self._liveness.poll(self._clock.now(), stopped=child.is_stopped(), cpu_seconds=child.cpu_seconds())
        if silence is not None:
            self.post(Hung(silent_s=silence.seconds, stopped=silence.stopped, **self.stamp))

    def _cancel_dropped(self) -> None:
        while self._dropped:
            self._follow(Cancel(request=self._dropped.popleft(), **self.stamp))

    def _on_late(self, late: float) -> None:
        self._liveness.beat(self._clock.now())
        self._follow(SupervisorLate(late_s=late, **self.stamp))

    def _on_deadline(self, deadline: Deadline, span: float) -> None:
        """A span is over; but a request that waits for its reader is not late, and a signal that is not sent is not unheeded."""
        signalled = _SIGNALS.get(deadline)
        if signalled is not None and self._child is not None and signalled not in self._sent:
            self._deadlines.arm(deadline, span)
            return
        if deadline in self.lifecycle.watched and self._waits_for_readers(deadline):
            self._deadlines.arm(deadline, span)
            return
        self.post(DeadlineExpired(deadline=deadline, after_s=span, **self.stamp))

    def _waits_for_readers(self, deadline: Deadline) -> bool:
        if deadline is not Deadline.DECODE:
            return False
        decoding = [request for request, state in self.lifecycle.requests.items() if state is RequestState.DECODE]
        return all(self._streams[request].paused for request in decoding)

    async def _catch_up(self) -> None:
        """Handle what has arrived by now, and let others run meanwhile."""
        child = self._child
        if child is None:
            return
        goal = child.channel.handled + child.channel.arrived
        try:
            while child.channel.handled < goal and (messages := child.channel.drain_some()):
                for message in messages:
                    self._on_message(message)
                await anyio.lowlevel.checkpoint()
        except FrameError as error:
            self._follow(ProtocolBroken(detail=str(error), **self.stamp))

    async def _watch_budget(self) -> None:
        """Watch this load. Leaving ``Loading`` ends it; a supervisor that itself was late begins anew, once."""
        budget = self._settings.load_budget
        if budget is None or self.lifecycle.state is not State.LOADING:
            return
        with anyio.CancelScope() as self._budget:
            due = self._clock.now() + budget
            await anyio.sleep(budget)
            if self._clock.now() - due > 2 * self._settings.poll_interval:
                await anyio.sleep(budget)
            await self._catch_up()
            if self.lifecycle.state is not State.LOADING:
                return
            self.post(DeadlineExpired(deadline=Deadline.LOAD, after_s=budget, budget=True, **self.stamp))

    # From the first to the last.

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Work until settled, then let go of everything.

        Shielded from cancellation from outside: a child that was started must be ended, and the ladder bounds how long that
        can take. Whoever cancels must therefore see to it that a shutdown is posted; the supervisor's exit does.
        """
        with anyio.CancelScope(shield=True):
            try:
                async with anyio.create_task_group() as tasks:
                    self._tasks = tasks
                    tasks.start_soon(self._deadlines.run)
                    tasks.start_soon(self._poll)
                    tasks.start_soon(self._perform_held)
                    task_status.started()
                    await self.settled.wait()
                    tasks.cancel_scope.cancel()
            finally:
                try:
                    if self._child is not None:
                        await self._child.close()
                finally:
                    self.closed.set()


class Held(NamedTuple):
    """An effect that waits for its record."""

    seq: int
    effect: AnyEffect
    until: float


class Outgoing(NamedTuple):
    """A request that has not been sent yet."""

    message: Generate
    length: int
    """Bytes of its frame."""


class Stamp(TypedDict):
    """What every event carries."""

    incarnation: int
    at: float


_NAMES = 100
"""Most names, and most characters of one, that a child can give to anything."""
_NEWS = 20
"""Most records of progress in one span of ``PROGRESS_S``, however many things are new in it."""
_LONG = 64 * 1024
"""Most characters of a text of a child's that is kept: a chunk, a message, a traceback."""


def _short(text: str, most: int = _NAMES) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _ends_of(lines: list[str], most: int = 100) -> tuple[str, ...]:
    """The first lines and the last ones: a cascade begins with its cause, and a report ends with its failure."""
    kept = lines if len(lines) <= 2 * most else [*lines[:most], *lines[-most:]]
    return tuple(_short(line, 1000) for line in kept)


def _platform() -> Platform:
    if sys.platform == "darwin":
        return "macos-metal"
    return "linux-cpu" if sys.platform == "linux" else "other"


_PLATFORM = _platform()


def _phase(name: str) -> Phase:
    return Phase(name) if name in set(Phase) else Phase.UNKNOWN


def _request_error_kind(name: str) -> RequestErrorKind:
    return RequestErrorKind(name) if name in set(RequestErrorKind) else RequestErrorKind.EXCEPTION
