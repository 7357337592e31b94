"""Death is noticed from the kernel, once, by all who wait, whoever holds the pipes; and nobody else's number is signalled."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import anyio
import pytest
from anyio.lowlevel import checkpoint

from fsm import Exit
from runner.channel.frames import encode
from runner.channel.messages import Chunk
from runner.process import procfs
from runner.process.exit_watch import reap, watch_exit, watch_with_thread
from runner.protocols import ChannelClosed
from tests.process_parts.programs import NET_S, python, running, shell

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("exit 0", Exit(code=0)),
        ("exit 7", Exit(code=7)),
        ("kill -KILL $$", Exit(signal=9)),
        ("kill -TERM $$", Exit(signal=15)),
    ],
)
async def test_how_it_ended_is_told(code: str, ended: Exit) -> None:
    async with running(shell(code)) as child:
        assert await child.wait_exit() == ended
        assert await child.wait_exit() == ended


async def test_all_who_wait_are_told_and_cancelling_one_changes_nothing() -> None:
    told: list[Exit] = []
    async with running(python("wait()")) as child:

        async def wait() -> None:
            told.append(await child.wait_exit())

        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as first:
                    first.start_soon(wait)
                    await checkpoint()
                    for _ in range(3):
                        tasks.start_soon(wait)
                    await checkpoint()
                    scope.cancel()
            assert told == []
            child.signal_process(signal.SIGKILL)
    assert told == [Exit(signal=9)] * 3


async def test_a_grandchild_that_holds_stdout_does_not_delay_the_notice_and_goes_too() -> None:
    async with running(shell("sleep 1000 & echo $!; kill -KILL $$")) as child:
        assert await child.wait_exit() == Exit(signal=9)
        assert procfs.members(child.pid) is not None
        child.output.drain(1)
    assert procfs.members(child.pid) == []


async def test_the_group_is_signalled_with_the_grandchildren() -> None:
    async with running(python("p = subprocess.Popen(['sleep', '1000']); wait()")) as child:
        await until(lambda: len(procfs.members(child.pid) or []) == 2)
        child.signal_group(signal.SIGTERM)
        assert await child.wait_exit() == Exit(signal=15)
    assert procfs.members(child.pid) == []


async def until(done: Callable[[], bool]) -> None:
    """Wait for what the kernel has no event for."""
    while not done():
        await anyio.sleep(0.001)


async def test_after_the_reaping_nothing_is_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    signalled: list[int] = []
    async with running(shell("exit 0")) as child:
        await child.wait_exit()
        monkeypatch.setattr(os, "kill", lambda pid, number: signalled.append(pid))  # pyright: ignore
        monkeypatch.setattr(os, "killpg", lambda pid, number: signalled.append(pid))  # pyright: ignore
        child.signal_group(signal.SIGKILL)
        child.signal_process(signal.SIGKILL)
        assert (child.resident(), child.cpu_seconds(), child.is_stopped()) == (None, None, False)
    assert signalled == []


async def test_a_frame_that_death_tore_is_reported() -> None:
    code = """
from struct import pack
end.sendall(pack("<I", 50_000_000) + bytes(25_000_000))
os.kill(os.getpid(), signal.SIGKILL)
"""
    async with running(python(code)) as child:
        with pytest.raises(ChannelClosed) as caught:
            await child.channel.receive()
        assert caught.value.pending == 25_000_004
        assert await child.wait_exit() == Exit(signal=9)


async def test_what_was_sent_before_a_death_can_be_drained_after_it() -> None:
    code = """
frame = bytes.fromhex(%r)
for _ in range(100): end.sendall(frame)
os.kill(os.getpid(), signal.SIGKILL)
"""
    message = Chunk(1, "Paris")
    async with running(python(code % encode(message).hex())) as child:
        await child.wait_exit()
        assert child.channel.drain() == [message] * 100


async def test_a_stopped_process_is_seen_stopped_and_can_be_killed() -> None:
    async with running(python("end.send(b'x'); os.kill(os.getpid(), signal.SIGSTOP)")) as child:
        await until(child.is_stopped)
        assert child.resident()
        assert child.cpu_seconds() is not None
        child.signal_group(signal.SIGKILL)
        assert await child.wait_exit() == Exit(signal=9)


async def test_an_ended_process_that_was_never_waited_for_is_closed_in_order() -> None:
    async with running(shell("exit 3")) as child:
        await until(lambda: procfs.state(child.pid) == "Z")
    assert await child.wait_exit() == Exit(code=3)


async def test_one_that_somebody_else_reaped_has_an_unknown_end() -> None:
    async with running(python("wait()")) as child:
        os.kill(child.pid, signal.SIGTERM)
        os.waitpid(child.pid, 0)
        assert await child.wait_exit() == Exit()


async def test_a_thread_watches_where_the_kernel_has_nothing_better() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    watch = watch_with_thread(process.pid)
    with anyio.fail_after(NET_S):
        with anyio.move_on_after(0):
            await anyio.wait_readable(watch)
            pytest.fail("It lives.")
        process.stdin.write(b"\n")
        process.stdin.close()
        await anyio.wait_readable(watch)
    watch.close()
    assert reap(process) == Exit(code=0)
    for thread in threading.enumerate():
        if "exit watch" in thread.name:
            thread.join(NET_S)


async def test_one_that_ended_before_it_was_watched_is_told_at_once() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    watch = watch_exit(process.pid)
    with anyio.fail_after(NET_S):
        await anyio.wait_readable(watch)
    watch.close()
    assert reap(process) == Exit(code=0)
    gone = watch_exit(process.pid)
    with anyio.fail_after(NET_S):
        await anyio.wait_readable(gone)
    gone.close()
