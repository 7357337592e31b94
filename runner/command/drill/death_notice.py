"""A program of its own: notes when the kernel tells of the death of a process. Started by ``death_watch``, never imported.

It shares nothing with the process whose speed is judged, neither its event loop nor its interpreter. A line with a process
id comes in; ``watching`` goes out as soon as it is watched, and the time of its death, in seconds of the system's monotonic
clock, when it is dead. ``gone`` goes out if there is no such process. It ends at the end of its input.
"""

import os
import select
import sys
import time


def main() -> None:
    """Watch one process after another."""
    for line in sys.stdin:
        try:
            _watch(int(line))
        except ProcessLookupError:
            _tell("gone")


def _watch(pid: int) -> None:
    if sys.platform == "darwin":
        queue = select.kqueue()
        event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD | select.KQ_EV_ONESHOT, select.KQ_NOTE_EXIT)
        queue.control([event], 0)
        _tell("watching")
        queue.control([], 1)
        _tell(repr(time.monotonic()))
        queue.close()
    else:
        descriptor = os.pidfd_open(pid)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        _tell("watching")
        poll.poll()
        _tell(repr(time.monotonic()))
        os.close(descriptor)


def _tell(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
