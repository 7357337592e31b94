"""One answer on its way: the supervisor's end of it, and the caller's.

``Stream`` is what the supervisor holds: chunks that came, credit, the outcome. ``Generation`` is what the caller holds; the
supervisor never refers to it, so that a caller who drops it can be noticed.
"""

import warnings
from collections import deque
from collections.abc import Callable
from types import TracebackType

import anyio
import anyio.lowlevel
import msgspec

from fsm import Outcome, RequestState
from runner.channel.messages import CREDIT, Chunk
from runner.errors import RequestCancelled, RequestFailed


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A finished answer."""

    request: int
    text: str
    tokens: int
    """Tokens generated."""
    reason: str
    """``stop`` (the model or a stop string ended it) or ``length``."""
    prompt_tokens: int
    incarnation: int
    first_token_s: float | None
    """Seconds from the submission to the first chunk; ``None`` if there was none."""
    seconds: float
    """Seconds from the submission to the end."""


class Overdrawn(Exception):
    """The worker sent more chunks than it had credit for."""


class Stream:
    """What the supervisor holds of a request that has not been read to its end."""

    def __init__(self, request: int, now: Callable[[], float], grant: Callable[[int, int], None]) -> None:
        self.request = request
        self.prompt_tokens = 0
        self.outcome: Outcome | None = None
        self.started_at = now()
        self.first_at: float | None = None
        self.ended_at: float | None = None
        self.delivered = 0
        self._now = now
        self._grant = grant
        self._chunks: deque[Chunk] = deque()
        self._credit = CREDIT
        self._taken = 0
        self._parts: list[str] = []
        self._more = anyio.Event()

    @property
    def paused(self) -> bool:
        """Whether the worker waits for the reader: it can't make progress, and that is no fault of its own."""
        return self._credit == 0

    def put(self, chunk: Chunk) -> None:
        """Take a chunk from the worker.

        Raises:
            Overdrawn: if the worker had no credit left.
        """
        if self._credit == 0:
            raise Overdrawn
        self._credit -= 1
        if self.first_at is None:
            self.first_at = self._now()
        self._chunks.append(chunk)
        self._wake()

    def finish(self, outcome: Outcome) -> None:
        """Take the outcome. It comes once; what was put before it is still read first."""
        self.outcome = outcome
        self.ended_at = self._now()
        self._wake()

    def _wake(self) -> None:
        if self._more.statistics().tasks_waiting:
            self._more.set()
            self._more = anyio.Event()

    async def get(self) -> Chunk | None:
        """Give the next chunk, or ``None`` after the last. Cancelling it loses nothing."""
        while not self._chunks:
            if self.outcome is not None:
                return None
            await self._more.wait()
        chunk = self._chunks.popleft()
        self.delivered += chunk.tokens
        self._parts.append(chunk.text)
        self._taken += 1
        # Half of the credit at a time: a worker that is never quite without it, and a frame for 32 chunks, not for each.
        if self._taken >= CREDIT // 2 and self.outcome is None:
            self._credit += self._taken
            self._grant(self.request, self._taken)
            self._taken = 0
        return chunk

    def answer(self) -> Answer:
        """What was read, as a finished answer.

        Raises:
            RequestFailed: if it failed.
            RequestCancelled: if it was cancelled.
        """
        outcome = self.outcome
        if outcome is None:
            raise RuntimeError("The answer is not finished.")
        if outcome.state is not RequestState.DONE:
            outcome = msgspec.structs.replace(outcome, tokens=self.delivered)
            raise RequestFailed(outcome) if outcome.state is RequestState.FAILED else RequestCancelled(outcome)
        ended = self._now() if self.ended_at is None else self.ended_at
        return Answer(
            request=self.request,
            text="".join(self._parts),
            tokens=outcome.tokens,
            reason=outcome.reason,
            prompt_tokens=self.prompt_tokens,
            incarnation=outcome.incarnation,
            first_token_s=None if self.first_at is None else self.first_at - self.started_at,
            seconds=ended - self.started_at,
        )


class Generation:
    """An answer on its way: iterate over it for its chunks, or await ``result`` for all of it.

    Use it as an async context manager: leaving the block, also by an error or a cancellation, cancels the request if it has
    not ended. One that is dropped without that is cancelled too, with a ``ResourceWarning``. A chunk that is not read holds
    this request back, and no other.
    """

    def __init__(self, stream: Stream, cancel: Callable[[int], None], drop: Callable[[int], None]) -> None:
        self._stream = stream
        self._cancel = cancel
        self._drop = drop
        self._closed = False

    @property
    def id(self) -> int:
        """The request's id, as it stands in the records. Never used twice by one supervisor."""
        return self._stream.request

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; ``None`` while it has not."""
        return self._stream.outcome

    def __aiter__(self) -> "Generation":
        return self

    async def __anext__(self) -> Chunk:
        """Give the next chunk. Cancelling it loses none.

        Raises:
            RequestFailed: after the last chunk, if the request failed.
            RequestCancelled: after the last chunk, if it was cancelled.
        """
        await anyio.lowlevel.checkpoint()
        chunk = await self._stream.get()
        if chunk is not None:
            return chunk
        if not self._closed:
            self._stream.answer()
        raise StopAsyncIteration

    async def result(self) -> Answer:
        """Read to the end and give the whole answer, what was iterated over before included.

        Cancelling it leaves the request running; leave the block or call ``cancel`` to end it.

        Raises:
            RequestFailed: if the request failed.
            RequestCancelled: if it was cancelled.
        """
        await anyio.lowlevel.checkpoint()
        while await self._stream.get() is not None:
            pass
        return self._stream.answer()

    def cancel(self) -> None:
        """Ask for its end, without waiting for it. Nothing happens if it has ended."""
        self._cancel(self._stream.request)

    async def aclose(self) -> None:
        """Cancel it, and let what is left of it go unread. It returns at once; the worker ends the request between two tokens."""
        if not self._closed:
            self._closed = True
            if self._stream.outcome is None:
                self.cancel()
        await anyio.lowlevel.checkpoint()

    async def __aenter__(self) -> "Generation":
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not self._closed and self._stream.outcome is None:
            self._drop(self._stream.request)
            warnings.warn(
                f"Request {self._stream.request} was dropped before its end; it is cancelled. "
                "Use `async with runner.generate(...)`.",
                ResourceWarning,
                stacklevel=2,
            )
