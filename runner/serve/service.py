"""What the addresses have in common: the runner, how it is asked, and when a call is taken."""

import secrets
import time
from collections.abc import Mapping, Sequence

import anyio
import msgspec

from fsm import Activity, CommandRefused, State
from runner.errors import RunnerFailed
from runner.generation import Generation
from runner.serve.errors import ApiError, not_ready, retry_after
from runner.serve.loading import Loading
from runner.serve.options import ServeOptions
from runner.supervisor import RunnerSupervisor, Snapshot


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What one call asks of the model."""

    prompt: str | Sequence[Mapping[str, str]]
    field: str
    """Of the body, that holds the prompt."""
    raw: bool
    max_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    stop: tuple[str, ...]


class Service:
    """A runner that is served.

    Args:
        runner: entered.
        model: its name, as clients name it.
        places: requests that are taken at a time, queued ones included; one more gets 429.
        options: how the server answers.
        loading: what is known of a load under way.
        stopping: set once the server is to end.
    """

    def __init__(
        self,
        runner: RunnerSupervisor,
        *,
        model: str,
        places: int,
        options: ServeOptions,
        loading: Loading,
        stopping: anyio.Event,
    ) -> None:
        self.runner = runner
        self.model = model
        self.options = options
        self.loading = loading
        self.began = time.time()
        """When serving began, in seconds since 1970."""
        self.stopping = stopping
        self.places = places
        self._run = secrets.token_hex(4)

    def id_of(self, generation: Generation) -> str:
        """The name of a request, that no other of this or another run has. It ends with its number in the journal."""
        return f"{self._run}-{generation.id}"

    def check_model(self, named: str | None) -> None:
        """Look at the model that a call names.

        Raises:
            ApiError: 404 if it is another one.
        """
        if named is not None and named != self.model:
            raise ApiError(
                404,
                f"There is no model {named!r} here; {self.model!r} is served.",
                code="model_not_found",
                param="model",
            )

    async def submit(self, wanted: Wanted) -> Generation:
        """Ask the model, waiting for it if it is on its way and ``wait_ready`` allows that.

        Raises:
            ApiError: 400, 429 or 503.
        """
        if not self.serves(self.runner.snapshot()):
            await self._wait_ready()
        snapshot = self.runner.snapshot()
        if not self.serves(snapshot):
            raise not_ready(snapshot, self.loading.text)
        if len(snapshot.requests) >= self.places:
            raise self._full()
        try:
            return self.runner.generate(
                wanted.prompt,
                max_tokens=wanted.max_tokens,
                temperature=wanted.temperature,
                top_p=wanted.top_p,
                seed=wanted.seed,
                stop=wanted.stop,
                raw=wanted.raw,
            )
        except CommandRefused as error:
            if error.state is None:
                raise ApiError(400, error.reason, code="invalid_value", param=wanted.field) from None
            raise self._full() from None

    def _full(self) -> ApiError:
        return ApiError(
            429,
            f"{self.places} requests are under way or wait already; ask again.",
            code="queue_full",
            headers={"Retry-After": "1"},
        )

    def when_again(self) -> dict[str, str]:
        """Headers that say when to ask again, where something is due."""
        return retry_after(None) if self.is_coming(self.runner.snapshot()) else {}

    @staticmethod
    def serves(snapshot: Snapshot) -> bool:
        """Whether a request would be taken, if there is a place for it."""
        return snapshot.state is State.RUNNING and snapshot.activity is Activity.SERVING

    async def _wait_ready(self) -> None:
        """Wait for a model that is on its way, within the bound."""
        with anyio.move_on_after(self.options.wait_ready):
            while self.is_coming(self.runner.snapshot()):
                try:
                    await self.runner.wait_for(State.RUNNING)
                    return
                except RunnerFailed:
                    # Whether another one comes is looked at anew.
                    continue

    def is_coming(self, snapshot: Snapshot) -> bool:
        """Whether the model is on its way."""
        return snapshot.state is State.LOADING or (snapshot.state is State.IDLE and self.loading.under_way)
