"""From bytes to lines: the one reader that all others stand on. It judges form alone; the chain and the steps are ``verify``'s.

Give it the lines of all files of a run, one after another, as ``iter`` over a binary file gives them. It holds one at a time.
"""

from collections.abc import Iterable, Iterator

import msgspec

from fsm.journal.lines import AnyLine
from fsm.journal.seal import NotSealed, Unsealed, unseal

_decoder = msgspec.json.Decoder(AnyLine)


class JournalError(Exception):
    """A journal that can't be read as one.

    Attributes:
        number: of the line, from 1 over all files of the run; 0 if it is about no single line.
        reason: what is wrong with it.
    """

    def __init__(self, reason: str, number: int = 0) -> None:
        super().__init__(f"Line {number}: {reason}" if number else reason)
        self.number = number
        self.reason = reason


class Read(msgspec.Struct, frozen=True):
    """A line as it was read."""

    number: int
    """From 1, over all files of the run."""
    line: AnyLine
    unsealed: Unsealed


class Torn(msgspec.Struct, frozen=True):
    """The last line was begun and never finished: whoever wrote it was ended, or is still writing."""

    number: int
    bytes: int


def read(lines: Iterable[bytes]) -> Iterator[Read | Torn]:
    """Read a journal, a line at a time, from memory for one line.

    Raises:
        JournalError: at a line that is none of a journal. A last line without its end is ``Torn`` instead.
    """
    torn: Torn | None = None
    for number, line in enumerate(lines, 1):
        if torn is not None:
            raise JournalError("It was never finished, and others follow.", torn.number)
        if not line.endswith(b"\n"):
            torn = Torn(number, len(line))
            continue
        yield _parse(number, line)
    if torn is not None:
        yield torn


def _parse(number: int, line: bytes) -> Read:
    try:
        unsealed = unseal(line)
    except NotSealed:
        raise JournalError("It does not end with a hash.", number) from None
    try:
        return Read(number, _decoder.decode(unsealed.body), unsealed)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise JournalError(f"It is no line of a journal of this format: {error}", number) from None
