"""Small answers that a person or a probe asks for: models, health, status."""

import time
from typing import cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fsm import Activity, FailureCause, Process, RequestState, State
from runner.channel.messages import Gauge
from runner.serve.answers import Model, ModelList
from runner.serve.errors import ApiError, not_ready
from runner.serve.service import Service


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Of ``/healthz``: the supervisor lives."""

    status: str = "ok"


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """Of ``/readyz``: the model answers."""

    status: str = "ready"
    state: State


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of the worker at its last beat, in bytes."""

    resident: int
    active: int
    peak: int
    cache: int

    @classmethod
    def of(cls, gauge: Gauge) -> "Memory":
        """A worker's gauge, with names."""
        return cls(resident=gauge.resident, active=gauge.active, peak=gauge.peak, cache=gauge.cache)


class LiveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that has not ended."""

    id: int
    state: RequestState


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Of ``/status``: where everything stands."""

    model: str
    state: State
    since_s: float
    """Seconds for which the runner has been in that state."""
    uptime_s: float
    """Seconds for which the server has served."""
    incarnation: int
    seq: int
    """Number of the last record."""
    activity: Activity
    done: int
    total: int
    fetching: str
    """How far the fetching of the model is, before the runner loads it."""
    process: Process
    pid: int | None
    settled: bool
    cause: FailureCause | None
    """Why it failed."""
    requests: tuple[LiveRequest, ...]
    places: int
    """Requests that are taken at a time, queued ones included."""
    context: int
    """Longest prompt and answer together, in tokens; 0 while that is not known."""
    memory: Memory
    versions: dict[str, str]


def status_of(service: Service) -> Status:
    """Where everything stands now."""
    snapshot = service.runner.snapshot()
    return Status(
        model=service.model,
        state=snapshot.state,
        since_s=snapshot.at - snapshot.since,
        uptime_s=time.time() - service.began,
        incarnation=snapshot.incarnation,
        seq=snapshot.seq,
        activity=snapshot.activity,
        done=snapshot.done,
        total=snapshot.total,
        fetching=service.loading.text if snapshot.state is State.IDLE else "",
        process=snapshot.process,
        pid=snapshot.pid,
        settled=snapshot.settled,
        cause=snapshot.cause,
        requests=tuple(LiveRequest(id=number, state=state) for number, state in snapshot.requests.items()),
        places=service.places,
        context=snapshot.context,
        memory=Memory.of(snapshot.gauge),
        versions=snapshot.versions,
    )


def as_json(value: msgspec.Struct, status: int = 200) -> Response:
    """A struct as an answer."""
    return Response(msgspec.json.encode(value), status, {"Cache-Control": "no-store"}, "application/json")


async def healthz(request: Request) -> Response:
    """Whether the supervisor lives. Whoever gets an answer knows."""
    return as_json(Health())


async def readyz(request: Request) -> Response:
    """Whether a request would be taken."""
    service = _service(request)
    snapshot = service.runner.snapshot()
    if service.stopping.is_set() or not service.serves(snapshot):
        # What is open to everybody says no more than it must.
        error = not_ready(snapshot, service.loading.text)
        return ApiError(
            503, f"Not ready: {snapshot.state.value}.", code=error.detail.code, state=snapshot.state
        ).response()
    return as_json(Readiness(state=snapshot.state))


async def status(request: Request) -> Response:
    """Where everything stands."""
    return as_json(status_of(_service(request)))


async def models(request: Request) -> Response:
    """The models that are served: one."""
    return as_json(ModelList(data=(_model(_service(request)),)))


async def model(request: Request) -> Response:
    """One model by its name."""
    service = _service(request)
    service.check_model(cast("str", request.path_params["name"]))
    return as_json(_model(service))


def _model(service: Service) -> Model:
    return Model(id=service.model, created=int(service.began))


def _service(request: Request) -> Service:
    return request.app.state.service
