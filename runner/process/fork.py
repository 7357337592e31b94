"""A fork of this program is not the supervisor: it must not hold what ties a child to us.

A copy of the lifeline or of the channel in a fork (``multiprocessing`` makes such, and so do servers) would keep a child alive
after this process is gone, since the kernel sees an end that somebody still holds. So each fork closes its copies at once.
"""

import os
import weakref
from typing import Protocol


class Held(Protocol):
    """A child for which something is held."""

    def forget_in_fork(self) -> None:
        """Close this process's copies. Called in the fork alone."""
        ...


_held: weakref.WeakSet[Held] = weakref.WeakSet()


def let_go_in_forks(child: Held) -> None:
    """Close in each fork of this program what is held for a child."""
    _held.add(child)


def _in_fork() -> None:
    for child in list(_held):
        child.forget_in_fork()
    _held.clear()


os.register_at_fork(after_in_child=_in_fork)
