"""The channel: what comes is given whole and in order, what can't be sent blocks nobody, and an end is told to all who wait."""

import socket
from collections.abc import Generator

import anyio
import pytest
from anyio.lowlevel import checkpoint

from runner.channel.frames import FRAME_LIMIT, FrameDecoder, FrameError, encode
from runner.channel.messages import Beat, Bye, Chunk, FromWorker, Generate, Hello, Stop, ToWorker
from runner.channel.stream import BATCH, OUTBOX_LIMIT, READ, SocketChannel
from runner.protocols import ChannelClosed, ChannelFull
from tests.process_parts.programs import NET_S

pytestmark = pytest.mark.anyio

GARBAGE = b"\xff\xff\xff\xff"
"""The length of a frame that is over every limit."""


@pytest.fixture
def worker() -> Generator[socket.socket]:
    """The other end of ``channel``."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with ours, theirs:
        _ends[theirs] = ours
        yield theirs
        del _ends[theirs]


_ends: dict[socket.socket, socket.socket] = {}


@pytest.fixture
async def channel(worker: socket.socket) -> SocketChannel:
    return SocketChannel(_ends[worker])


def fill(end: socket.socket, data: bytes) -> int:
    """Write until the socket takes no more; how many bytes it took."""
    sent = 0
    while sent < len(data):
        try:
            sent += end.send(data[sent:])
        except BlockingIOError:
            break
    return sent


async def test_messages_come_whole_and_in_order(channel: SocketChannel, worker: socket.socket) -> None:
    said = [Hello(1, 4711), Beat(), Chunk(3, "und so weiter, größer"), Bye()]
    worker.send(b"".join(encode(message) for message in said))
    with anyio.fail_after(NET_S):
        assert await channel.receive() == said


async def test_a_frame_in_pieces_is_given_once_it_is_whole(channel: SocketChannel, worker: socket.socket) -> None:
    frame = encode(Chunk(1, "x" * 100))
    got: list[FromWorker] = []

    async def receive() -> None:
        got.extend(await channel.receive())

    with anyio.fail_after(NET_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            for index in range(len(frame)):
                assert got == []
                worker.send(frame[index : index + 1])
                await checkpoint()
    assert got == [Chunk(1, "x" * 100)]


async def test_a_flood_is_given_in_batches_and_lets_others_run(channel: SocketChannel, worker: socket.socket) -> None:
    sent = fill(worker, encode(Beat()) * (20 * BATCH)) // len(encode(Beat()))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await checkpoint()

    with anyio.fail_after(NET_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            await checkpoint()
            got = 0
            batches = 0
            while got < sent - BATCH:
                batch = await channel.receive()
                assert 0 < len(batch) <= BATCH
                got += len(batch)
                batches += 1
                assert turns >= batches
            tasks.cancel_scope.cancel()


async def test_the_good_messages_come_before_the_error(channel: SocketChannel, worker: socket.socket) -> None:
    worker.send(encode(Beat()) + encode(Bye()) + GARBAGE)
    with anyio.fail_after(NET_S):
        assert await channel.receive() == [Beat(), Bye()]
        for _ in range(2):
            with pytest.raises(FrameError):
                await channel.receive()


async def test_a_torn_frame_is_reported_at_the_end(channel: SocketChannel, worker: socket.socket) -> None:
    worker.send(encode(Beat()) + encode(Chunk(1, "x" * 1000))[:500])
    worker.close()
    with anyio.fail_after(NET_S):
        assert await channel.receive() == [Beat()]
        for _ in range(2):
            with pytest.raises(ChannelClosed) as caught:
                await channel.receive()
            assert caught.value.pending == 500


async def test_a_peer_that_ends_with_our_messages_unread_is_read_to_its_end(
    channel: SocketChannel, worker: socket.socket
) -> None:
    channel.send(Stop())
    with anyio.fail_after(NET_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.run_sender)
            await anyio.wait_readable(worker)
            tasks.cancel_scope.cancel()
        worker.send(encode(Bye()))
        worker.close()
        assert await channel.receive() == [Bye()]
        with pytest.raises(ChannelClosed):
            await channel.receive()


async def test_drain_gives_everything_that_was_written_before_a_death(
    channel: SocketChannel, worker: socket.socket
) -> None:
    frame = encode(Beat())
    sent = fill(worker, frame * READ)
    worker.close()
    assert len(channel.drain()) == sent // len(frame)
    assert channel.pending == sent % len(frame)
    assert channel.drain() == []
    with anyio.fail_after(NET_S), pytest.raises(ChannelClosed):
        await channel.receive()


async def test_drain_takes_what_a_batch_left(channel: SocketChannel, worker: socket.socket) -> None:
    worker.send(encode(Beat()) * (BATCH + 5))
    with anyio.fail_after(NET_S):
        assert len(await channel.receive()) == BATCH
    assert len(channel.drain()) == 5


async def test_drain_gives_the_good_messages_and_then_the_error(channel: SocketChannel, worker: socket.socket) -> None:
    worker.send(encode(Bye()) + GARBAGE)
    assert channel.drain() == [Bye()]
    with pytest.raises(FrameError):
        channel.drain()


async def test_draining_under_a_receiver_loses_nothing(channel: SocketChannel, worker: socket.socket) -> None:
    got: list[FromWorker] = []

    async def receive() -> None:
        while len(got) < 2:
            got.extend(await channel.receive())

    with anyio.fail_after(NET_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            await checkpoint()
            worker.send(encode(Beat()))
            got.extend(channel.drain())
            await checkpoint()
            worker.send(encode(Bye()))
    assert got == [Beat(), Bye()]


async def test_cancelling_a_receiver_loses_nothing(channel: SocketChannel, worker: socket.socket) -> None:
    frame = encode(Chunk(1, "text"))
    for cut in range(1, len(frame)):
        worker.send(frame[:cut])
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(channel.receive)
                await checkpoint()
                await checkpoint()
                scope.cancel()
        worker.send(frame[cut:])
        with anyio.fail_after(NET_S):
            assert await channel.receive() == [Chunk(1, "text")]


async def test_a_peer_that_never_reads_blocks_nobody_and_fills_nothing(
    channel: SocketChannel, worker: socket.socket
) -> None:
    message = Generate(1, text="x" * (4 * 1024 * 1024))
    taken = 0
    with anyio.fail_after(NET_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.run_sender)
            with pytest.raises(ChannelFull):
                while True:
                    channel.send(message)
                    taken += 1
                    await checkpoint()
            assert not channel.has_room_for(len(encode(message)))
            assert channel.has_room_for(0)
            # The other direction does not mind.
            worker.send(encode(Beat()))
            assert await channel.receive() == [Beat()]
            tasks.cancel_scope.cancel()
    assert taken * len(encode(message)) <= OUTBOX_LIMIT + READ


async def test_one_message_of_the_greatest_length_fits_with_small_ones_beside_it(channel: SocketChannel) -> None:
    channel.send(Generate(1, text="x" * (FRAME_LIMIT - 1024)))
    channel.send(Stop())
    with pytest.raises(FrameError):
        channel.send(Generate(1, text="x" * FRAME_LIMIT))


async def test_the_outbox_is_sent_in_order_to_a_slow_reader(channel: SocketChannel, worker: socket.socket) -> None:
    said: list[ToWorker] = [Generate(number, text="x" * 300_000) for number in range(8)]
    decoder: FrameDecoder[ToWorker] = FrameDecoder(ToWorker)
    got: list[ToWorker] = []
    with anyio.fail_after(NET_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.run_sender)
            await checkpoint()
            for message in said:
                channel.send(message)
            while len(got) < len(said):
                await anyio.wait_readable(worker)
                decoder.feed(worker.recv(50_000))
                got.extend(decoder)
            tasks.cancel_scope.cancel()
    assert got == said
    assert channel.has_room_for(OUTBOX_LIMIT)


async def test_sending_to_a_peer_that_is_gone_ends_the_sender_and_is_no_error(
    channel: SocketChannel, worker: socket.socket
) -> None:
    worker.close()
    channel.send(Stop())
    with anyio.fail_after(NET_S):
        await channel.run_sender()
    channel.send(Stop())
    assert channel.has_room_for(OUTBOX_LIMIT)


@pytest.mark.parametrize("outbox", ["empty", "full"])
async def test_closing_tells_those_who_wait(channel: SocketChannel, worker: socket.socket, outbox: str) -> None:
    ended: list[str] = []

    async def receive() -> None:
        with pytest.raises(ChannelClosed):
            await channel.receive()
        ended.append("receiver")

    async def send() -> None:
        await channel.run_sender()
        ended.append("sender")

    if outbox == "full":
        channel.send(Generate(1, text="x" * (8 * 1024 * 1024)))
    with anyio.fail_after(NET_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            tasks.start_soon(send)
            for _ in range(5):
                await checkpoint()
            assert ended == []
            channel.close()
    assert sorted(ended) == ["receiver", "sender"]
    channel.close()
    assert channel.drain() == []
    with pytest.raises(ChannelClosed):
        await channel.receive()


async def test_a_small_outbox_is_a_choice(worker: socket.socket) -> None:
    channel = SocketChannel(_ends[worker], outbox_limit=2 * len(encode(Stop())))
    channel.send(Stop())
    channel.send(Stop())
    with pytest.raises(ChannelFull):
        channel.send(Stop())
