"""Events a second from child to supervisor: the whole supervisor, against a queue with a thread hop an item, and the bare socket."""

import multiprocessing
import os
import queue
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec

from benchmarks.figure import Figure
from fsm import Activity
from runner import RunnerSupervisor
from runner.channel.frames import FrameDecoder, encode
from runner.channel.messages import Beat, FromWorker
from runner.feed import Missed
from runner.process.spawn import ProcessSpawner

EVENTS = 600_000
QUEUED = 60_000
"""Fewer for the queue: it takes that much longer."""


async def supervised() -> float:
    """Events a second through a supervisor. The worker sends them between its first progress and its ``loaded``."""
    os.environ["FIREHOSE_EVENTS"] = str(EVENTS)
    worker = (sys.executable, str(Path(__file__).with_name("firehose.py")))
    async with RunnerSupervisor("tiny", spawner=ProcessSpawner(worker)) as runner:
        records = runner.changes()
        start = 0.0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.load)
            async for record in records:
                assert not isinstance(record, Missed)
                if record.activity is Activity.WEIGHTS:
                    break
            start = time.perf_counter()
        return EVENTS / (time.perf_counter() - start)


def _fill(items: Any) -> None:
    for number in range(QUEUED):
        items.put(("beat", number, {"resident": 0}))
    items.put(None)


def queued() -> float:
    """Events a second through a ``multiprocessing.Queue`` that a thread empties item by item into a second queue."""
    items: Any = multiprocessing.get_context("spawn").Queue()
    inner: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def hop() -> None:
        while True:
            item = items.get()
            inner.put(item)
            if item is None:
                return

    process = multiprocessing.get_context("spawn").Process(target=_fill, args=(items,))
    process.start()
    thread = threading.Thread(target=hop)
    thread.start()
    inner.get()
    start = time.perf_counter()
    while inner.get() is not None:
        pass
    elapsed = time.perf_counter() - start
    thread.join()
    process.join()
    return QUEUED / elapsed


def raw() -> float:
    """Events a second over a bare socket, decoded one by one and thrown away."""
    ours, theirs = socket.socketpair()
    batch = encode(Beat()) * 1000
    if (pid := os.fork()) == 0:
        for _ in range(EVENTS // 1000):
            theirs.sendall(batch)
        os._exit(0)
    theirs.close()
    decoder: FrameDecoder[msgspec.Struct] = FrameDecoder(FromWorker)
    count = 0
    start = time.perf_counter()
    while data := ours.recv(262144):
        decoder.feed(data)
        for _ in decoder:
            count += 1
    elapsed = time.perf_counter() - start
    os.waitpid(pid, 0)
    ours.close()
    return count / elapsed


async def measure() -> list[Figure]:
    """Ours against both references."""
    bare, hops, ours = raw(), queued(), await supervised()
    return [
        Figure(
            what="events a second, child to supervisor",
            ours=ours,
            unit="/s",
            reference=hops,
            reference_is="queue and thread hop an item",
            reach=300_000,
            better="higher",
            detail=f"the bare socket: {bare:,.0f} /s",
        )
    ]
