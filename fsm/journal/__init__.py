"""The journal of a run: lines that say what happened, chained so that a change is found, and enough to make it happen again.

Pure as the rest of ``fsm``: it works on lines of bytes. Files, locks and rotation are in ``runner.journal``. The format is
described in ``docs/journal.md``.
"""

from fsm.journal.keeper import Diverged, Keeper
from fsm.journal.lines import FORMAT, AnyLine, Closing, Entry, Gap, Opening, Overrun, Text
from fsm.journal.read import JournalError, Read, Torn, read
from fsm.journal.redact import Redaction
from fsm.journal.replay import Status, replay, replay_steps
from fsm.journal.rules import DIGEST
from fsm.journal.seal import Seal
from fsm.journal.verify import Problem, SealMismatch, Verification, verify

__all__ = [
    "DIGEST",
    "FORMAT",
    "AnyLine",
    "Closing",
    "Diverged",
    "Entry",
    "Gap",
    "JournalError",
    "Keeper",
    "Opening",
    "Overrun",
    "Problem",
    "Read",
    "Redaction",
    "Seal",
    "SealMismatch",
    "Status",
    "Text",
    "Torn",
    "Verification",
    "read",
    "replay",
    "replay_steps",
    "verify",
]
