"""``runner drill``: brings every fault on a runner, at every phase, and holds what comes of it against a table written by hand.

The drill judges the supervisor from outside: what should happen is in ``expected.py``, when the child really died is told
by a process of its own, and what is left behind is read from the kernel.
"""
