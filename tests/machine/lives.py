"""Short ways to each state, as lists of events that a reader can follow."""

from typing import Any

import fsm

STAMP: dict[str, Any] = {"incarnation": 1, "at": 0.0}

IDLE = (fsm.Start(**STAMP), fsm.Spawned(pid=100, **STAMP), fsm.Hello(**STAMP))
LOADING = (*IDLE, fsm.Load(**STAMP))
RUNNING = (*LOADING, fsm.Loaded(**STAMP))
FAILED = (*RUNNING, fsm.ProtocolBroken(detail="garbage", **STAMP))
SHUTDOWN = (*RUNNING, fsm.Shutdown(**STAMP))
TO = {"Idle": IDLE, "Loading": LOADING, "Running": RUNNING, "Failed": FAILED, "Shutdown": SHUTDOWN}


def live(*events: Any) -> fsm.Lifecycle:
    """A machine that has seen these events."""
    machine = fsm.Lifecycle()
    for event in events:
        machine.handle(event)
    return machine


def settle(machine: fsm.Lifecycle) -> fsm.Step:
    """Let the process end and be read to its end."""
    machine.handle(fsm.Exited(exit=fsm.Exit(signal=9), ours=True, **STAMP))
    return machine.handle(fsm.Settled(exit=fsm.Exit(signal=9), **STAMP))
