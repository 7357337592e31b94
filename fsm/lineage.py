"""One incarnation after another, as somebody sees them who is given the events alone: a journal, a replay, a proof."""

from fsm.checkpoint import Checkpoint
from fsm.events import AnyEvent, Restart
from fsm.lifecycle import Lifecycle
from fsm.record import Step
from fsm.states import Verdict


class Lineage:
    """The newest incarnation's machine. A restart that is allowed puts the next incarnation's in its place.

    Args:
        lifecycle: the machine to begin with.
    """

    def __init__(self, lifecycle: Lifecycle) -> None:
        self.lifecycle = lifecycle
        """The newest incarnation's machine."""

    @classmethod
    def resume(cls, checkpoint: Checkpoint) -> "Lineage":
        """Go on from where a checkpoint was taken."""
        return cls(Lifecycle.resume(checkpoint))

    def handle(self, event: AnyEvent) -> Step:
        """Take one event. Never raises for an event."""
        step = self.lifecycle.handle(event)
        if isinstance(event, Restart) and step.record.verdict is Verdict.STAYED:
            self.lifecycle = self.lifecycle.next_incarnation()
        return step
