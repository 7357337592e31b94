"""The spans that the machine wants watched, on one clock and in one task. Which run when is the machine's to say."""

from collections.abc import Awaitable, Callable

import anyio

from fsm import Deadline
from runner.protocols import Clock


class Deadlines:
    """Watches spans. ``arm`` begins one anew, ``touch`` tells of progress without any cost, ``expired`` is called at its end.

    Before anything is judged, ``catch_up`` is awaited: what was said in time counts, though nobody had come to read it.

    A span is not judged by a late supervisor: while any runs, this task wakes every ``late_after`` seconds, and if it woke more
    than that too late, ``late`` is called instead, and whoever hears it arms the spans anew. Not at the end alone: a
    supervisor that slept through most of a span would find it over in time. Once a span: one that is late again has to judge,
    or nothing would ever end.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        catch_up: Callable[[], Awaitable[None]],
        expired: Callable[[Deadline, float], None],
        late: Callable[[float], None],
        late_after: float,
    ) -> None:
        self._clock = clock
        self._catch_up = catch_up
        self._expired = expired
        self._late = late
        self._late_after = late_after
        self._spans: dict[Deadline, float] = {}
        self._ends: dict[Deadline, float] = {}
        self._forgiven: set[Deadline] = set()
        self._due = 0.0
        self._changed = anyio.Event()

    @property
    def armed(self) -> frozenset[Deadline]:
        """The deadlines that are watched now."""
        return frozenset(self._ends)

    def arm(self, deadline: Deadline, span: float) -> None:
        """Watch ``span`` seconds from now on."""
        now = self._clock.now()
        if not self._ends:
            self._due = now + self._late_after
        self._spans[deadline] = span
        self._ends[deadline] = now + span
        self._changed.set()

    def disarm(self, deadline: Deadline) -> None:
        """Stop watching. Not armed is no error."""
        self._spans.pop(deadline, None)
        self._ends.pop(deadline, None)
        self._forgiven.discard(deadline)

    def touch(self, *deadlines: Deadline) -> None:
        """Progress: those of these spans that are watched begin anew."""
        now = self._clock.now()
        for deadline in deadlines:
            if deadline in self._ends:
                self._ends[deadline] = now + self._spans[deadline]
                self._forgiven.discard(deadline)

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            self._changed = anyio.Event()
            if not self._ends:
                await self._changed.wait()
                continue
            due = min(self._due, *self._ends.values())
            with anyio.CancelScope(deadline=due):
                await self._changed.wait()
            await self._judge(due)
            self._due = self._clock.now() + self._late_after

    async def _judge(self, due: float) -> None:
        now = self._clock.now()
        late = now - due
        if late <= self._late_after and all(now < end for end in self._ends.values()):
            return
        await self._catch_up()
        running = self._ends.keys()
        if late > self._late_after and running - self._forgiven:
            self._forgiven |= running
            self._late(late)
            return
        over = {deadline: end for deadline, end in self._ends.items() if end <= now}
        for deadline in over:
            # Handling one may have disarmed or re-armed another.
            if self._ends.get(deadline, now + 1) <= now:
                span = self._spans[deadline]
                self.disarm(deadline)
                self._expired(deadline, span)
