"""Loading a model while a display follows how far it is."""

import anyio

from fsm import Activity, State
from runner.command.failures import EXPECTED
from runner.command.progress import Display
from runner.feed import Changes, Missed
from runner.models.progress import Progress
from runner.supervisor import RunnerSupervisor

_STEPS = {Activity.IMPORTING: "importing", Activity.WEIGHTS: "weights", Activity.WARM_UP: "warm-up"}


async def load(runner: RunnerSupervisor, display: Display) -> None:
    """Load the model, and raise what ``runner.load()`` raises. Cancelling it leaves the load running."""
    failed: Exception | None = None
    with display:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_follow, runner.changes(), display)
            try:
                await runner.load()
            except EXPECTED as error:
                # Outside of the group, which would wrap it.
                failed = error
            tasks.cancel_scope.cancel()
    if failed is not None:
        raise failed


async def _follow(changes: Changes, display: Display) -> None:
    async for record in changes:
        if not isinstance(record, Missed) and record.dest is State.LOADING and record.activity in _STEPS:
            display.show(Progress(_STEPS[record.activity], record.done, record.total))
