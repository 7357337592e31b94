"""The main loop of the worker: takes commands, gives each request its turn, reports.

It runs in the main thread and waits in the command queue when there is nothing to do. Between two steps (a token, a
piece of a prompt, a group of weights) it looks at the queue, so that a cancel or a stop is seen. It knows no mlx: what
is computed is the engine's.
"""

import logging
import time
import traceback
from collections import deque
from collections.abc import Callable

import msgspec

from runner.channel.frames import FrameError
from runner.channel.messages import (
    Bye,
    CancelRequest,
    Chunk,
    Credit,
    Ended,
    Fatal,
    Gauge,
    Generate,
    LoadModel,
    LoadStep,
    ModelUnloaded,
    Need,
    PrefillStep,
    Refused,
    Started,
    Stop,
    UnloadModel,
)
from runner.worker import memory
from runner.worker.device_errors import device_is_lost
from runner.worker.ending import begin_to_leave, leave
from runner.worker.engine import Checkpoint, Engine, Generation, Piece, RequestRejected
from runner.worker.reader import Command, Reader
from runner.worker.sender import Sender

logger = logging.getLogger(__name__)


class _StopAskedError(Exception):
    """Breaks a load off."""


class _Active:
    """A request that was taken up."""

    def __init__(self, request: Generate, generation: Generation) -> None:
        self.id = request.request
        self.generation = generation
        self.credit = request.credit
        self.reading = True
        """Still in the prompt; that costs no credit."""
        self.tokens = 0
        self.phases: set[str] = set()
        """Phases whose beginning was told; a decode begins for others with the first token that they see."""

    @property
    def ready(self) -> bool:
        """Whether it may take a step."""
        return self.reading or self.credit > 0


class Scheduler:
    """Runs one engine for many requests.

    Args:
        reader: where commands come from.
        sender: where reports go.
        make_engine: called at the first load. It imports what the engine needs.
        concurrency: requests that are worked on in turn; the others wait in the order in which they came.
        checkpoint: called at the start of each phase that is not the engine's own.
    """

    def __init__(
        self,
        reader: Reader,
        sender: Sender,
        make_engine: Callable[[], Engine],
        concurrency: int,
        checkpoint: Checkpoint,
    ) -> None:
        self._reader = reader
        self._sender = sender
        self._make_engine = make_engine
        self._concurrency = concurrency
        self._checkpoint = checkpoint
        self._engine: Engine | None = None
        self._active: deque[_Active] = deque()
        self._queued: deque[Generate] = deque()
        self._phase = "start"

    def gauge(self) -> Gauge:
        """Memory of this process. Safe from any thread."""
        engine = self._engine
        return Gauge(memory.resident()) if engine is None else engine.gauge()

    def run(self, greet: Callable[[], None]) -> None:
        """Say hello, work until ``Stop``, then end the process with code 0; or report what ends it, and end with 1.

        ``greet`` is called once everything is in place to be commanded.
        """
        try:
            self._checkpoint(self._phase)
            greet()
            self._enter("idle")
            while not self._reader.stop_asked.is_set():
                self._admit()
                command = self._command(wait=not any(active.ready for active in self._active))
                if command is not None:
                    self._obey(command)
                else:
                    self._step(self._next_ready())
            self._stop()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the supervisor is told before the end
            self._fail(error)

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._checkpoint(phase)

    def _command(self, *, wait: bool) -> Command | None:
        commands = self._reader.commands
        if not wait and commands.empty():  # nobody else takes from it
            return None
        return commands.get()

    def _obey(self, command: Command) -> None:
        match command:
            case Generate():
                self._queued.append(command)
            case Credit():
                for active in self._active:
                    if active.id == command.request:
                        active.credit += command.chunks
            case CancelRequest():
                self._cancel(command.request)
            case LoadModel():
                self._load(command.directory)
            case UnloadModel():
                self._unload()
            case Stop():
                pass  # the flag that the reader set ends the loop; what stood before it in the queue is dropped
            case FrameError():
                raise command

    # The model.

    def _load(self, directory: str) -> None:
        self._phase = "load"
        begin = time.perf_counter()
        logger.info("Loading %s", directory)
        try:
            self._report(LoadStep("importing"))
            if self._engine is None:
                self._engine = self._make_engine()
            loaded = self._engine.load(directory, self._report)
        except _StopAskedError:
            logger.info("The load was broken off")
            return  # what is half loaded goes with the stop
        self._sender.send(msgspec.structs.replace(loaded, seconds=time.perf_counter() - begin))
        self._phase = "idle"

    def _report(self, report: LoadStep | Need) -> None:
        if isinstance(report, LoadStep):
            if self._reader.stop_asked.is_set():
                raise _StopAskedError
            if report.step == "warm-up":
                self._phase = "warmup"
        self._sender.send(report)

    def _unload(self) -> None:
        self._drop_requests()
        self._enter("unload")
        if self._engine is not None:
            self._engine.unload()
        self._sender.send(ModelUnloaded())
        self._phase = "idle"

    def _stop(self) -> None:
        while (command := self._command(wait=False)) is not None:
            if isinstance(command, Generate):
                self._queued.append(command)
        self._drop_requests()
        self._enter("shutdown")
        if self._engine is not None:
            self._engine.unload()
        self._reader.expect_end()
        self._sender.finish(Bye())
        leave(0)

    # Requests.

    def _admit(self) -> None:
        while self._queued and len(self._active) < self._concurrency:
            request = self._queued.popleft()
            self._phase = "prefill"
            try:
                if self._engine is None:
                    raise RequestRejected("bad_request", "No model is loaded; load one first.")
                generation = self._engine.open(request, self._sender.send)
            except RequestRejected as rejected:
                self._sender.send(Refused(request.request, rejected.kind, rejected.message))
                continue
            except Exception as error:  # noqa: BLE001 - one request fails, the others go on
                self._refuse(request.request, error)
                continue
            self._sender.send(Started(request.request, generation.prompt_tokens))
            self._active.append(_Active(request, generation))
        if not self._active:
            self._phase = "idle"

    def _next_ready(self) -> _Active:
        """Give the request whose turn it is; one without credit is passed over. There must be one that may step."""
        while True:
            active = self._active[0]
            self._active.rotate(-1)
            if active.ready:
                return active

    def _step(self, active: _Active) -> None:
        self._phase = "prefill" if active.reading else "decode"
        begins = self._phase not in active.phases and (active.reading or active.tokens > 0)
        if begins:
            active.phases.add(self._phase)
            self._checkpoint(self._phase, active.id)
        try:
            if begins:
                self._checkpoint(self._phase, active.id, guarded=True)
            result = active.generation.step()
        except Exception as error:  # noqa: BLE001 - one request fails, the others go on
            self._remove(active)
            self._refuse(active.id, error)
            return
        if isinstance(result, PrefillStep):
            active.reading = result.done < result.total
            self._sender.send(result)
        else:
            self._deliver(active, result)

    def _deliver(self, active: _Active, piece: Piece) -> None:
        if piece.text or piece.tokens:
            active.credit -= 1
            active.tokens += piece.tokens
            self._sender.send(Chunk(active.id, piece.text, piece.tokens))
        if piece.end is not None:
            self._remove(active)
            self._sender.send(Ended(active.id, piece.end, active.tokens))

    def _refuse(self, request: int, error: Exception) -> None:
        if device_is_lost(error):
            raise error
        text = "".join(traceback.format_exception(error))
        self._sender.send(Refused(request, "exception", _sendable(f"{_name(error)}: {error}"), _sendable(text)))

    def _cancel(self, request: int) -> None:
        for active in list(self._active):
            if active.id == request:
                self._remove(active)
                self._sender.send(Ended(request, "cancelled", active.tokens))
        for queued in list(self._queued):
            if queued.request == request:
                self._queued.remove(queued)
                self._sender.send(Ended(request, "cancelled"))

    def _remove(self, active: _Active) -> None:
        self._active.remove(active)
        active.generation.close()

    def _drop_requests(self) -> None:
        for request in [*(active.id for active in self._active), *(queued.request for queued in self._queued)]:
            self._cancel(request)

    # The end.

    def _fail(self, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error))
        begin_to_leave()
        self._reader.expect_end()
        self._sender.finish(Fatal(_name(error), _sendable(str(error)), _sendable(text), self._phase))
        leave(1)


def _name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _sendable(text: str) -> str:
    """A text as a message can hold it: a file name that is no text comes in halves of characters."""
    return text.encode("utf-8", "backslashreplace").decode()
