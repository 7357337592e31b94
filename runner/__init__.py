"""Keeps a language-model process (MLX, mlx-lm) alive or dead on purpose.

The public names are those below; other modules may change. The supervisor process never imports mlx. As a library it logs
nothing until ``loguru.logger.enable("runner")`` is called.

Names are imported when they are first used: the worker is a part of this package too, and what the supervisor needs would
more than double the time until it says hello.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsm import CommandRefused, FailureCause, Kind, Outcome, Record, RequestErrorKind, RequestState, State
    from runner.channel.messages import Chunk, Gauge
    from runner.errors import ProcessUnkillable, RequestCancelled, RequestFailed, RunnerFailed
    from runner.faults import Fault, FaultKind
    from runner.feed import Changes, Missed
    from runner.generation import Answer, Generation
    from runner.journal.errors import JournalRefused
    from runner.journal.journal import Journal
    from runner.models.errors import ModelError
    from runner.restart.course import RestartStatus
    from runner.restart.policy import RestartPolicy
    from runner.settings import Settings, SettingsError
    from runner.supervisor import RunnerSupervisor, Snapshot

__version__ = "0.1.0"

_HOMES = {
    "fsm": ("CommandRefused", "FailureCause", "Kind", "Outcome", "Record", "RequestErrorKind", "RequestState", "State"),
    "runner.channel.messages": ("Chunk", "Gauge"),
    "runner.errors": ("ProcessUnkillable", "RequestCancelled", "RequestFailed", "RunnerFailed"),
    "runner.faults": ("Fault", "FaultKind"),
    "runner.feed": ("Changes", "Missed"),
    "runner.generation": ("Answer", "Generation"),
    "runner.journal.errors": ("JournalRefused",),
    "runner.journal.journal": ("Journal",),
    "runner.models.errors": ("ModelError",),
    "runner.restart.course": ("RestartStatus",),
    "runner.restart.policy": ("RestartPolicy",),
    "runner.settings": ("Settings", "SettingsError"),
    "runner.supervisor": ("RunnerSupervisor", "Snapshot"),
}
"""Which module each public name lives in."""

__all__ = [
    "Answer",
    "Changes",
    "Chunk",
    "CommandRefused",
    "FailureCause",
    "Fault",
    "FaultKind",
    "Gauge",
    "Generation",
    "Journal",
    "JournalRefused",
    "Kind",
    "Missed",
    "ModelError",
    "Outcome",
    "ProcessUnkillable",
    "Record",
    "RequestCancelled",
    "RequestErrorKind",
    "RequestFailed",
    "RequestState",
    "RestartPolicy",
    "RestartStatus",
    "RunnerFailed",
    "RunnerSupervisor",
    "Settings",
    "SettingsError",
    "Snapshot",
    "State",
    "__version__",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
