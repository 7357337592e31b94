"""Every state there is: the machine times a small model of the world, walked breadth first.

The world is what the table can't know: whether the process is there, frozen or dead, what killed it, what of its last words is
unread, and who has been told of the end. It is kept hostile. The child says anything at any time; commands, faults, deadlines and
notices come in every order; notices may be late, and words may be lost. What is bounded is the number of requests and of words
that are unread at a death.

Guarantees are checked by whoever calls, on each edge as it is found. Liveness is checked here, since it needs
the whole graph: no fair run stays for ever among states from which the end was due.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from fsm import events as e
from fsm.checkpoint import Checkpoint, RequestCheckpoint
from fsm.effects import Announce, AnyEffect, GiveUp, Kill, Release, Settle, Spawn, Terminate
from fsm.failure import Exit, FailureCause, Kind, Source, cause
from fsm.lifecycle import Lifecycle
from fsm.states import Deadline, Process, RequestErrorKind, State

REQUESTS = 2
"""Requests that are made at most. One can be alone, two can be in different states."""
UNREAD = 1
"""Words of a dead child that are unread at most. A second one finds what the first one left."""

ABSENT, SPAWNING, ALIVE, FROZEN, DEAD, REAPED = "absent", "spawning", "alive", "frozen", "dead", "reaped"


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What is so, whatever the machine knows of it."""

    process: str = ABSENT
    exit: str = ""
    """How it ended: ``code 0``, ``code 1``, ``signal 11``, ``signal 9``, ``our signal``."""
    oom: bool = False
    """The kernel killed it for want of memory. Its counter says so, and is read when the incarnation settles."""
    unread: int = 0
    """Words of the dead child that are yet to be read. What they say is seen when they are."""
    signalled: bool = False
    """A signal of ours is on its way to it."""
    settling: bool = False
    """The end is being read; the answer is due."""
    gave_up: bool = False
    evidence: bool = False
    """Evidence of an out-of-memory reached the machine before it settled."""
    released: tuple[int, ...] = ()
    """Requests whose readers were told, each as often as they were."""
    announced: int = 0


class Node(msgspec.Struct, frozen=True):
    """A machine in a world."""

    machine: Checkpoint
    world: World

    @property
    def settled(self) -> bool:
        """Whether the incarnation is over."""
        return self.machine.facts.settled

    @property
    def due(self) -> bool:
        """Whether its end is due: something died, failed or was told to end."""
        return not self.settled and (
            self.machine.state in (State.FAILED, State.SHUTDOWN) or self.world.process in (DEAD, REAPED)
        )


class Edge(msgspec.Struct, frozen=True):
    """A step of the world, and what the machine made of it."""

    source: Node
    move: str
    fair: bool
    """Whether it happens some time if it can happen all the time: deliveries, notices and deadlines. What users, children and
    faults do is never owed."""
    dest: Node
    rows: tuple[str, ...]
    effects: tuple[AnyEffect, ...]


Way = tuple[int, str]
"""A node, by its number, and the move that is made there."""


class Exploration(msgspec.Struct):
    """All states, the first one first, and how each was first reached."""

    nodes: list[Node]
    parents: list[Way]
    """Of each node but the first, which has its own number there."""
    depths: list[int]
    edges: int
    """How many steps there are between the states."""
    rows: dict[str, Way]
    """Where each row of the table was first taken."""
    among_due: dict[int, list[tuple[int, str]]]
    """For each state whose end is due: to which it leads, by what that is owed (empty for what is not)."""

    def path(self, node: int) -> tuple[str, ...]:
        """A shortest path to a node, as moves."""
        moves: list[str] = []
        while node:
            node, move = self.parents[node]
            moves.append(move)
        return tuple(reversed(moves))

    def path_along(self, way: Way) -> tuple[str, ...]:
        """A shortest path that ends with a move."""
        return (*self.path(way[0]), way[1])

    def stuck(self) -> Iterator[tuple[int, ...]]:
        """Groups of states in which a fair run can stay for ever although the end is due. There should be none."""
        for group in _cycles(self.among_due):
            if not _left_by_fairness(group, self.among_due):
                yield tuple(sorted(group))


def explore(
    *,
    check: Callable[[Edge], None] | None = None,
    see: Callable[[Way, e.AnyEvent], object] | None = None,
    machine: Callable[[Checkpoint], Any] = Lifecycle.resume,
    requests: int = REQUESTS,
    unread: int = UNREAD,
) -> Exploration:
    """Walk every state of the machine in the world, from a fresh start.

    Args:
        check: called with each edge, for a guarantee to be checked on it; it may raise ``Violated``, to which the shortest path
            is added.
        see: called with each step and the event that the machine is given in it, if it is given one.
        machine: makes a machine that stands at a checkpoint; another one stands in to be proved wrong.
        requests: made at most.
        unread: words of a dead child that are unread at most.

    Raises:
        Violated: by ``check``, with the shortest path that leads there.
    """
    return _Walk(machine, requests, unread, check, see).run()


class Violated(Exception):
    """A guarantee does not hold.

    Attributes:
        guarantee: which one, in words.
        path: moves that lead to where it does not, as few as there can be.
    """

    def __init__(self, guarantee: str, path: tuple[str, ...] = ()) -> None:
        steps = "".join(f"\n  {number:>2}. {move}" for number, move in enumerate(path, 1))
        super().__init__(f"{guarantee}{steps}")
        self.guarantee = guarantee
        self.path = path


_STAMP: dict[str, Any] = {"incarnation": 1, "at": 0.0}
_EXITS = {
    "code 0": Exit(code=0),
    "code 1": Exit(code=1),
    "signal 11": Exit(signal=11),
    "signal 9": Exit(signal=9),
    "our signal": Exit(signal=15),
    "": Exit(),
}
_REPORT = cause(Kind.PYTHON_EXCEPTION, "It said so.", source=Source.REPORT)
_FOUND = cause(Kind.OOM, "A counter rose.", source=Source.EXIT)


def _words(requests: int) -> dict[str, e.AnyEvent]:
    """All that a child can say."""
    said: dict[str, e.AnyEvent] = {
        "says hello": e.Hello(**_STAMP),
        "says hello in another protocol": e.Hello(protocol_ok=False, **_STAMP),
        "says load_progress": e.LoadProgress(step="warm-up", **_STAMP),
        "says loaded": e.Loaded(**_STAMP),
        "says unloaded": e.Unloaded(**_STAMP),
        "says oom": e.OutOfMemory(**_STAMP),
        "says worker_failed": e.WorkerFailed(cause=_REPORT, **_STAMP),
        "says garbage": e.ProtocolBroken(detail="garbage", **_STAMP),
        "says bye": e.Bye(**_STAMP),
    }
    for request in range(1, requests + 1):
        stamp: dict[str, Any] = {**_STAMP, "request": request}
        said |= {
            f"says request_started {request}": e.RequestStarted(**stamp),
            f"says request_progress {request}": e.RequestProgress(**stamp),
            f"says first_token {request}": e.FirstToken(**stamp),
            f"says request_done {request}": e.RequestDone(**stamp),
            f"says request_cancelled {request}": e.RequestEnded(**stamp),
            f"says request_failed {request}": e.RequestErred(kind=RequestErrorKind.EXCEPTION, message="no", **stamp),
        }
    return said


class _Walk:
    def __init__(
        self,
        machine: Callable[[Checkpoint], Any],
        requests: int,
        unread: int,
        check: Callable[[Edge], None] | None,
        see: Callable[[Way, e.AnyEvent], object] | None,
    ) -> None:
        self._machine = machine
        self._requests = requests
        self._unread = unread
        self._check = check
        self._see = see
        self._words = _words(requests)
        # Machines are few and worlds are many: what a machine makes of a move is found once, whatever world it is in.
        self._machines: dict[Checkpoint, int] = {}
        self._made: dict[tuple[int, str], _Made] = {}
        self._watched: dict[int, frozenset[Deadline]] = {}

    def run(self) -> Exploration:
        first = Node(_bare(Lifecycle().checkpoint), World())
        known = {(self._number(first.machine), first.world): 0}
        found = Exploration([first], [(0, "")], [0], 0, {}, {})
        queue = deque([(0, self._number(first.machine))])
        while queue:
            number, machine = queue.popleft()
            node = found.nodes[number]
            due = found.among_due.setdefault(number, []) if node.due else None
            for move, fair, world, event in self._moves(node, machine):
                made = self._step(node, machine, world, move, event)
                world = _after(node, world, event, made.effects)
                key = (made.number, world)
                target = known.get(key)
                if target is None:
                    target = known[key] = len(known)
                    found.nodes.append(Node(made.machine, world))
                    found.parents.append((number, move))
                    found.depths.append(found.depths[number] + 1)
                    queue.append((target, made.number))
                found.edges += 1
                if self._see is not None and event is not None:
                    self._see((number, move), event)
                for row in made.rows:
                    found.rows.setdefault(row, (number, move))
                if due is not None:
                    due.append((target, _duty(move) if fair else ""))
                if self._check is not None:
                    edge = Edge(node, move, fair, found.nodes[target], made.rows, made.effects)
                    try:
                        self._check(edge)
                    except Violated as violated:
                        raise Violated(violated.guarantee, found.path_along((number, move))) from None
        return found

    def _number(self, machine: Checkpoint) -> int:
        return self._machines.setdefault(machine, len(self._machines))

    # What can happen.

    def _moves(self, node: Node, number: int) -> Iterator[tuple[str, bool, World, e.AnyEvent | None]]:
        world, machine = node.world, node.machine
        yield from self._commands(machine, world)
        if machine.facts.settled:
            # Everything can still be told, and must change nothing.
            yield from ((word, False, world, event) for word, event in self._words.items())
            yield "exit is told again", False, world, e.Exited(exit=_EXITS[world.exit], **_STAMP)
            yield "settled is told again", False, world, e.Settled(cause=_FOUND, **_STAMP)
            yield "spawn is told late", False, world, e.Spawned(pid=2, **_STAMP)
            yield "spawn fails late", False, world, e.SpawnFailed(error="no", **_STAMP)
            yield "poll finds no beat, late", False, world, e.Hung(silent_s=10.0, **_STAMP)
            for deadline in Deadline:
                expired = e.DeadlineExpired(deadline=deadline, after_s=1.0, **_STAMP)
                yield f"{deadline.value} deadline, late", False, world, expired
            return
        yield from self._process(world)
        yield from self._notices(node, number)
        yield from self._nonsense(machine, world)
        yield "wakes late", False, world, e.SupervisorLate(late_s=5.0, **_STAMP)
        yield "hears of another incarnation", False, world, e.OutOfMemory(incarnation=2, at=0.0)

    def _commands(self, machine: Checkpoint, world: World) -> Iterator[tuple[str, bool, World, e.AnyEvent | None]]:
        for command in (e.Start, e.Load, e.Unload, e.Shutdown, e.Restart):
            yield f"user {command.__name__.lower()}", False, world, command(**_STAMP)
        if machine.last_request < self._requests:
            yield "user submit", False, world, e.Submit(request=machine.last_request + 1, **_STAMP)
        else:
            yield "user submit again", False, world, e.Submit(request=1, **_STAMP)
        for request in range(1, machine.last_request + 2):
            yield f"user cancel {request}", False, world, e.Cancel(request=request, **_STAMP)

    def _process(self, world: World) -> Iterator[tuple[str, bool, World, e.AnyEvent | None]]:
        """What the child does, and what is done to it."""
        change = msgspec.structs.replace
        if world.process == SPAWNING:
            yield "spawn succeeds", True, change(world, process=ALIVE), e.Spawned(pid=1, **_STAMP)
            yield "spawn fails", True, change(world, process=ABSENT), e.SpawnFailed(error="no", **_STAMP)
        if world.process == ALIVE:
            yield from ((word, False, world, event) for word, event in self._words.items())
            yield "freezes", False, change(world, process=FROZEN), None
            for unread in range(self._unread + 1):
                left = f", {unread} unread" if unread else ""
                for end in ("code 0", "code 1", "signal 11", "signal 9"):
                    yield f"dies of {end}{left}", False, change(world, process=DEAD, exit=end, unread=unread), None
                killed = change(world, process=DEAD, exit="signal 9", oom=True, unread=unread)
                yield f"is killed for want of memory{left}", False, killed, None
        if world.process in (ALIVE, FROZEN) and world.signalled:
            for unread in range(self._unread + 1):
                left = f", {unread} unread" if unread else ""
                # A process that can't be killed is one that this never happens to.
                yield (
                    f"dies of our signal{left}",
                    False,
                    change(world, process=DEAD, exit="our signal", unread=unread),
                    None,
                )
                killed = change(world, process=DEAD, exit="our signal", oom=True, unread=unread)
                yield f"dies of our signal, out of memory{left}", False, killed, None

    def _notices(self, node: Node, number: int) -> Iterator[tuple[str, bool, World, e.AnyEvent | None]]:
        """What the supervisor comes to know: always in the end, in any order."""
        world, facts = node.world, node.machine.facts
        change = msgspec.structs.replace
        if world.process == DEAD:
            ours = world.exit == "our signal"
            yield (
                "exit is told",
                True,
                change(world, process=REAPED),
                e.Exited(exit=_EXITS[world.exit], ours=ours, **_STAMP),
            )
        if world.process in (DEAD, REAPED) and world.unread:
            for word, event in self._words.items():
                yield f"last words: {word}", True, change(world, unread=world.unread - 1), event
            yield "last words are lost", False, change(world, unread=world.unread - 1), None
        if world.settling and not world.unread:
            found: FailureCause | None = _FOUND if world.oom else None
            settled = e.Settled(exit=_EXITS[world.exit], cause=found, unkillable=world.gave_up, **_STAMP)
            yield "settled is told", True, change(world, settling=False), settled
        if world.process == FROZEN and facts.process is Process.UP:
            yield "poll finds it frozen", True, world, e.Hung(silent_s=10.0, **_STAMP)
        if facts.process is Process.UP:
            yield "poll finds no beat", False, world, e.Hung(silent_s=10.0, **_STAMP)
        watched = self._deadlines(node.machine, number)
        for deadline in Deadline:
            expired = e.DeadlineExpired(deadline=deadline, after_s=1.0, **_STAMP)
            if deadline in watched:
                yield f"{deadline.value} deadline", True, world, expired
            else:
                yield f"{deadline.value} deadline, late", False, world, expired

    def _nonsense(self, machine: Checkpoint, world: World) -> Iterator[tuple[str, bool, World, e.AnyEvent | None]]:
        """What is told twice or of nothing. The kernel does not lie: an end is never told of what lives."""
        if machine.facts.process is not Process.SPAWNING:
            yield "spawn is told again", False, world, e.Spawned(pid=2, **_STAMP)
            yield "spawn fails again", False, world, e.SpawnFailed(error="no", **_STAMP)
        if world.process == REAPED:
            yield "exit is told again", False, world, e.Exited(exit=_EXITS[world.exit], **_STAMP)
        if machine.state not in (State.FAILED, State.SHUTDOWN):
            yield "settled is told before the end", False, world, e.Settled(**_STAMP)
        if world.process == ABSENT and not world.settling:
            yield "an oom of no process", False, world, self._words["says oom"]

    def _deadlines(self, machine: Checkpoint, number: int) -> frozenset[Deadline]:
        if number not in self._watched:
            self._watched[number] = self._machine(machine).watched
        return self._watched[number]

    # What comes of it.

    def _step(self, node: Node, machine: int, world: World, move: str, event: e.AnyEvent | None) -> "_Made":
        if event is None:
            return _Made(node.machine, machine, (), ())
        key = (machine, move)
        if event.trigger in ("exited", "settled"):
            # The same word can come with another exit.
            key = (machine, f"{move} {world.exit} {world.oom} {world.gave_up}")
        if key not in self._made:
            life = self._machine(node.machine)
            record = life.handle(event).record
            after = _bare(life.checkpoint)
            self._made[key] = _Made(after, self._number(after), record.rows, record.effects)
        return self._made[key]


def _after(node: Node, world: World, event: e.AnyEvent | None, effects: tuple[AnyEffect, ...]) -> World:
    """The world after the supervisor did what it was told, and with what reached the machine."""
    if effects:
        world = _performed(world, effects)
    if event is not None and not world.evidence and not node.settled and _shows_oom(event):
        world = msgspec.structs.replace(world, evidence=True)
    return world


class _Made(msgspec.Struct, frozen=True):
    """What a machine made of a move."""

    machine: Checkpoint
    number: int
    rows: tuple[str, ...]
    effects: tuple[AnyEffect, ...]


def _shows_oom(event: e.AnyEvent) -> bool:
    if event.incarnation != 1:
        return False
    if isinstance(event, e.OutOfMemory):
        return True
    return isinstance(event, e.Settled) and event.cause is not None and event.cause.kind is Kind.OOM


def _performed(world: World, effects: Iterable[AnyEffect]) -> World:
    """The world after the supervisor did what it was told."""
    changes: dict[str, Any] = {}
    for effect in effects:
        match effect:
            case Spawn():
                changes["process"] = SPAWNING
            case Terminate() | Kill():
                changes["signalled"] = True
            case Settle():
                changes["settling"] = True
            case GiveUp():
                changes |= {"gave_up": True, "settling": True, "unread": 0}
            case Release(outcome=outcome):
                released = changes.get("released", world.released)
                changes["released"] = tuple(sorted((*released, outcome.request)))
            case Announce():
                changes["announced"] = world.announced + 1
            case _:
                pass
    return msgspec.structs.replace(world, **changes) if changes else world


def _bare(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint without what only counts or tells: the same situation is the same state."""
    facts = checkpoint.facts
    known = facts.cause
    if known is not None:
        known = FailureCause(kind=known.kind, certainty=known.certainty, source=known.source, sentence="")
    return msgspec.structs.replace(
        checkpoint,
        facts=msgspec.structs.replace(facts, done=0, total=0, cause=known),
        requests=tuple(sorted(checkpoint.requests, key=_number)),
        next_seq=0,
    )


def _number(request: RequestCheckpoint) -> int:
    return request.request


def _cycles(edges: dict[int, list[tuple[int, str]]]) -> Iterator[set[int]]:
    """Groups of nodes that can all be reached from each other, and single ones that lead to themselves (Tarjan)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in edges:
        if root in index:
            continue
        work: list[tuple[int, Iterator[tuple[int, str]]]] = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for dest, _ in rest:
                if dest not in edges:
                    continue
                if dest not in index:
                    index[dest] = low[dest] = len(index)
                    stack.append(dest)
                    on_stack.add(dest)
                    work.append((dest, iter(edges[dest])))
                    break
                if dest in on_stack:
                    low[node] = min(low[node], index[dest])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group: set[int] = set()
                    while node not in group:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.add(member)
                    if len(group) > 1 or any(dest == node for dest, _ in edges[node]):
                        yield group


def _left_by_fairness(group: set[int], edges: dict[int, list[tuple[int, str]]]) -> bool:
    """Whether something that is owed can happen everywhere in the group, and always leads out of it."""
    owed: set[str] | None = None
    staying: set[str] = set()
    for node in group:
        fair = {duty for _, duty in edges[node] if duty}
        staying |= {duty for dest, duty in edges[node] if duty and dest in group}
        owed = fair if owed is None else owed & fair
    return bool((owed or set()) - staying)


def _duty(move: str) -> str:
    """What is owed is that the words are read, not what they say; that a spawn ends, not how."""
    for duty in ("last words", "spawn"):
        if move.startswith(duty):
            return duty
    return move
