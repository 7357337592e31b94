"""The lifecycle of one incarnation of a runner: the theory, the table, and the little that the table can't hold.

**Theory.** An incarnation is one child process, from before its start until it is reaped and read to its end. It is in one
of five states. What moves it are *commands* (a caller asks: they can be refused) and the *world* (a process, a poll, a clock
tells: it can only be ignored). Every pair of state and trigger is decided by a row below; none raises.

A failure enters ``Failed`` at once but is not final: until ``settled`` comes, a sharper cause may replace the provisional
one. ``settled`` fixes the cause, releases everybody who waits, and makes the state absorbing. ``Shutdown`` is entered at once
too, and until it is settled an out-of-memory or a crash still turns it into ``Failed``: a runner that was told to end and
died of something else has died of something else.

**How to read the table.** From top to bottom; of the rows for one state and trigger the first whose guard holds is taken.
Rows whose id starts with Z drop what is about another incarnation or comes after the end; R rows refuse, N rows ignore, and
both say why. ``sets`` changes facts, ``blames`` takes the event's cause if it is sharper than what is known.

**What is not in the table.** Tokens, beats and polls that find nothing wrong: they change nothing. The lengths of deadlines:
they are settings of the runner; which deadlines run when is the second table, ``WATCHES``. Requests: they have a machine of
their own (``requests.py``); this one owns them and lets them end with it.
"""

import msgspec

from fsm.blame import cause_of
from fsm.checkpoint import Checkpoint, RequestCheckpoint
from fsm.context import GUARDS, Context, Facts
from fsm.effects import (
    Announce,
    AnyEffect,
    Arm,
    Ask,
    Disarm,
    DumpStacks,
    GiveUp,
    Kill,
    Outcome,
    Release,
    SendLoad,
    SendRequest,
    SendUnload,
    Settle,
    Spawn,
    Terminate,
)
from fsm.errors import NotSettled
from fsm.events import (
    AnyEvent,
    Cancel,
    Event,
    LoadProgress,
    RequestDone,
    RequestEnded,
    RequestErred,
    RequestEvent,
    Settled,
    Submit,
    SupervisorLate,
)
from fsm.failure import INCURABLE, Phase, sharper
from fsm.record import Record, RequestChange, Step
from fsm.requests import TABLE as REQUEST_TABLE
from fsm.requests import RequestMachine
from fsm.states import Activity, Deadline, Process, RequestErrorKind, RequestState, State, Verdict
from fsm.table import Holder, Row, Table

IDLE, LOADING, RUNNING, FAILED, SHUTDOWN = (state.value for state in State)
LIVE = (IDLE, LOADING, RUNNING)
ENDING = (FAILED, SHUTDOWN)
EVERY = (*LIVE, *ENDING)

COMMANDS = ("start", "load", "unload", "shutdown", "restart", "submit")
WORLD = (
    "spawned",
    "spawn_failed",
    "hello",
    "load_progress",
    "loaded",
    "unloaded",
    "drained",
    "oom",
    "worker_failed",
    "protocol_broken",
    "exited",
    "hung",
    "supervisor_late",
    "start_timeout",
    "load_timeout",
    "prefill_timeout",
    "decode_timeout",
    "cancel_timeout",
    "unload_timeout",
    "drain_timeout",
    "ask_timeout",
    "terminate_timeout",
    "kill_timeout",
    "bye",
    "settled",
)
"""``drained`` is the one that comes from inside: the last request of this incarnation has ended."""


def _refuse(id: str, source: tuple[str, ...], trigger: str, why: str, guard: str = "") -> Row:
    return Row(id=id, source=source, trigger=(trigger,), guard=guard, verdict=Verdict.REFUSED, why=why)


def _ignore(id: str, source: tuple[str, ...], trigger: str, why: str) -> Row:
    return Row(id=id, source=source, trigger=(trigger,), verdict=Verdict.IGNORED, why=why)


_TO_TERMINATE = {"activity": Activity.TERMINATING}
_TO_KILL = {"activity": Activity.KILLING}
_TO_SETTLE = {"activity": Activity.SETTLING, "process": Process.GONE}

# fmt: off
ROWS: tuple[Row, ...] = (
    # Before all: what can't matter any more.
    Row(id="Z1", source=EVERY, trigger=(*COMMANDS, *WORLD), guard="stale", verdict=Verdict.IGNORED,
        why="It is about another incarnation."),
    Row(id="Z2", source=ENDING, trigger=WORLD, guard="settled", verdict=Verdict.IGNORED,
        why="This incarnation is settled; nothing changes it any more."),

    # The process comes up.
    Row(id="A1", source=(IDLE,), trigger=("start",), guard="absent", sets={"process": Process.SPAWNING}, effects=(Spawn(),),
        why="The process is started ahead of the model."),
    Row(id="A2", source=LIVE, trigger=("start",), why="It is started already; that is what was asked for."),
    Row(id="A3", source=(IDLE, LOADING), trigger=("spawned",), guard="spawning", sets={"process": Process.STARTING},
        why="There is a process; it has yet to say hello."),
    Row(id="A4", source=(IDLE, LOADING), trigger=("spawn_failed",), guard="spawning", dest=FAILED, blames=True, sets=_TO_SETTLE,
        effects=(Settle(),), why="Without a process there is nothing to wait for."),
    Row(id="A5", source=(IDLE, LOADING), trigger=("hello",), guard="other protocol", dest=FAILED, blames=True,
        sets=_TO_TERMINATE, effects=(Terminate(),), why="Nothing it says could be trusted."),
    Row(id="A6", source=(IDLE,), trigger=("hello",), guard="coming", sets={"process": Process.UP}, why="The worker is up and reads."),
    Row(id="A7", source=(LOADING,), trigger=("hello",), guard="coming", sets={"process": Process.UP}, effects=(SendLoad(),),
        why="The load was asked for while the process was on its way."),
    Row(id="A8", source=(IDLE, LOADING), trigger=("start_timeout",), guard="coming", dest=FAILED, blames=True,
        sets=_TO_TERMINATE, effects=(DumpStacks(), Terminate()), why="No hello came."),

    # A model comes and goes.
    Row(id="L1", source=(IDLE,), trigger=("load",), guard="absent", dest=LOADING,
        sets={"process": Process.SPAWNING, "activity": Activity.IMPORTING}, effects=(Spawn(),), why="The load starts the process."),
    Row(id="L2", source=(IDLE,), trigger=("load",), guard="coming", dest=LOADING, sets={"activity": Activity.IMPORTING},
        why="The load waits for the worker's hello."),
    Row(id="L3", source=(IDLE,), trigger=("load",), dest=LOADING, sets={"activity": Activity.IMPORTING}, effects=(SendLoad(),),
        why="The worker is up."),
    Row(id="L4", source=(LOADING,), trigger=("load_progress",), guard="up", effects=(Arm(Deadline.LOAD),),
        why="Progress, however slow, is not a hang."),
    Row(id="L5", source=(LOADING,), trigger=("loaded",), guard="up", dest=RUNNING,
        sets={"activity": Activity.SERVING, "done": 0, "total": 0}, why="The model answers."),
    Row(id="L6", source=(LOADING,), trigger=("load_timeout",), guard="up", dest=FAILED, blames=True, sets=_TO_TERMINATE,
        effects=(DumpStacks(), Terminate()), why="The load stands still, or spent its budget."),
    Row(id="L7", source=(IDLE,), trigger=("unload",), why="There is no model; that is what was asked for."),
    Row(id="L8", source=(RUNNING,), trigger=("unload",), guard="serving, requests", sets={"activity": Activity.DRAINING},
        why="Admission closes; requests under way may finish."),
    Row(id="L9", source=(RUNNING,), trigger=("unload",), guard="serving", sets={"activity": Activity.UNLOADING},
        effects=(SendUnload(),), why="There is no request to wait for."),
    Row(id="L10", source=(RUNNING,), trigger=("unload",), why="It joins the unload under way."),
    Row(id="L11", source=(RUNNING,), trigger=("drained",), guard="emptying", sets={"activity": Activity.UNLOADING},
        effects=(SendUnload(),), why="The last request has ended."),
    Row(id="L12", source=(RUNNING,), trigger=("drain_timeout",), guard="draining", sets={"activity": Activity.CANCELLING},
        why="What is left is cancelled."),
    Row(id="L13", source=(RUNNING,), trigger=("unloaded",), guard="unloading", dest=IDLE, sets={"activity": Activity.NONE},
        why="The worker gave the memory back; the process stays."),

    # Requests come in. What becomes of them is the request machine's.
    Row(id="B1", source=(RUNNING,), trigger=("submit",), guard="id used", verdict=Verdict.REFUSED,
        why="an id is never used twice; take a higher one."),
    Row(id="B2", source=(RUNNING,), trigger=("submit",), guard="serving", why="Accepted: it will get exactly one outcome."),

    # It fails. First whatever proves an out-of-memory: it holds in a shutdown too.
    Row(id="F0", source=(IDLE,), trigger=("oom", "worker_failed", "protocol_broken", "hung"), guard="absent", dest=FAILED,
        blames=True, sets=_TO_SETTLE, effects=(Settle(),), why="It failed, and there is no process to end."),
    Row(id="F1", source=LIVE, trigger=("oom",), dest=FAILED, blames=True, sets=_TO_TERMINATE, effects=(Terminate(),),
        why="The device may be poisoned even where the process lives."),
    Row(id="F2", source=(SHUTDOWN,), trigger=("oom",), guard="not signalled", dest=FAILED, blames=True, sets=_TO_TERMINATE,
        effects=(Terminate(),), why="An out-of-memory outranks the shutdown; there is nothing left to drain or ask."),
    Row(id="F3", source=(SHUTDOWN,), trigger=("oom",), dest=FAILED, blames=True,
        why="An out-of-memory outranks the shutdown; the process is on its way out already."),
    Row(id="F4", source=(FAILED,), trigger=("oom",), blames=True, why="An out-of-memory is the sharpest cause."),
    Row(id="F5", source=LIVE, trigger=("worker_failed",), dest=FAILED, blames=True, sets=_TO_TERMINATE, effects=(Terminate(),),
        why="The worker says that it can't go on."),
    Row(id="F6", source=ENDING, trigger=("worker_failed",), blames=True,
        why="The worker's word is sharper than what was seen from outside; in a shutdown it counts if a crash follows."),
    Row(id="F7", source=LIVE, trigger=("protocol_broken",), dest=FAILED, blames=True, sets=_TO_TERMINATE, effects=(Terminate(),),
        why="Nothing it says could be trusted."),
    Row(id="F8", source=LIVE, trigger=("hung",), dest=FAILED, blames=True, sets=_TO_KILL, effects=(DumpStacks(), Kill()),
        why="A process that does not run can't end by itself."),
    Row(id="F9", source=(RUNNING,), trigger=("prefill_timeout", "decode_timeout", "cancel_timeout", "unload_timeout"), dest=FAILED,
        blames=True, sets=_TO_TERMINATE, effects=(DumpStacks(), Terminate()), why="It beats and yet makes no progress."),

    # Nothing is wrong but the supervisor's own clock.
    Row(id="C1", source=EVERY, trigger=("supervisor_late",), why="Every span begins anew: the time that passed is not the worker's."),

    # The process ends.
    Row(id="X1", source=LIVE, trigger=("exited",), dest=FAILED, blames=True, sets=_TO_SETTLE, effects=(Settle(),),
        why="Nobody asked it to end; code 0 is no excuse."),
    Row(id="X2", source=ENDING, trigger=("exited",), guard="gone", verdict=Verdict.IGNORED, why="A process ends once."),
    Row(id="X3", source=(SHUTDOWN,), trigger=("exited",), guard="crashed", dest=FAILED, blames=True, sets=_TO_SETTLE,
        effects=(Settle(),), why="It was told to end and died of something else."),
    Row(id="X4", source=(SHUTDOWN,), trigger=("exited",), sets=_TO_SETTLE, effects=(Settle(),), why="It ended as it was told to."),
    Row(id="X5", source=(FAILED,), trigger=("exited",), sets=_TO_SETTLE, effects=(Settle(),),
        why="It is gone; its last words are read now."),

    # It is told to end: drain, ask, terminate, kill; and the same ladder, from its third rung, for what failed.
    Row(id="S1", source=(IDLE,), trigger=("shutdown",), guard="absent", dest=SHUTDOWN, sets=_TO_SETTLE, effects=(Settle(),),
        why="There is no process to end."),
    Row(id="S2", source=(IDLE, LOADING), trigger=("shutdown",), guard="spawning", dest=SHUTDOWN, sets=_TO_KILL,
        why="The process is ended as soon as it is there."),
    Row(id="S3", source=(IDLE, LOADING), trigger=("shutdown",), guard="starting", dest=SHUTDOWN, sets=_TO_TERMINATE, effects=(Terminate(),),
        why="A worker that does not read yet can't be asked."),
    Row(id="S4", source=(RUNNING,), trigger=("shutdown",), guard="drainable", dest=SHUTDOWN, sets={"activity": Activity.DRAINING},
        why="Requests under way may finish."),
    Row(id="S5", source=LIVE, trigger=("shutdown",), dest=SHUTDOWN, sets={"activity": Activity.ASKING}, effects=(Ask(),),
        why="The worker lets go of its memory before it ends."),
    Row(id="S6", source=ENDING, trigger=("shutdown",), why="It joins the clean-up under way, or finds it done."),
    Row(id="S7", source=(SHUTDOWN,), trigger=("drained",), guard="draining", sets={"activity": Activity.ASKING}, effects=(Ask(),),
        why="The last request has ended."),
    Row(id="S8", source=(SHUTDOWN,), trigger=("drain_timeout",), guard="draining", sets={"activity": Activity.ASKING}, effects=(Ask(),),
        why="Enough waited; the worker cancels what is left."),
    Row(id="S9", source=(SHUTDOWN,), trigger=("ask_timeout",), guard="asking", sets=_TO_TERMINATE, effects=(Terminate(),),
        why="It did not end by itself."),
    Row(id="S10", source=ENDING, trigger=("terminate_timeout",), guard="terminating", sets=_TO_KILL, effects=(Kill(),),
        why="It did not heed SIGTERM."),
    Row(id="S11", source=ENDING, trigger=("kill_timeout",), guard="killing", sets={"activity": Activity.SETTLING}, effects=(GiveUp(),),
        why="Even SIGKILL did not end it: that is an answer, not a reason to wait for ever."),
    Row(id="S12", source=(SHUTDOWN,), trigger=("bye",), sets={"bye": True}, why="It let go of everything; the exit follows."),
    Row(id="S13", source=ENDING, trigger=("spawned",), guard="spawning",
        sets={"process": Process.STARTING, "activity": Activity.KILLING}, effects=(Kill(),), why="It came to be after it was told to end."),
    Row(id="S14", source=ENDING, trigger=("spawn_failed",), guard="spawning", sets=_TO_SETTLE, effects=(Settle(),),
        why="There is no process to end."),

    # It is over.
    Row(id="E1", source=(FAILED,), trigger=("settled",), sets={"settled": True, "activity": Activity.NONE}, blames=True,
        effects=(Announce(),), why="The cause is fixed; everybody who waits is told."),
    Row(id="E2", source=(SHUTDOWN,), trigger=("settled",), guard="oom seen", dest=FAILED,
        sets={"settled": True, "activity": Activity.NONE}, blames=True, effects=(Announce(),),
        why="What it left behind shows an out-of-memory: that is how it ended."),
    Row(id="E3", source=(SHUTDOWN,), trigger=("settled",), effects=(Announce(),),
        sets={"settled": True, "activity": Activity.NONE, "cause": None}, why="It ended as it was told to."),
    Row(id="E4", source=ENDING, trigger=("restart",), guard="settled", why="This incarnation is over; the next may begin."),

    # Commands that a state does not allow.
    _refuse("R1", ENDING, "start", "this incarnation has ended; restart() begins the next."),
    _refuse("R2", (LOADING,), "load", "a load is under way; wait for it with wait_for(State.RUNNING)."),
    _refuse("R3", (RUNNING,), "load", "a model is loaded; unload() it first."),
    _refuse("R4", ENDING, "load", "this incarnation has ended; restart() begins the next."),
    _refuse("R5", (LOADING,), "unload", "the model is not loaded yet; wait for it, or shutdown()."),
    _refuse("R6", ENDING, "unload", "this incarnation has ended, and its model with it."),
    _refuse("R7", LIVE, "restart", "this incarnation is alive; shutdown() it first."),
    _refuse("R8", ENDING, "restart", "this incarnation is still being cleaned up; wait until it is settled."),
    _refuse("R9", (RUNNING,), "submit", "the model is being unloaded; load() it again first."),
    _refuse("R10", (IDLE,), "submit", "no model is loaded; load() one first."),
    _refuse("R11", (LOADING,), "submit", "the model is still loading; wait for it with wait_for(State.RUNNING)."),
    _refuse("R12", ENDING, "submit", "this incarnation has ended; restart() begins the next."),

    # What the world tells and this state has no use for.
    _ignore("N1", EVERY, "spawned", "There is a process already, or none was asked for."),
    _ignore("N2", EVERY, "spawn_failed", "No process was being started."),
    _ignore("N3", EVERY, "hello", "It is known to be up, or on its way out."),
    _ignore("N4", EVERY, "load_progress", "No load is under way."),
    _ignore("N5", EVERY, "loaded", "No load is under way; a late word does not bring a runner back."),
    _ignore("N6", EVERY, "unloaded", "No unload was asked for, or requests are still under way."),
    _ignore("N7", EVERY, "drained", "Nothing waits for the last request."),
    _ignore("N8", ENDING, "protocol_broken", "It is on its way out."),
    _ignore("N9", ENDING, "hung", "It is on its way out; the ladder has its own deadlines."),
    _ignore("N10", EVERY, "start_timeout", "It is up, or no start is under way."),
    _ignore("N11", EVERY, "load_timeout", "No load is under way."),
    _ignore("N12", (IDLE, LOADING, FAILED, SHUTDOWN), "prefill_timeout", "No request can be under way, or its end is near."),
    _ignore("N13", (IDLE, LOADING, FAILED, SHUTDOWN), "decode_timeout", "No request can be under way, or its end is near."),
    _ignore("N14", (IDLE, LOADING, FAILED, SHUTDOWN), "cancel_timeout", "No request can be under way, or its end is near."),
    _ignore("N15", (IDLE, LOADING, FAILED, SHUTDOWN), "unload_timeout", "No unload is under way."),
    _ignore("N16", EVERY, "drain_timeout", "Nothing is being drained."),
    _ignore("N17", EVERY, "ask_timeout", "It was not asked, or a later rung is under way."),
    _ignore("N18", EVERY, "terminate_timeout", "No SIGTERM was sent, or a later rung is under way."),
    _ignore("N19", EVERY, "kill_timeout", "No SIGKILL was sent, or it is gone."),
    _ignore("N20", (IDLE, LOADING, RUNNING, FAILED), "bye", "Nobody asked it to end; its exit will tell."),
    _ignore("N21", LIVE, "settled", "The process is not known to have ended."),
)
# fmt: on
"""All rules of the lifecycle."""

TABLE = Table(
    ROWS,
    states=tuple(state.value for state in State),
    triggers=(*COMMANDS, *WORLD),
    guards=GUARDS,
    facts=Facts,
)


class Watch(msgspec.Struct, frozen=True):
    """One rule of when a deadline runs."""

    deadline: Deadline
    states: tuple[str, ...]
    guard: str
    why: str


WATCHES: tuple[Watch, ...] = (
    Watch(Deadline.START, (IDLE, LOADING), "coming", "A process that never says hello."),
    Watch(Deadline.LOAD, (LOADING,), "up", "A load that stands still."),
    Watch(Deadline.PREFILL, (RUNNING,), "prefilling", "A prompt that stands still, or a worker that takes nothing up."),
    Watch(Deadline.DECODE, (RUNNING,), "decoding", "An answer that stands still."),
    Watch(Deadline.CANCEL, (RUNNING,), "cancelling", "A cancel that is not honoured."),
    Watch(Deadline.UNLOAD, (RUNNING,), "unloading", "A worker that does not let go."),
    Watch(Deadline.DRAIN, (RUNNING, SHUTDOWN), "draining", "Requests that do not finish."),
    Watch(Deadline.ASK, (SHUTDOWN,), "asking", "A worker that does not end when asked."),
    Watch(Deadline.TERMINATE, ENDING, "terminating", "A process that does not heed SIGTERM."),
    Watch(Deadline.KILL, ENDING, "killing", "A process that can't be killed."),
)
"""Which deadlines run when. A deadline is armed when its rule begins to hold and disarmed when it ceases to."""

_LOAD_STEPS = {step.value: step for step in (Activity.IMPORTING, Activity.WEIGHTS, Activity.WARM_UP)}

_PROGRESS = frozenset({Deadline.PREFILL, Deadline.DECODE})
"""Re-armed by whatever any request gets done: one stuck request among busy ones is not a stuck runner."""


class Lifecycle:
    """One incarnation. Give it events, in the order in which they were seen; do what the steps say.

    Args:
        incarnation: its number.
        next_request: ids of requests below this are taken.
        next_seq: number of the first record.
    """

    def __init__(self, *, incarnation: int = 1, next_request: int = 1, next_seq: int = 0) -> None:
        self._holder = Holder(IDLE)
        self._facts = Facts(incarnation)
        self._requests: dict[int, RequestMachine] = {}
        self._counts: dict[RequestState, int] = dict.fromkeys(RequestState, 0)
        self._cancelling: list[int] = []
        self._first_request = next_request
        self._last_request = next_request - 1
        self._next_seq = next_seq
        self._watched: frozenset[Deadline] = frozenset()

    @property
    def state(self) -> State:
        """Where it is."""
        return State(self._holder.state)

    @property
    def facts(self) -> Facts:
        """What stands beside the state."""
        return self._facts

    @property
    def requests(self) -> dict[int, RequestState]:
        """The requests that have not ended, by id. A copy."""
        return {request: machine.state for request, machine in self._requests.items()}

    def was_accepted(self, request: int) -> bool:
        """Whether this incarnation ever accepted a request of this id, ended or not."""
        return self._first_request <= request <= self._last_request

    @property
    def next_seq(self) -> int:
        """Number of the record that comes next."""
        return self._next_seq

    @property
    def watched(self) -> frozenset[Deadline]:
        """The deadlines that run."""
        return self._watched

    @property
    def phase(self) -> Phase:
        """What it is doing, in the words of a cause."""
        match self.state:
            case State.IDLE:
                return Phase.IDLE if self._facts.process is Process.UP else Phase.START
            case State.LOADING if self._facts.process is not Process.UP:
                return Phase.START
            case State.LOADING:
                return Phase.WARMUP if self._facts.activity is Activity.WARM_UP else Phase.LOAD
            case State.RUNNING:
                return self._running_phase()
            case State.FAILED:
                return self._facts.cause.phase if self._facts.cause is not None else Phase.UNKNOWN
            case State.SHUTDOWN:
                return Phase.SHUTDOWN

    def _running_phase(self) -> Phase:
        if self._facts.activity is Activity.UNLOADING:
            return Phase.UNLOAD
        states = {machine.state for machine in self._requests.values()}
        if RequestState.PREFILL in states:
            return Phase.PREFILL
        return Phase.DECODE if RequestState.DECODE in states else Phase.IDLE

    def next_incarnation(self) -> "Lifecycle":
        """The machine of the next incarnation: idle, without a process, with the numbers going on.

        Raises:
            NotSettled: if this incarnation is not over.
        """
        if not self._facts.settled:
            raise NotSettled(f"Incarnation {self._facts.incarnation} is {self.state.value} and not settled.")
        return Lifecycle(
            incarnation=self._facts.incarnation + 1, next_request=self._last_request + 1, next_seq=self._next_seq
        )

    @property
    def checkpoint(self) -> Checkpoint:
        """Where it stands, as a value."""
        return Checkpoint(
            state=self.state,
            facts=self._facts,
            requests=tuple(RequestCheckpoint(request, machine.state) for request, machine in self._requests.items()),
            cancelling=tuple(self._cancelling),
            first_request=self._first_request,
            last_request=self._last_request,
            next_seq=self._next_seq,
        )

    @classmethod
    def resume(cls, checkpoint: Checkpoint) -> "Lifecycle":
        """A machine that stands where ``checkpoint`` was taken, and makes the same steps from there."""
        life = cls(
            incarnation=checkpoint.facts.incarnation,
            next_request=checkpoint.first_request,
            next_seq=checkpoint.next_seq,
        )
        life._holder = Holder(checkpoint.state.value)
        life._facts = checkpoint.facts
        life._last_request = checkpoint.last_request
        for request in checkpoint.requests:
            life._requests[request.request] = RequestMachine(
                request.request, request.state, cancelling=request.request in checkpoint.cancelling
            )
            life._counts[request.state] += 1
        life._cancelling = list(checkpoint.cancelling)
        life._watched = life._wanted(life._context(SupervisorLate(incarnation=0, at=0.0, late_s=0.0)))
        return life

    def handle(self, event: AnyEvent) -> Step:
        """Take one event and say what it came to. Never raises for an event, whatever it is and whenever it comes."""
        source = self.state
        longest = self._cancelling[:1]
        if isinstance(event, RequestEvent | Cancel):
            rows, verdict, changes, effects, why = self._handle_request(event)
        else:
            rows, verdict, changes, effects, why = self._handle_lifecycle(event)
        if verdict not in (Verdict.REFUSED, Verdict.IGNORED):
            effects += self._rewatch(event, cancelled=self._cancelling[:1] != longest)
        facts = self._facts
        record = Record(
            seq=self._next_seq,
            incarnation=facts.incarnation,
            event=event,
            verdict=verdict,
            rows=rows,
            source=source,
            dest=self.state,
            process=facts.process,
            activity=facts.activity,
            done=facts.done,
            total=facts.total,
            settled=facts.settled,
            cause=facts.cause,
            requests=changes,
            effects=effects,
            why=why,
        )
        self._next_seq += 1
        return Step(record)

    def _handle_lifecycle(self, event: AnyEvent) -> "_Outcome":
        before = self.phase
        row = TABLE.fire(self._holder, event.trigger, self._context(event))
        if row.verdict in (Verdict.REFUSED, Verdict.IGNORED):
            return (row.id,), row.verdict, (), (), row.why
        activity = self._facts.activity
        self._facts = self._facts_after(row, event, before)
        rows, effects, changes = (row.id,), row.effects, ()
        if isinstance(event, Submit):
            changes, effects = self._accept(event)
        elif self._facts.activity is Activity.CANCELLING and activity is not Activity.CANCELLING:
            changes, effects = self._fire_all("cancel", event)
            rows, effects = self._drained(event, rows, effects)
        elif row.sets.get("settled"):
            trigger = "incarnation_failed" if self.state is State.FAILED else "incarnation_shutdown"
            changes, released = self._fire_all(trigger, event)
            effects = (*released, *effects)
        return rows, Verdict.MOVED if row.dest else Verdict.STAYED, changes, effects, row.why if not row.dest else ""

    def _handle_request(self, event: RequestEvent | Cancel) -> "_Outcome":
        if event.incarnation != self._facts.incarnation:
            row = ROWS[0]
            return (row.id,), Verdict.IGNORED, (), (), row.why
        machine = self._requests.get(event.request)
        if machine is None:
            return self._about_no_request(event)
        change, effects, row = self._fire_request(event.request, machine, event.trigger, event)
        rows: tuple[str, ...] = (row.id,)
        if row.verdict is Verdict.IGNORED:
            return rows, Verdict.IGNORED, (), (), row.why
        source = self._holder.state
        if not self._requests:
            rows, effects = self._drained(event, rows, effects)
        verdict = Verdict.MOVED if self._holder.state != source else Verdict.STAYED
        return rows, verdict, (change,), effects, ""

    def _about_no_request(self, event: RequestEvent | Cancel) -> "_Outcome":
        """About a request that has ended: its machine is gone, so its table is asked for any ended state."""
        if isinstance(event, Cancel) and event.request > self._last_request:
            return ("R13",), Verdict.REFUSED, (), (), f"there is no request {event.request}."
        row = REQUEST_TABLE.deciding(RequestState.DONE.value, event.trigger)[0]
        return (row.id,), row.verdict, (), (), row.why

    def _context(self, event: Event) -> Context:
        counts = self._counts
        return Context(
            self._facts,
            event,
            counts[RequestState.QUEUED],
            counts[RequestState.PREFILL],
            counts[RequestState.DECODE],
            len(self._cancelling),
            self._last_request,
        )

    def _facts_after(self, row: Row, event: Event, phase: Phase) -> Facts:
        changes = dict(row.sets)
        if row.blames:
            known = sharper(self._facts.cause, cause_of(event, phase))
            if known is not None and known.exit is None and isinstance(event, Settled):
                known = msgspec.structs.replace(known, exit=event.exit)
            changes["cause"] = known
        if isinstance(event, LoadProgress):
            changes |= {
                "activity": _LOAD_STEPS.get(event.step, Activity.WEIGHTS),
                "done": event.done,
                "total": event.total,
            }
        return msgspec.structs.replace(self._facts, **changes) if changes else self._facts

    def _accept(self, event: Submit) -> tuple[tuple[RequestChange, ...], tuple[AnyEffect, ...]]:
        self._requests[event.request] = RequestMachine(event.request)
        self._counts[RequestState.QUEUED] += 1
        self._last_request = event.request
        change = RequestChange(event.request, None, RequestState.QUEUED)
        return (change,), (SendRequest(event.request),)

    def _fire_request(
        self, request: int, machine: RequestMachine, trigger: str, event: Event
    ) -> tuple[RequestChange, tuple[AnyEffect, ...], Row]:
        """One step of one request, with the counts kept and the outcome released if it was the last."""
        source, cancelling = machine.state, machine.cancelling
        row, sends = machine.fire(trigger)
        effects: tuple[AnyEffect, ...] = sends
        dest = machine.state
        if machine.cancelling and not cancelling:
            self._cancelling.append(request)
        elif cancelling and not machine.cancelling:
            self._cancelling.remove(request)
        if dest is not source:
            self._counts[source] -= 1
            if dest.terminal:
                del self._requests[request]
                effects = (*sends, Release(self._outcome(request, dest, event)))
            else:
                self._counts[dest] += 1
        return RequestChange(request, source, dest, machine.cancelling), effects, row

    def _fire_all(self, trigger: str, event: Event) -> tuple[tuple[RequestChange, ...], tuple[AnyEffect, ...]]:
        changes: list[RequestChange] = []
        effects: list[AnyEffect] = []
        for request, machine in list(self._requests.items()):
            change, done, _ = self._fire_request(request, machine, trigger, event)
            changes.append(change)
            effects.extend(done)
        return tuple(changes), tuple(effects)

    def _drained(
        self, event: Event, rows: tuple[str, ...], effects: tuple[AnyEffect, ...]
    ) -> tuple[tuple[str, ...], tuple[AnyEffect, ...]]:
        """If the last request has ended, tell the lifecycle, which may have waited for just that."""
        if self._requests:
            return rows, effects
        row = TABLE.fire(self._holder, "drained", self._context(event))
        if row.verdict is Verdict.IGNORED:
            return rows, effects
        self._facts = msgspec.structs.replace(self._facts, **row.sets)
        return (*rows, row.id), (*effects, *row.effects)

    def _outcome(self, request: int, state: RequestState, event: Event) -> Outcome:
        incarnation = self._facts.incarnation
        match event:
            case RequestDone():
                return Outcome(
                    request=request, state=state, incarnation=incarnation, reason=event.reason, tokens=event.tokens
                )
            case RequestEnded():
                return Outcome(request=request, state=state, incarnation=incarnation, tokens=event.tokens)
            case RequestErred():
                return Outcome(
                    request=request,
                    state=state,
                    incarnation=incarnation,
                    kind=event.kind,
                    message=event.message,
                    tokens=event.tokens,
                )
            case _ if state is RequestState.FAILED:
                cause = self._facts.cause
                return Outcome(
                    request=request,
                    state=state,
                    incarnation=incarnation,
                    kind=RequestErrorKind.RUNNER_FAILED,
                    message="The runner failed."
                    if cause is None
                    else f"The runner failed: {cause.kind.value}. {cause.sentence}",
                    cause=cause,
                    retryable=cause is None or cause.kind not in INCURABLE,
                )
            case _:
                return Outcome(request=request, state=state, incarnation=incarnation)

    def _rewatch(self, event: Event, *, cancelled: bool) -> tuple[AnyEffect, ...]:
        """Arm and disarm what the step changed; re-arm what it got done."""
        wanted = self._wanted(self._context(event))
        before, self._watched = self._watched, wanted
        again: frozenset[Deadline] = frozenset()
        if isinstance(event, SupervisorLate):
            again = wanted
        elif isinstance(event, RequestEvent):
            # The span of a cancel is that of the one that waits longest: others that are honoured do not help it.
            again = _PROGRESS | {Deadline.CANCEL} if cancelled else _PROGRESS
        effects: list[AnyEffect] = [Disarm(deadline) for deadline in Deadline if deadline in before - wanted]
        effects += [
            Arm(deadline)
            for deadline in Deadline
            if deadline in wanted and (deadline not in before or deadline in again)
        ]
        return tuple(effects)

    def _wanted(self, context: Context) -> frozenset[Deadline]:
        state = self._holder.state
        return frozenset(
            watch.deadline for watch in WATCHES if state in watch.states and GUARDS[watch.guard].test(context)
        )


_Outcome = tuple[tuple[str, ...], Verdict, tuple[RequestChange, ...], tuple[AnyEffect, ...], str]
"""Rows taken, verdict, changes of requests, effects, reason."""
