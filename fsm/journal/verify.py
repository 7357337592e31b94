"""Is this what happened? The chain, the order, and the steps: would this machine, from these events, have made them?

What can't be shown is written in the documentation of the format: without a head from elsewhere, lines cut from the end, and a
whole chain computed anew for a life that this machine could have had.
"""

from collections.abc import Iterable

import msgspec

from fsm.journal.lines import FORMAT, Closing, Entry, Gap, Opening, Overrun, Text, entry_of
from fsm.journal.read import JournalError, Read, Torn, read
from fsm.journal.rules import DIGEST
from fsm.journal.seal import ZERO, Seal
from fsm.lineage import Lineage


class Problem(msgspec.Struct, frozen=True):
    """The first thing that is wrong."""

    number: int
    """Line, from 1 over all files of the run; 0 if it is about no single line."""
    what: str
    seq: int | None = None
    """Number of the step in that line, if it is one."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification came to."""

    problem: Problem | None = None
    derived: bool = True
    """Whether the steps were derived anew. ``False`` if the journal was written with other rules than this machine's: then
    only the chain and the order were checked."""
    run: str = ""
    head: str = ZERO
    """Hash of the last whole line."""
    lines: int = 0
    steps: int = 0
    files: int = 0
    incarnations: int = 0
    lost: int = 0
    """Steps that the journal itself says are missing."""
    gaps: int = 0
    overruns: int = 0
    torn: Torn | None = None
    closed: bool = False
    """Whether the run ended in order."""
    after_head: int | None = None
    """Lines after the one whose hash is the head that was asked for."""

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong."""
        return self.problem is None


class _Broken(Exception):
    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class SealMismatch(JournalError):
    """The journal is sealed in another way than it was asked to be checked: with a key, or without one."""


def verify(lines: Iterable[bytes], *, key: bytes | None = None, head: str | None = None) -> Verification:
    """Check a journal, one line at a time, and stop at the first problem.

    Args:
        lines: of all files of the run, in order.
        key: the key, of a journal that is sealed with one.
        head: a hash that some line must carry, known from elsewhere. With it, lines cut from the end and a chain that was
            computed anew are found.

    Raises:
        SealMismatch: if the journal is sealed with a key and none was given, or the other way round.
    """
    checker = _Checker(Seal(key), head)
    try:
        for item in read(lines):
            checker.take(item)
        checker.end()
    except JournalError as error:
        if isinstance(error, SealMismatch):
            raise
        return checker.result(Problem(error.number, error.reason))
    except _Broken as broken:
        return checker.result(Problem(checker.number, broken.what, checker.seq))
    return checker.result(None)


class _Checker:
    def __init__(self, seal: Seal, wanted: str | None) -> None:
        self._seal = seal
        self._wanted = wanted
        self._head = ZERO
        self._run = ""
        self._lineage: Lineage | None = None
        self._derived = True
        self._next_seq = 0
        self._at = 0.0
        self._torn: Torn | None = None
        self._closed = False
        self._after_head: int | None = None
        self._incarnation = 0
        self._lines = self._steps = self._files = self._gaps = self._lost = self._overruns = 0
        self.number = 0
        self.seq: int | None = None

    def take(self, item: Read | Torn) -> None:
        self.number = item.number
        self.seq = None
        if isinstance(item, Torn):
            self._torn = item
            return
        line = item.line
        self.seq = line.seq if isinstance(line, Entry) else None
        if isinstance(line, Opening) and not self._files and line.seal != self._seal.name:
            raise SealMismatch(
                "It is sealed with a key; give the key."
                if self._seal.name == "sha256"
                else "It is not sealed with a key."
            )
        self._check_chain(item)
        match line:
            case Opening():
                self._open(line)
            case Entry():
                self._step(line)
            case Gap():
                self._gap(line)
            case Overrun():
                self._overruns += 1
            case Text():
                pass
            case Closing():
                self._closed = True
        self._lines += 1

    def end(self) -> None:
        self.number, self.seq = 0, None
        if not self._lines:
            raise _Broken("There is no whole line in it.")
        if self._wanted is not None and self._after_head is None:
            raise _Broken("No line carries the given head: the end was cut off, or the chain was computed anew.")

    def _check_chain(self, item: Read) -> None:
        line, (body, own) = item.line, item.unsealed
        if self._seal.hash(body) != own:
            raise _Broken("It does not have the hash that it carries: it was changed after it was written.")
        if line.prev != self._head:
            raise _Broken("It does not follow the line before: one was taken out, put in, or moved.")
        if self._closed:
            raise _Broken("It stands after the end of the run.")
        if not self._files and not isinstance(line, Opening):
            raise _Broken("The first line is no opening.")
        if self._files and line.run != self._run:
            raise _Broken("It is of another run.")
        self._head = own
        if self._after_head is not None:
            self._after_head += 1
        elif own == self._wanted:
            self._after_head = 0

    def _open(self, line: Opening) -> None:
        if line.format != FORMAT:
            raise _Broken(f"It is of format {line.format}; this version knows format {FORMAT}.")
        if line.file != self._files:
            raise _Broken(f"It opens file {line.file} of the run where file {self._files} must begin.")
        if line.seal != self._seal.name:
            raise _Broken("It is sealed in another way than the file before.")
        if self._files and (line.table == DIGEST) != self._derived:
            raise _Broken("It was written with other rules than the file before.")
        self._files += 1
        self._run = line.run
        self._derived = line.table == DIGEST
        if not self._derived:
            self._next_seq = line.checkpoint.next_seq
            return
        if self._lineage is None:
            if line.checkpoint.next_seq:
                raise _Broken("Its first step is not number 0.")
            self._lineage = Lineage.resume(line.checkpoint)
        elif line.checkpoint != self._lineage.lifecycle.checkpoint:
            raise _Broken("Its checkpoint is not where the machine stood.")

    def _step(self, line: Entry) -> None:
        if line.seq != self._next_seq:
            raise _Broken(f"Step {self._next_seq} is missing.")
        if line.event.at < self._at:
            raise _Broken("Its event was seen before the one in front of it.")
        self._next_seq += 1
        self._at = line.event.at
        self._steps += 1
        self._incarnation = max(self._incarnation, line.incarnation)
        if self._lineage is None:
            return
        derived = entry_of(self._lineage.handle(line.event).record, run=line.run, wall=line.wall, prev=line.prev)
        if derived != line:
            raise _Broken(_difference(line, derived))

    def _gap(self, line: Gap) -> None:
        if line.lost < 1 or line.checkpoint.next_seq != self._next_seq + line.lost:
            raise _Broken("The number of lost steps and the checkpoint do not agree.")
        self._gaps += 1
        self._lost += line.lost
        self._next_seq = line.checkpoint.next_seq
        if self._lineage is not None:
            self._lineage = Lineage.resume(line.checkpoint)

    def result(self, problem: Problem | None) -> Verification:
        return Verification(
            problem=problem,
            derived=self._derived,
            run=self._run,
            head=self._head,
            lines=self._lines,
            steps=self._steps,
            files=self._files,
            incarnations=self._incarnation,
            lost=self._lost,
            gaps=self._gaps,
            overruns=self._overruns,
            torn=self._torn,
            closed=self._closed,
            after_head=self._after_head,
        )


def _difference(line: Entry, derived: Entry) -> str:
    """What of a step this machine would have made otherwise, in words."""
    for name in Entry.__struct_fields__:
        told, made = getattr(line, name), getattr(derived, name)
        if told != made:
            return (
                f"This machine would have made another step of its event: {name} is {_short(told)}, not {_short(made)}."
            )
    raise AssertionError("the two lines are equal")


def _short(value: object) -> str:
    text = str(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:199] + "…"
