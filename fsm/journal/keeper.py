"""Who keeps a journal: gives each step the line that is to be written. Where the lines go is somebody else's business.

The keeper has a machine of its own, which sees of each event what may be written down. So every line holds just what a reader
will find when the events in the journal are replayed, and each step is derived a second time before it is written.
"""

from collections.abc import Mapping
from datetime import datetime

from fsm.checkpoint import Checkpoint
from fsm.journal.lines import FORMAT, AnyLine, Closing, Gap, Opening, Overrun, Setting, Text, entry_of
from fsm.journal.redact import Redaction, mask
from fsm.journal.rules import DIGEST
from fsm.journal.seal import ZERO, Seal
from fsm.lifecycle import Lifecycle
from fsm.lineage import Lineage
from fsm.record import Record


class Diverged(Exception):
    """The machine of the journal came to another step than the runner's own.

    Attributes:
        record: the runner's record.
        derived: the journal's.
    """

    def __init__(self, record: Record, derived: Record) -> None:
        super().__init__(f"Step {record.seq} is {record.rows}, and was derived as {derived.rows}.")
        self.record = record
        self.derived = derived


class Keeper:
    """Makes the lines of one run, in order.

    Args:
        run: id of the run.
        package: version of runner-fsm.
        settings: of the runner, for the opening.
        seal: hashes the lines.
        text: whether prompts, answers and arguments of exceptions may be written down.
    """

    def __init__(
        self, *, run: str, package: str, settings: Mapping[str, Setting], seal: Seal, text: bool = False
    ) -> None:
        self._run = run
        self._package = package
        self._settings = dict(settings)
        self._seal = seal
        self._text = text
        self._redaction = Redaction(text=text)
        self._lineage = Lineage(Lifecycle())
        self._file = 0
        self._head = ZERO

    @property
    def head(self) -> str:
        """Hash of the last line that was made."""
        return self._head

    def opening(self, wall: datetime) -> bytes:
        """The first line of the next file."""
        line = self._sealed(
            Opening(
                run=self._run,
                wall=wall,
                prev=self._head,
                format=FORMAT,
                package=self._package,
                table=DIGEST,
                file=self._file,
                seal=self._seal.name,
                text=self._text,
                settings=self._settings,
                checkpoint=self._lineage.lifecycle.checkpoint,
            )
        )
        self._file += 1
        return line

    def step(self, record: Record, wall: datetime) -> bytes:
        """The line of a step.

        Raises:
            Diverged: if this machine would have made another one. The run goes on with a gap.
        """
        derived = self._lineage.handle(self._redaction.event(record.event)).record
        if (derived.seq, derived.rows, derived.dest) != (record.seq, record.rows, record.dest):
            raise Diverged(record, derived)
        return self._sealed(entry_of(derived, run=self._run, wall=wall, prev=self._head))

    def gap(self, lost: int, reason: str, checkpoint: Checkpoint, wall: datetime) -> bytes:
        """The line for steps that were lost; what follows goes on from the checkpoint."""
        redacted = self._redaction.checkpoint(checkpoint)
        self._lineage = Lineage.resume(redacted)
        return self._sealed(
            Gap(run=self._run, wall=wall, prev=self._head, lost=lost, reason=reason, checkpoint=redacted)
        )

    def overrun(self, seq: int, waited_s: float, wall: datetime) -> bytes:
        """The line that says that the effects of a step did not wait for it."""
        return self._sealed(Overrun(run=self._run, wall=wall, prev=self._head, seq=seq, waited_s=waited_s))

    def text(self, request: int, role: str, text: str, wall: datetime) -> bytes:
        """The line that holds a prompt or an answer."""
        return self._sealed(
            Text(run=self._run, wall=wall, prev=self._head, request=request, role=role, text=mask(text))
        )

    def closing(self, wall: datetime) -> bytes:
        """The last line of a run that ends in order."""
        return self._sealed(Closing(run=self._run, wall=wall, prev=self._head))

    def _sealed(self, content: AnyLine) -> bytes:
        line, self._head = self._seal.line(content)
        return line
