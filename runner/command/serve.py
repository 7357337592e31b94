"""``runner serve``: an OpenAI endpoint that outlives its model."""

import os
import signal
import socket
import sys
from pathlib import Path
from typing import Annotated

import anyio
import msgspec
import typer
from anyio.abc import TaskStatus

from runner.command import options
from runner.command.exit_codes import ExitCode
from runner.command.failures import EXPECTED, Failure, describe, show
from runner.journal.journal import Journal
from runner.serve.listen import CannotListen, is_loopback, listen, url_of
from runner.serve.loading import Loading
from runner.serve.options import BODY_LIMIT, ServeOptions
from runner.settings import Settings
from runner.supervisor import RunnerSupervisor

_WHO = "Who may ask"
_HOW = "How calls are taken"
KEY_VARIABLE = "RUNNER_API_KEY"


def serve(
    model: options.Model = options.DEFAULT_MODEL,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Others than this machine's own need a key.", rich_help_panel=_WHO)
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.", rich_help_panel=_WHO)] = 8080,
    api_key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            envvar=KEY_VARIABLE,
            help="What a call must show. The environment is the better place: arguments can be read by everybody here.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file that holds the key.", rich_help_panel=_WHO),
    ] = None,
    without_key: Annotated[
        bool,
        typer.Option(
            "--without-key", help="Listen where others can reach it although there is no key.", rich_help_panel=_WHO
        ),
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name under which it may be asked, besides localhost and literal addresses; can be repeated.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    allowed_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Origin of a web page that may ask, as https://chat.example; can be repeated.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    max_queue: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Requests that may wait; one more is answered with 429.", rich_help_panel=_HOW
        ),
    ] = 64,
    concurrency: Annotated[
        int, typer.Option(min=1, metavar="N", help="Requests that are worked on at a time.", rich_help_panel=_HOW)
    ] = 4,
    wait_ready: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Let a call wait for a model on its way, instead of 503.",
            rich_help_panel=_HOW,
        ),
    ] = 0.0,
    max_body: Annotated[
        int | None,
        typer.Option(
            parser=options.size, metavar="SIZE", help="Longest body of a call [default: 8MiB].", rich_help_panel=_HOW
        ),
    ] = None,
    memory_limit: options.MemoryLimit = None,
    load_timeout: options.LoadTimeout = None,
    prefill_timeout: options.PrefillTimeout = None,
    decode_timeout: options.DecodeTimeout = None,
    journal_file: options.JournalFile = None,
    no_journal: options.NoJournal = False,
    journal_key: options.JournalKey = None,
    record_text: options.RecordText = False,
) -> None:
    """Serve a model to OpenAI clients, and outlive it.

    The server answers from the start; the model is fetched and loaded meanwhile. Whatever becomes of the model's process, each
    call is answered, with the cause where there is no answer. SIGTERM and Ctrl-C end it in order, with exit code 0.
    """
    journal = options.journal(journal_file, no_journal, journal_key, record_text)
    # The model's process has no use for it.
    os.environ.pop(KEY_VARIABLE, None)
    if api_key is not None and api_key_file is not None:
        raise typer.BadParameter("One of them, not both.", param_hint="--api-key and --api-key-file")
    in_file = options.key_in(api_key_file, "--api-key-file")
    key = api_key if in_file is None else in_file.decode("utf-8", "surrogateescape")
    try:
        told = ServeOptions(
            api_key=key,
            allowed_hosts=tuple(allowed_host or ()),
            allowed_origins=tuple(allowed_origin or ()),
            body_limit=max_body or BODY_LIMIT,
            wait_ready=wait_ready,
        )
        settings = msgspec.structs.replace(
            options.settings(memory_limit, load_timeout, prefill_timeout, decode_timeout),
            concurrency=concurrency,
            max_requests=concurrency + max_queue,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    listeners = _listen(host, port, has_key=key is not None, without_key=without_key)
    raise typer.Exit(_run(model, settings, journal, told, listeners, url_of(listeners[0], host)))


def _listen(host: str, port: int, *, has_key: bool, without_key: bool) -> list[socket.socket]:
    try:
        listeners = listen(host, port)
    except CannotListen as error:
        show(Failure(code=ExitCode.REFUSED, what="server", sentence=str(error)))
        raise typer.Exit(ExitCode.REFUSED) from error
    if not has_key and not without_key and not all(map(is_loopback, listeners)):
        for listener in listeners:
            listener.close()
        raise typer.BadParameter(
            f"Others could reach {host}, and there is no key. Set {KEY_VARIABLE}, or say --without-key.",
            param_hint="--host",
        )
    return listeners


def _run(
    model: str,
    settings: Settings,
    journal: Journal | None,
    told: ServeOptions,
    listeners: list[socket.socket],
    url: str,
) -> int:
    # Imported here: no other command has a use for a web server.
    from runner.serve.run import run
    from runner.serve.service import Service
    from runner.serve.uvicorn_log import forward

    forward()

    async def work() -> None:
        loading, stopping = Loading(), anyio.Event()
        async with anyio.create_task_group() as tasks:
            await tasks.start(_hear, stopping)
            async with RunnerSupervisor(model, settings=settings, journal=journal, progress=loading.progress) as runner:
                service = Service(
                    runner,
                    model=model,
                    places=settings.max_requests,
                    options=told,
                    loading=loading,
                    stopping=stopping,
                )
                await run(service, listeners, ready=lambda: _say(f"Serving {model} at {url}"))
            tasks.cancel_scope.cancel()

    code: int = ExitCode.OK
    try:
        anyio.run(work)
    except* EXPECTED as errors:
        failure = describe(_first(errors))
        show(failure)
        code = failure.code
    finally:
        for listener in listeners:
            listener.close()
    return code


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    """The first error of a group, whatever groups it is in."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


async def _hear(stopping: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
    """Take the signals that end it. A second one changes nothing: the first is being obeyed, and the end is bounded."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            stopping.set()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
