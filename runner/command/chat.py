"""``runner chat``: a conversation with a model that stays loaded.

The supervisor lives in a thread of its own for as long as the conversation lasts; this thread reads lines, which blocks, and
for which the terminal's own editing wants the main thread. Ctrl-C stops an answer, not the conversation.
"""

import contextlib
import importlib
import signal
import sys
from collections.abc import Generator
from io import TextIOWrapper
from types import FrameType
from typing import cast

import typer
from anyio.from_thread import BlockingPortal, start_blocking_portal

from fsm import RequestErrorKind, State
from runner.command import options
from runner.command.console import drop_output, on_terminal
from runner.command.exit_codes import ExitCode
from runner.command.failures import EXPECTED, describe, show
from runner.command.generate import Wanted, stream
from runner.command.loading import load
from runner.command.progress import Display, display
from runner.command.sigterm import EndsInOrder
from runner.command.stdout import Stdout
from runner.errors import RequestCancelled, RequestFailed, RunnerFailed
from runner.generation import Generation
from runner.supervisor import RunnerSupervisor

PROMPT = "> "

_KNOWN = "/reset forgets the conversation, /exit or Ctrl-D ends it, Ctrl-C stops an answer."


def chat(
    model: options.Model = options.DEFAULT_MODEL,
    max_tokens: options.MaxTokens = 512,
    temperature: options.Temperature = 0.0,
    top_p: options.TopP = 1.0,
    seed: options.Seed = None,
    stop: options.Stop = None,
    memory_limit: options.MemoryLimit = None,
    load_timeout: options.LoadTimeout = None,
    prefill_timeout: options.PrefillTimeout = None,
    decode_timeout: options.DecodeTimeout = None,
    journal_file: options.JournalFile = None,
    no_journal: options.NoJournal = False,
    journal_key: options.JournalKey = None,
    record_text: options.RecordText = False,
) -> None:
    """Talk with a model, a line at a time.

    /reset forgets the conversation, /exit or Ctrl-D ends it, Ctrl-C stops an answer. If the runner fails, its cause is shown
    and a restart is offered.
    """
    journal = options.journal(journal_file, no_journal, journal_key, record_text)
    shown = display()
    wanted = Wanted(max_tokens, temperature, top_p, seed, tuple(stop or ()))
    try:
        settings = options.settings(memory_limit, load_timeout, prefill_timeout, decode_timeout)
        with start_blocking_portal() as portal:
            runner = RunnerSupervisor(model, settings=settings, journal=journal, progress=shown.show)
            with portal.wrap_async_context_manager(runner), EndsInOrder():
                code = Conversation(portal, runner, shown, wanted).run()
    except EXPECTED as error:
        failure = describe(error)
        show(failure)
        code = failure.code
    except BrokenPipeError:
        drop_output()
        code = ExitCode.BROKEN_PIPE
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    raise typer.Exit(code)


class Conversation:
    """Turns of a user and a model.

    Args:
        portal: to the thread of the supervisor.
        runner: entered.
        shown: shows how far a load is.
        wanted: how answers are drawn.
    """

    def __init__(self, portal: BlockingPortal, runner: RunnerSupervisor, shown: Display, wanted: Wanted) -> None:
        self._portal = portal
        self._runner = runner
        self._shown = shown
        self._wanted = wanted
        self._turns: list[dict[str, str]] = []
        self._generation: Generation | None = None
        self._interruptible = True
        """Whether Ctrl-C may raise: while a line or a load is waited for."""
        self._stopped = False
        """Whether Ctrl-C came since the last line was read."""
        self._out = Stdout()
        self._by_hand = on_terminal(sys.stdin)
        cast("TextIOWrapper", sys.stdin).reconfigure(errors="replace")

    def run(self) -> int:
        """Talk until the input ends. Gives an exit code.

        Raises:
            RunnerFailed, CommandRefused: if the model can't be loaded at first.
            KeyboardInterrupt: while it loads.
        """
        signal.signal(signal.SIGINT, self._interrupted)
        self._portal.call(load, self._runner, self._shown)
        self._interruptible = False
        if self._by_hand:
            with contextlib.suppress(ImportError):
                # Its import alone gives input() a line that can be edited, and a history.
                importlib.import_module("readline")
            sys.stderr.write(_KNOWN + "\n")
        while True:
            line = self._line()
            if line is None or line == "/exit":
                return ExitCode.OK
            if line == "/reset":
                self._turns.clear()
            elif line.startswith("/"):
                sys.stderr.write(f"{line.split()[0]} is not known. {_KNOWN}\n")
            elif line and not self._answer(line):
                return ExitCode.RUNNER_FAILED

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """Take Ctrl-C: it ends a wait for a line or for a model, and stops an answer."""
        if self._interruptible:
            raise KeyboardInterrupt
        self._stopped = True
        if self._generation is not None:
            self._portal.start_task_soon(self._generation.cancel)

    @contextlib.contextmanager
    def _waiting(self) -> Generator[None]:
        """A wait that Ctrl-C ends with ``KeyboardInterrupt``."""
        self._interruptible = True
        try:
            yield
        finally:
            self._interruptible = False

    def _line(self) -> str | None:
        """The next line without blanks around it; ``None`` at the end of the input."""
        while True:
            self._stopped = False
            try:
                with self._waiting():
                    if self._by_hand:
                        return input(PROMPT).strip()
                    line = sys.stdin.readline()
                return line.strip() if line else None
            except EOFError:
                sys.stderr.write("\n")
                return None
            except KeyboardInterrupt:
                if not self._by_hand:
                    raise
                sys.stderr.write(f"\n{_KNOWN}\n")

    def _answer(self, line: str) -> bool:
        """Answer a line. Whether the conversation can go on."""
        if self._runner.state is not State.RUNNING:
            # It failed between two lines.
            return self._failed(self._portal.call(_why, self._runner))
        self._turns.append({"role": "user", "content": line})
        try:
            text = self._ask()
        except RequestFailed as error:
            self._turns.pop()
            if error.kind is RequestErrorKind.RUNNER_FAILED:
                return self._failed(error)
            show(describe(error))
            return True
        if text:
            self._turns.append({"role": "assistant", "content": text})
        else:
            self._turns.pop()
        return True

    def _ask(self) -> str:
        """Write the answer to the turns so far, until its end or Ctrl-C; give what was written."""
        self._generation = self._portal.call(self._submit)
        try:
            if self._stopped:
                # Ctrl-C came between the line and the request.
                self._portal.call(self._generation.cancel)
            return self._portal.call(self._tell, self._generation)
        finally:
            self._generation = None

    def _submit(self) -> Generation:
        return self._wanted.of(self._runner, self._turns)

    async def _tell(self, generation: Generation) -> str:
        written: list[str] = []
        async with generation:
            with contextlib.suppress(RequestCancelled):
                async for piece in stream(generation, self._out):
                    written.append(piece)  # noqa: PERF401 - a comprehension would lose what came before a cancel
        return "".join(written)

    def _failed(self, error: Exception) -> bool:
        """Tell why, and restart if that is wanted. Whether the conversation can go on."""
        while True:
            show(describe(error))
            try:
                with self._waiting():
                    if not self._by_hand or not self._wants_restart():
                        return False
                    self._portal.call(self._runner.restart)
                    self._portal.call(load, self._runner, self._shown)
            except RunnerFailed as again:
                error = again
            else:
                return True

    def _wants_restart(self) -> bool:
        try:
            return input("Restart? [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            return False


async def _why(runner: RunnerSupervisor) -> RunnerFailed:
    """The failure of a runner that is no longer running, once it is settled."""
    try:
        await runner.wait_for(State.RUNNING)
    except RunnerFailed as error:
        return error
    raise AssertionError("it serves")
