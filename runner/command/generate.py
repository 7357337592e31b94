"""``runner generate``: one question, one answer, then nothing is left."""

import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from runner.command import options
from runner.command.console import on_terminal
from runner.command.failures import teller, with_journal
from runner.command.loading import load
from runner.command.progress import display
from runner.command.run import run
from runner.command.stdout import Stdout
from runner.errors import CommandRefused, RequestCancelled, RequestFailed
from runner.generation import Answer, Generation
from runner.supervisor import RunnerSupervisor


def generate(
    prompt: Annotated[
        str | None,
        typer.Argument(
            metavar="PROMPT", help="The question. `-`, or none where input is piped, reads it from standard input."
        ),
    ] = None,
    model: options.Model = options.DEFAULT_MODEL,
    max_tokens: options.MaxTokens = 256,
    temperature: options.Temperature = 0.0,
    top_p: options.TopP = 1.0,
    seed: options.Seed = None,
    stop: options.Stop = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Give the prompt to the model as it is, without its chat template.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object at the end instead of text as it comes; errors too.")
    ] = False,
    memory_limit: options.MemoryLimit = None,
    load_timeout: options.LoadTimeout = None,
    prefill_timeout: options.PrefillTimeout = None,
    decode_timeout: options.DecodeTimeout = None,
    journal_file: options.JournalFile = None,
    no_journal: options.NoJournal = False,
    journal_key: options.JournalKey = None,
    record_text: options.RecordText = False,
) -> None:
    """Answer one prompt and end. The answer is written as it comes.

    The model is fetched first if it is not on this machine.
    """
    text = _prompt(prompt)
    journal = options.journal(journal_file, no_journal, journal_key, record_text)
    out = Stdout()
    written: Path | None = None

    async def work() -> int:
        nonlocal written
        if not (text if raw else text.strip()):
            # Known before a model is loaded for nothing.
            raise CommandRefused("generate", "the prompt is empty.")
        settings = options.settings(memory_limit, load_timeout, prefill_timeout, decode_timeout)
        wanted = Wanted(max_tokens, temperature, top_p, seed, tuple(stop or ()), raw=raw)
        shown = display()
        async with RunnerSupervisor(model, settings=settings, journal=journal, progress=shown.show) as runner:
            written = runner.journal
            await load(runner, shown)
            answer = await _answer(wanted.of(runner, text), out, quiet=json)
        if json:
            await out.write(msgspec.json.encode(_facts(answer, model)).decode() + "\n")
        return 0

    code = run(work, tell=lambda failure: teller(json=json)(with_journal(failure, written)))
    out.leave_line()
    raise typer.Exit(code)


class Wanted(msgspec.Struct, frozen=True):
    """What was asked for besides the text."""

    max_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    stop: tuple[str, ...]
    raw: bool = False

    def of(self, runner: RunnerSupervisor, prompt: str | Sequence[Mapping[str, str]]) -> Generation:
        """Ask the runner for the answer to ``prompt``; raises what ``runner.generate`` raises."""
        return runner.generate(
            prompt,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            stop=self.stop,
            raw=self.raw,
        )


async def _answer(generation: Generation, out: Stdout, *, quiet: bool) -> Answer:
    async with generation:
        if not quiet:
            async for _ in stream(generation, out):
                pass
        return await generation.result()


async def stream(generation: Generation, out: Stdout) -> AsyncGenerator[str]:
    """Write an answer as it comes, and give each piece that was written. Its last line is ended, unless it is cancelled here.

    Raises:
        RequestFailed: if it fails.
        RequestCancelled: if it is cancelled.
        BrokenPipeError: if nobody reads any more.
    """
    try:
        async for chunk in generation:
            if chunk.text:
                await out.write(chunk.text)
                yield chunk.text
    except (RequestFailed, RequestCancelled):
        await out.end_line()
        raise
    await out.end_line()


def _facts(answer: Answer, model: str) -> dict[str, object]:
    return {
        "text": answer.text,
        "tokens": answer.tokens,
        "reason": answer.reason,
        "prompt_tokens": answer.prompt_tokens,
        "seconds": answer.seconds,
        "first_token_s": answer.first_token_s,
        "model": model,
        "incarnation": answer.incarnation,
    }


def _prompt(given: str | None) -> str:
    """The prompt, from the argument or from standard input. A final line end belongs to the file, not to the prompt."""
    if given is None and on_terminal(sys.stdin):
        raise typer.BadParameter("There is no prompt. Give one, or pipe it in.", param_hint="PROMPT")
    if given is not None and given != "-":
        # Bytes that are no text come as surrogates, which no message can carry.
        return given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return sys.stdin.buffer.read().decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
