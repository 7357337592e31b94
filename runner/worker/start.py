"""Puts the worker together and says hello. No engine is imported here: ``Hello`` must not wait for one."""

import argparse
import logging
import os
import signal
import socket
import sys
from typing import Any, cast

from runner.channel.messages import PROTOCOL, Hello
from runner.worker import faults
from runner.worker.engine import Engine
from runner.worker.heartbeat import Heartbeat
from runner.worker.lifeline import tie, wake_at_parents_death
from runner.worker.reader import Reader
from runner.worker.scheduler import Scheduler
from runner.worker.sender import Sender
from runner.worker.versions import versions


def run(arguments: list[str] | None = None) -> None:
    """Be a worker until told to stop. Does not return."""
    orders = faults.orders_from_environment()
    options = _parse(arguments)
    wake_at_parents_death()
    _own_the_signals()
    _log_to_stderr()  # before the engine is imported, so that what its import says is in the same form
    if options.lifeline is not None:
        tie(options.lifeline)
    connection = socket.socket(fileno=options.fd)
    connection.setblocking(True)
    connection.set_inheritable(False)  # a child of ours must not hold the channel open after us
    sender, reader = Sender(connection), Reader(connection)
    checkpoint = faults.Faults(orders, sender, reader)

    def make_engine() -> Engine:
        from runner.worker.mlx_engine import MlxEngine

        return MlxEngine(options.prefill_step, checkpoint)

    scheduler = Scheduler(reader, sender, make_engine, options.concurrency, checkpoint)

    def greet() -> None:
        sender.send(Hello(PROTOCOL, os.getpid(), versions()))
        Heartbeat(sender, scheduler.gauge, options.beat_interval).start()

    reader.start()
    scheduler.run(greet)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m runner.worker", description="The child of a runner.")
    parser.add_argument("--fd", type=int, required=True, help="inherited end of a socket pair")
    parser.add_argument("--lifeline", type=int, help="inherited read end of a pipe; we are killed when it is closed")
    parser.add_argument("--beat-interval", type=float, default=1.0, help="seconds from one beat to the next")
    parser.add_argument("--concurrency", type=int, default=4, help="requests worked on in turn; the others wait")
    parser.add_argument("--prefill-step", type=int, default=512, help="most tokens of a prompt to read at once")
    options = parser.parse_args(arguments)
    if not options.beat_interval > 0:
        parser.error("--beat-interval must be above 0")
    for name in ("concurrency", "prefill_step"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be 1 or more")
    return options


def _own_the_signals() -> None:
    """Take no disposition over from the parent: a blocked or ignored SIGTERM would make it powerless."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the default acts at once, also while the main thread is in MLX
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us in order
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    # A line is to be read when it is written; and no text may end us because the terminal could not show it.
    cast("Any", sys.stdout).reconfigure(line_buffering=True, errors="backslashreplace")
