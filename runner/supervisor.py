"""The supervisor: plain verbs over one incarnation after another. Callers need not know that there is a machine.

Here live the verbs, who waits for what, and the numbers that go on across incarnations. What one incarnation does is in
``incarnation.py``; the rules are in ``fsm``. Not safe to be called from other threads than the event loop's.
"""

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType

import anyio
import anyio.lowlevel
import msgspec
from anyio.abc import TaskGroup

from fsm import (
    Announce,
    Cancel,
    CommandRefused,
    FailureCause,
    Lifecycle,
    Load,
    Record,
    RequestState,
    Restart,
    Shutdown,
    Start,
    State,
    Step,
    Submit,
    Unload,
)
from fsm.journal.redact import mask
from fsm.states import Activity, Process
from runner.channel.frames import FrameError, encode
from runner.channel.messages import Gauge
from runner.errors import ProcessUnkillable, RunnerFailed
from runner.faults import Fault
from runner.feed import Changes, Feed
from runner.generation import Generation, Stream
from runner.incarnation import Incarnation
from runner.journal.journal import Journal
from runner.models import ModelError
from runner.models.locate import Locate, locate
from runner.models.progress import Progress
from runner.process.clock import AnyioClock
from runner.process.spawn import ProcessSpawner
from runner.protocols import Clock, Recorder, Recording, Spawner, WorkerSpec
from runner.request import message_for
from runner.restart.course import Course, DueRestart, RestartStatus
from runner.restart.decision import Due, GiveUp
from runner.restart.policy import RestartPolicy
from runner.restart.restarter import Restarter
from runner.settings import Settings
from runner.silence import logger
from runner.waiting import Waiting

DEFAULT_JOURNAL = Journal()
"""A file in the default place."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Where a runner stands. A value: it does not change afterwards."""

    state: State
    incarnation: int
    seq: int
    """Number of the last record."""
    at: float
    """When it was taken, in seconds of the supervisor's monotonic clock."""
    since: float
    """When the state was entered, on the same clock."""
    activity: Activity
    done: int
    total: int
    process: Process
    pid: int | None
    settled: bool
    cause: FailureCause | None
    requests: dict[int, RequestState]
    """Those that have not ended."""
    model: str
    context: int
    """Longest prompt and answer together, in tokens; 0 while no model was loaded."""
    gauge: Gauge
    """Memory of the worker at its last beat."""
    versions: dict[str, str]
    restart: RestartStatus
    """What the restart policy is about to do, or why it does no more."""


class RunnerSupervisor:
    """Keeps one language-model process, alive or dead on purpose.

    Args:
        model: ``smollm2``, ``tiny``, a hub id, a directory in mlx-lm's format, or a ``.gguf`` file.
        settings: spans and sizes; see ``Settings``.
        restart: whether a runner that failed is started again by itself; see ``RestartPolicy``. Never, unless it says so.
        faults: faults that the worker brings on itself at given phases, for drills and tests. Never in production.
        spawner: starts the child; another one stands in for tests, or for another worker program.
        clock: seconds; on the same base as the event loop's deadlines.
        journal: where each step is written down: a ``Journal``, or ``None`` for nowhere.
        progress: told how far the fetching or converting of a model is, before it is loaded.
        locate: gets and checks the model; another one stands in where there are no models.

    Raises:
        SettingsError: if a setting makes no sense.
        ModelError: if the model's name can't be one.
    """

    def __init__(
        self,
        model: str = "smollm2",
        *,
        settings: Settings | None = None,
        restart: RestartPolicy | None = None,
        faults: Sequence[Fault] = (),
        journal: Recording | None = DEFAULT_JOURNAL,
        spawner: Spawner | None = None,
        clock: Clock | None = None,
        progress: Callable[[Progress], None] | None = None,
        locate: Locate = locate,
    ) -> None:
        self._model = model
        self._settings = settings or Settings()
        self._faults = tuple(faults)
        self._recording = journal
        self._recorder: Recorder | None = None
        self._spawner = spawner or ProcessSpawner()
        self._clock = clock or AnyioClock()
        self._progress = progress
        self._locate = locate
        self._feed = Feed()
        self._waiting = Waiting()
        self._stack = AsyncExitStack()
        self._tasks: TaskGroup | None = None
        self._current: Incarnation | None = None
        self._changing = anyio.Lock()
        self._leaving = False
        self._course = Course(restart or RestartPolicy(), random.Random().random)
        self._restarter = Restarter(
            self._course,
            begin=self._restart_due,
            load=self.load,
            state=lambda: self.state,
            changed=self._changed,
        )
        self._attending: anyio.CancelScope | None = None
        self._news = anyio.Event()
        self._since = 0.0
        self._entered = 0
        self._next_request = 1

    # Coming and going.

    async def __aenter__(self) -> "RunnerSupervisor":
        """Start the process. It comes up while the caller goes on.

        Raises:
            JournalRefused: if the journal's file is there already.
        """
        if self._tasks is not None:
            raise RuntimeError("A supervisor is entered once; make another one.")
        # Each of these shields itself, and is bounded: half entered, nobody would leave it.
        if self._recording is not None:
            self._recorder = await self._recording.begin(_for_journal(self._model, self._settings, self._course.policy))
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        if self._recorder is not None:
            self._tasks.start_soon(self._recorder.run)
        await self._begin(None)
        self._attending = anyio.CancelScope()
        self._tasks.start_soon(self._attend, self._attending)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Shut down, in bounded time, whatever else is going on. Never raises for a failure that was told already.

        Raises:
            ProcessUnkillable: if the child could not be ended, unless another error is on its way out.
        """
        # The ladder bounds the shield.
        unkillable: ProcessUnkillable | None = None
        with anyio.CancelScope(shield=True):
            self._leaving = True
            if self._attending is not None:
                self._attending.cancel()
            async with self._changing:
                # A restart that came first has begun its incarnation by now, and that is ended; one that comes later is refused.
                pass
            unkillable = await self._end()
            if self._recorder is not None:
                await self._recorder.close(self._incarnation.lifecycle.checkpoint)
        self._feed.close()
        # The caller's own error goes on as it is. Only a cancellation concerns the task group, which would wrap any other.
        swallowed = None
        if exc is None or isinstance(exc, anyio.get_cancelled_exc_class()):
            swallowed = await self._stack.__aexit__(exc_type, exc, traceback)
        else:
            await self._stack.aclose()
        if unkillable is not None and exc is None:
            raise unkillable
        return swallowed

    async def _end(self) -> ProcessUnkillable | None:
        try:
            await self.shutdown()
        except ProcessUnkillable as error:
            return error
        return None

    async def _attend(self, scope: anyio.CancelScope) -> None:
        """Do what nobody asks for by a verb, until the supervisor is left."""
        with scope:
            await self._restarter.run()

    async def _restart_due(self, due: DueRestart) -> None:
        """Begin the incarnation that the policy wants, unless somebody wants something else by now."""
        incarnation = self._incarnation
        await incarnation.closed.wait()
        async with self._changing:
            if incarnation is self._current and self._course.due is due and not self._leaving:
                self._course.begin()
                await self._begin(incarnation)

    async def _begin(self, before: Incarnation | None) -> None:
        """Begin an incarnation: the first, or the one that follows ``before``, which is over."""
        tasks = self._tasks
        if tasks is None:
            raise RuntimeError("Use `async with RunnerSupervisor(...) as runner`.")
        settings = self._settings
        incarnation = Incarnation(
            Lifecycle(),
            spawner=self._spawner,
            spec=WorkerSpec(
                beat_interval=settings.beat_interval,
                concurrency=settings.concurrency,
                fast_synch=settings.fast_synch,
                memory_limit=settings.memory_limit,
                faults=self._faults,
            ),
            settings=settings,
            clock=self._clock,
            publish=self._publish,
            recorder=self._recorder,
        )
        with anyio.CancelScope(shield=True):
            # Only until the task runs; it does nothing that could block before it says so.
            await tasks.start(incarnation.run)
        # Without a pause from here on: what was asked meanwhile was the old incarnation's to refuse, and has its numbers.
        if before is not None:
            self._command(before.post(Restart(**before.stamp)), "restart")
            incarnation.lifecycle = before.lifecycle.next_incarnation()
        self._current = incarnation
        incarnation.post(Start(**incarnation.stamp))

    @property
    def _incarnation(self) -> Incarnation:
        if self._current is None:
            raise RuntimeError("Use `async with RunnerSupervisor(...) as runner`.")
        return self._current

    def _publish(self, record: Record) -> None:
        if self._recorder is not None:
            self._recorder.append(record, lambda: self._incarnation.lifecycle.checkpoint)
        if record.dest is not record.source or record.incarnation != self._entered:
            self._since, self._entered = record.at, record.incarnation
        if record.dest is not record.source:
            log = logger.bind(incarnation=record.incarnation, seq=record.seq)
            log.info("{} -> {} ({})", record.source.value, record.dest.value, record.event.trigger)
        if record.cause is not None and any(isinstance(effect, Announce) for effect in record.effects):
            cause = record.cause
            logger.error("Failed: {} ({}). {}", cause.kind.value, cause.certainty.value, cause.sentence)
        self._decide(record)
        self._feed.publish(record)
        self._waiting.tell(record)
        self._changed()

    def _decide(self, record: Record) -> None:
        """What the record means for restarts, said in the log."""
        match self._course.see(record):
            case Due(wait=wait, attempt=attempt):
                logger.warning("Restart {} in a row begins in {:.1f} s.", attempt, wait)
            case GiveUp(sentence=sentence):
                logger.error("No restart: {}", sentence)
            case None:
                pass
        self._restarter.wake()

    def _changed(self) -> None:
        """Wake those who wait for something that no single record brings."""
        if self._news.statistics().tasks_waiting:
            self._news.set()
            self._news = anyio.Event()

    # What can be seen.

    @property
    def state(self) -> State:
        """The newest incarnation's state."""
        return self._incarnation.lifecycle.state

    @property
    def journal(self) -> Path | None:
        """The first file of its journal; ``None`` if it keeps none."""
        return self._recorder.path if self._recorder is not None else None

    @property
    def cause(self) -> FailureCause | None:
        """Why the newest incarnation failed, if it did. Provisional until it is settled."""
        return self._incarnation.lifecycle.facts.cause

    def snapshot(self) -> Snapshot:
        """Where everything stands now."""
        incarnation = self._incarnation
        facts = incarnation.lifecycle.facts
        return Snapshot(
            state=incarnation.lifecycle.state,
            incarnation=facts.incarnation,
            seq=self._feed.next_seq - 1,
            at=self._clock.now(),
            since=self._since,
            activity=facts.activity,
            done=facts.done,
            total=facts.total,
            process=facts.process,
            pid=incarnation.pid,
            settled=facts.settled,
            cause=facts.cause,
            requests=incarnation.lifecycle.requests,
            model=self._model,
            context=incarnation.context,
            gauge=incarnation.gauge,
            versions=incarnation.versions,
            restart=self._course.status(self._clock.now()),
        )

    def changes(self, since: int | None = None) -> Changes:
        """Records as they come, from record number ``since`` on, or from the next one.

        Ends when the supervisor is left. See ``Changes`` for what a slow reader gets.

        Raises:
            ValueError: for a ``since`` that is negative or has yet to come.
        """
        start = self._feed.next_seq if since is None else since
        if not 0 <= start <= self._feed.next_seq:
            raise ValueError(f"since must be from 0 to {self._feed.next_seq}; {since} was given.")
        return Changes(self._feed, start)

    async def wait_for(self, state: State, timeout: float | None = None) -> Record:  # noqa: ASYNC109
        """Wait until the runner is, or has been since this call, in a state; give the record that brought it there.

        ``Failed`` and ``Shutdown`` count once they are settled. Cancelling it changes nothing.

        Args:
            state: the state.
            timeout: seconds to wait; ``None`` for as long as it takes.

        Raises:
            RunnerFailed: when the incarnation is over and the state can't come any more.
            TimeoutError: when the time is over.
        """
        with anyio.fail_after(timeout):
            return await self._waiting.wait(state)

    async def ready(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait until the model answers, through restarts of the policy's. Cancelling it changes nothing.

        Unlike ``wait_for(State.RUNNING)`` it does not end with an incarnation if another one is to follow by itself.

        Args:
            timeout: seconds to wait; ``None`` for as long as it takes.

        Raises:
            RunnerFailed: when the incarnation is over and no other follows by itself.
            CommandRefused: when the policy restarted the runner and its model can't be loaded again.
            TimeoutError: when the time is over.
        """
        with anyio.fail_after(timeout):
            await anyio.lowlevel.checkpoint()
            while not self._serving:
                incarnation, course = self._incarnation, self._course
                if incarnation.over and course.due is None:
                    raise self._failed(incarnation)
                if course.gave_up and self.state is State.IDLE:
                    raise CommandRefused("load", course.gave_up, self.state)
                await self._news.wait()

    @property
    def _serving(self) -> bool:
        return self.state is State.RUNNING and self._incarnation.lifecycle.facts.activity is Activity.SERVING

    # Verbs.

    async def load(self) -> Record:
        """Load the model and wait until it answers; give the record that made it ``Running``.

        A model that is not on this machine is fetched first, and each is checked before the process is asked to load it; the
        state stays ``Idle`` meanwhile. Cancelling the wait leaves a load that has begun running.

        Raises:
            CommandRefused: if the model is missing, damaged or of an unknown kind, and in every state but ``Idle``.
            RunnerFailed: if the runner fails before the model answers.
        """
        incarnation = self._incarnation
        if self.state is State.IDLE:
            incarnation.directory = await self._prepare()
            if incarnation is not self._current or incarnation.lifecycle.state in (State.FAILED, State.SHUTDOWN):
                await incarnation.settled.wait()
                raise self._failed(incarnation)
        with self._waiting.register(State.RUNNING) as waiter:
            self._command(incarnation.post(Load(model=self._model, **incarnation.stamp)), "load")
            return await waiter.wait()

    async def _prepare(self) -> str:
        try:
            return str(await self._locate(self._model, self._progress))
        except ModelError as error:
            raise CommandRefused("load", f"{error.sentence} {error.remedy}", self.state) from error

    async def unload(self) -> Record | None:
        """Close admission, let requests finish (cancel them when that takes too long), and give the memory back.

        Gives the record that made it ``Idle``, or ``None`` if there was nothing to unload. Cancelling the wait leaves the
        unload running.

        Raises:
            CommandRefused: in ``Loading``, ``Failed`` and ``Shutdown``.
            RunnerFailed: if the runner fails meanwhile.
        """
        incarnation = self._incarnation
        with self._waiting.register(State.IDLE) as waiter:
            step = self._command(incarnation.post(Unload(**incarnation.stamp)), "unload")
            if step.record.dest is State.IDLE:
                return None
            return await waiter.wait()

    def generate(
        self,
        prompt: str | Sequence[Mapping[str, str]],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        raw: bool = False,
    ) -> Generation:
        """Submit a request at once, and give the answer on its way.

        Args:
            prompt: a question, or the turns of a conversation, each with ``role`` and ``content``.
            max_tokens: most tokens of the answer; what the context does not hold is not generated.
            temperature: 0 takes the likeliest token.
            top_p: tokens are drawn from the smallest set that has this probability, more than 0 and at most 1.
            seed: makes what is drawn repeatable.
            stop: strings before which the answer ends.
            raw: whether a ``prompt`` that is a string goes to the model as it is, without the chat template.

        Raises:
            CommandRefused: if the runner is not ``Running``, if too many requests wait, or if an argument makes no sense. No
                request was made then.
        """
        incarnation = self._incarnation
        request = self._next_request
        message = message_for(
            request,
            prompt,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
            stop=stop,
            raw=raw,
        )
        try:
            frame = encode(message)
        except FrameError as error:
            raise CommandRefused("generate", f"the prompt is too long. {error}") from error
        if len(incarnation.lifecycle.requests) >= self._settings.max_requests:
            raise CommandRefused(
                "generate", f"{self._settings.max_requests} requests wait already; try again later.", self.state
            )
        if not incarnation.has_room_for(len(frame)):
            raise CommandRefused("generate", "the worker does not take its messages; try again later.", self.state)
        stream = Stream(request, self._clock.now, incarnation.grant)
        incarnation.accept(stream, message, len(frame))
        digest = hashlib.sha256(frame).hexdigest()[:16]
        try:
            self._command(
                incarnation.post(Submit(request=request, prompt_digest=digest, **incarnation.stamp)), "generate"
            )
        except CommandRefused:
            incarnation.forget(request)
            raise
        self._next_request += 1
        if self._recorder is not None:
            self._recorder.said(request, "prompt", _as_text(prompt))
        return Generation(stream, self.cancel, incarnation.drop)

    def cancel(self, request: int) -> None:
        """Ask for the end of a request, without waiting for it. One that has ended is left as it is.

        Raises:
            CommandRefused: if there never was such a request.
        """
        incarnation = self._incarnation
        self._command(incarnation.post(Cancel(request=request, **incarnation.stamp)), "cancel")

    async def restart(self) -> None:
        """Begin the next incarnation: a new process, without a model. Waits for the end of a clean-up under way.

        Raises:
            CommandRefused: if this incarnation is alive, another restart came first, or the supervisor is being left.
            ProcessUnkillable: if the process of this one could not be ended.
        """
        incarnation = self._incarnation
        if self.state in (State.FAILED, State.SHUTDOWN):
            await self._gone(incarnation)
        async with self._changing:
            if self._leaving:
                raise CommandRefused("restart", "the supervisor is being left.", self.state)
            if incarnation is not self._current:
                raise CommandRefused("restart", "another restart() came first.", self.state)
            if not incarnation.over:
                self._command(incarnation.post(Restart(**incarnation.stamp)), "restart")
            await self._begin(incarnation)

    async def shutdown(self) -> Record:
        """End the incarnation: drain, ask, terminate, kill; give the last record. Returns once nothing of it is left.

        Allowed in every state, any number of times; it joins a clean-up under way. Cancelling the wait leaves it going on.

        Raises:
            ProcessUnkillable: if the process could not be ended.
        """
        incarnation = self._incarnation
        incarnation.post(Shutdown(**incarnation.stamp))
        await self._gone(incarnation)
        return self._waiting.entered

    async def _gone(self, incarnation: Incarnation) -> None:
        await incarnation.closed.wait()
        if incarnation.unkillable:
            raise ProcessUnkillable(incarnation.pid)

    def _command(self, step: Step, name: str) -> Step:
        if step.refused:
            raise CommandRefused(name, step.record.why, step.record.source)
        return step

    def _failed(self, incarnation: Incarnation) -> RunnerFailed:
        facts = incarnation.lifecycle.facts
        return RunnerFailed(facts.cause, incarnation.lifecycle.state, facts.incarnation)


def _for_journal(model: str, settings: Settings, policy: RestartPolicy) -> dict[str, bool | int | float | str | None]:
    restart = {f"restart_{name}": value for name, value in msgspec.structs.asdict(policy).items()}
    return {"model": mask(model), **msgspec.structs.asdict(settings), **restart}


def _as_text(prompt: str | Sequence[Mapping[str, str]]) -> str:
    return prompt if isinstance(prompt, str) else msgspec.json.encode([dict(turn) for turn in prompt]).decode()
