"""Which faults a worker can be told to bring on itself. Names only; what each does is in ``runner.worker.faults``.

A supervisor that was created without faults never passes any on, whatever the environment holds.
"""

from enum import StrEnum

import msgspec

from fsm import Phase


class FaultKind(StrEnum):
    """What goes wrong."""

    OOM = "oom"
    """A true allocation that does not fit."""
    CRASH = "crash"
    """The process dies of a signal (argument: its name, ``SIGSEGV``)."""
    EXIT = "exit"
    """The process exits by itself (argument: the code)."""
    RAISE = "raise"
    """An exception outside a request; with the argument ``request``, inside one."""
    HANG = "hang"
    """No progress although it beats."""
    FREEZE = "freeze"
    """The process is stopped: no beat."""
    IGNORE_TERM = "ignore-term"
    """No progress, and deaf to being asked and to SIGTERM."""
    FLOOD = "flood"
    """More than it has credit for; with the argument ``lines``, 200,000 lines of output."""
    GARBAGE = "garbage"
    """Bytes on the channel that are no frames."""
    TORN = "torn"
    """It dies in the middle of a frame (argument: the frame's bytes)."""
    DEAF = "deaf"
    """It never reads its channel again."""
    GRANDCHILD = "exit-grandchild"
    """It is killed while a child of its own holds its output open."""


class Fault(msgspec.Struct, frozen=True):
    """One fault at one phase, once."""

    fault: FaultKind
    phase: Phase
    argument: str = ""
