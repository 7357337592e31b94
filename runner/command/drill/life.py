"""One case of a drill: a supervisor with one fault, driven to the moment of it, and what was seen from outside."""

import contextlib
import os
import time

import anyio
import msgspec

from fsm import Announce, Record, RequestState, Spawned, State
from runner.command.drill.death_watch import DeathWatch
from runner.command.drill.expected import Moment
from runner.command.drill.plan import Case, conditions
from runner.errors import CommandRefused, ProcessUnkillable, RequestCancelled, RequestFailed, RunnerFailed
from runner.feed import Changes, Missed
from runner.journal.journal import Journal
from runner.process.cgroup import find_tree, shared_oom_kills
from runner.process.procfs import members
from runner.supervisor import RunnerSupervisor

CASE_S = 90.0  # a net under a supervisor that never comes to an end; the deadlines of the cases add up to far less
CANCEL_AFTER_S = 0.2  # from the start of a request to its cancel: by then the fault has come
GONE_S = 0.5  # for what was killed to be gone; SIGKILL takes effect when the kernel gets to it

TOKENS = 400  # of an answer: more than there is credit for, and it takes a while

_TOLD = (RunnerFailed, RequestFailed, RequestCancelled, CommandRefused, ProcessUnkillable)
"""How a caller learns of what happened. What it was is read from the records."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a case."""

    fault: str
    phase: Moment
    state: State
    kind: str
    certainty: str
    announcements: int
    counted_from: str
    """``death`` of the child, ``trigger`` (the event that failed or ended the runner), or empty."""
    milliseconds: float | None
    """To the announcement. A death counts from the kernel's notice, to the supervisor or to an independent watch, whichever
    of the two was sooner on its feet."""
    left_over: list[int] | None
    """Processes of the child's session; ``None`` where the system does not tell."""
    expected: str
    problems: list[str]
    sentence: str = ""

    @property
    def ok(self) -> bool:
        """Whether all is as it must be."""
        return not self.problems


class Story:
    """What was seen of a life while it went on."""

    def __init__(self) -> None:
        self.clock_ahead = anyio.current_time() - time.monotonic()
        """Of the event loop's clock, on which records are timed, before the system's. Trio counts from where it likes."""
        self.pid = 0
        self.watched = False
        self.announcements = 0
        self.announced_at = 0.0
        """When one who follows the records learnt of the end, in seconds of the system's monotonic clock."""
        self.announced: Record | None = None
        """The record that settled it."""
        self.missed = 0
        self.trigger: Record | None = None
        """The record that began the end."""
        self.last: Record | None = None
        self.taken_up = anyio.Event()
        """Set when the worker begins with a request."""

    async def follow(self, changes: Changes, watch: DeathWatch) -> None:
        """Read the records to their end."""
        async for record in changes:
            if isinstance(record, Missed):
                self.missed += record.count
                continue
            if any(isinstance(effect, Announce) for effect in record.effects):
                self.announcements += 1
                self.announced_at = time.monotonic()
                self.announced = record
            if isinstance(record.event, Spawned):
                self.pid = record.event.pid
                self.watched = await watch.follow(self.pid)
            if any(change.dest is RequestState.PREFILL for change in record.requests):
                self.taken_up.set()
            if record.dest in (State.FAILED, State.SHUTDOWN) and record.source is not record.dest:
                self.trigger = record
            self.last = record


async def live(case: Case, watch: DeathWatch, journal: Journal | None = None) -> Result:
    """Live through a case. Cancelling it leaves no process."""
    wanted = conditions(case)
    story = Story()
    timely = False
    reached = State.IDLE
    async with anyio.create_task_group() as tasks:
        with contextlib.suppress(ProcessUnkillable):
            async with RunnerSupervisor(
                "tiny", settings=wanted.settings, faults=[wanted.fault], journal=journal
            ) as runner:
                tasks.start_soon(story.follow, runner.changes(since=0), watch)
                with anyio.move_on_after(CASE_S), contextlib.suppress(*_TOLD):
                    await _drive(runner, case.moment, story)
                    timely = True
                timely = timely or runner.state in (State.FAILED, State.SHUTDOWN)
                reached = runner.state
    died = await watch.death() if story.watched else None
    left = await _left_over(story.pid)
    return _judge(case, story, reached, died, left, timely=timely)


async def _drive(runner: RunnerSupervisor, moment: Moment, story: Story) -> None:
    await runner.load()
    match moment:
        case Moment.SHUTDOWN:
            await runner.shutdown()
        case Moment.UNLOAD:
            await runner.unload()
            await runner.load()
        case Moment.CANCEL:
            async with runner.generate("Hello", max_tokens=TOKENS):
                await story.taken_up.wait()
                await anyio.sleep(CANCEL_AFTER_S)
            await runner.wait_for(State.FAILED)
        case _:
            with contextlib.suppress(RequestFailed):
                await runner.generate("Hello", max_tokens=TOKENS).result()
            if runner.state is State.RUNNING:
                # What is survived leaves a runner that serves.
                await runner.generate("Hello", max_tokens=4).result()


async def _left_over(pid: int) -> list[int] | None:
    until = anyio.current_time() + GONE_S
    # Nobody tells of the end of a process that is not ours, hence the looking.
    while (left := _members(pid)) and anyio.current_time() < until:  # noqa: ASYNC110
        await anyio.sleep(0.01)
    return left


def _members(pid: int) -> list[int] | None:
    """Processes of the child's session or group; where only the group can be asked, the group stands for who is in it."""
    if not pid:
        return []
    found = members(pid)
    if found is not None:
        return found
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return []
    except PermissionError:
        return None
    return [pid]


def _judge(
    case: Case, story: Story, reached: State, died: float | None, left: list[int] | None, *, timely: bool
) -> Result:
    last, trigger = story.last, story.trigger
    ended = last.dest if last is not None else reached
    # After the last thing that was asked of it the runner is left, which shuts it down: no news of one that survived.
    state = reached if reached in (State.IDLE, State.RUNNING) and ended is State.SHUTDOWN else ended
    cause = last.cause if last is not None and state is State.FAILED else None
    counted_from, milliseconds = "", None
    if trigger is not None and story.announced is not None and state is ended:
        counted_from, milliseconds = _span(story, trigger, story.announced, died)
    expected = case.expected
    problems: list[str] = []
    if not timely:
        problems.append(f"no end came within {CASE_S:g} s")
    if state is not expected.state:
        problems.append(f"ended in {state.value}")
    counted = shared_oom_kills(find_tree()) is not None
    kinds = expected.kinds if counted else expected.kinds | expected.uncounted
    if cause is not None and expected.state is State.FAILED and cause.kind not in kinds:
        problems.append(f"cause is {cause.kind.value}")
    if story.announcements != 1:
        problems.append(f"{story.announcements} announcements")
    if left:
        problems.append(f"processes left: {', '.join(map(str, left))}")
    if story.missed:
        problems.append(f"{story.missed} records were missed by one who reads all the time")
    return Result(
        fault=case.name,
        phase=case.moment,
        state=state,
        kind=cause.kind.value if cause is not None else "",
        certainty=cause.certainty.value if cause is not None else "",
        announcements=story.announcements,
        counted_from=counted_from,
        milliseconds=milliseconds,
        left_over=left,
        expected=str(expected),
        problems=problems,
        sentence=cause.sentence if cause is not None else "",
    )


def _span(story: Story, trigger: Record, settled: Record, died: float | None) -> tuple[str, float | None]:
    """From what could be seen first to the announcement."""
    if trigger.event.trigger == "exited":
        if died is None:
            return "death", None
        return "death", (story.announced_at - min(died, trigger.at - story.clock_ahead)) * 1e3
    return "trigger", (settled.at - trigger.at) * 1e3
