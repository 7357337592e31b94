"""Running the asynchronous part of a command: signals, expected errors and a closed output become exit codes.

A signal cancels the command's work and waits for its end, in which every process that was started is ended; a second one
does nothing more, since the first is being obeyed and the end is bounded.
"""

import signal
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskStatus

from runner.command.console import drop_output
from runner.command.exit_codes import ExitCode
from runner.command.failures import EXPECTED, Teller, describe, show


def run(work: Callable[[], Awaitable[int]], *, tell: Teller = show, backend: str = "asyncio") -> int:
    """Do ``work`` in an event loop and give its exit code.

    Args:
        work: gives an exit code.
        tell: told of an expected error.
        backend: ``asyncio`` or ``trio``.
    """
    return anyio.run(_guarded, work, tell, backend=backend)


async def _guarded(work: Callable[[], Awaitable[int]], tell: Teller) -> int:
    code: int = ExitCode.OK
    scope = anyio.CancelScope()
    heard: list[int] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(_hear, scope, heard)
        with scope:
            try:
                code = await work()
            except EXPECTED as error:
                failure = describe(error)
                tell(failure)
                code = failure.code
            except BrokenPipeError:
                drop_output()
                code = ExitCode.BROKEN_PIPE
        tasks.cancel_scope.cancel()
    return 128 + heard[0] if heard else code


async def _hear(
    scope: anyio.CancelScope, heard: list[int], *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            heard.append(number)
            scope.cancel()
