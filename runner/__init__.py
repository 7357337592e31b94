"""Keeps a language-model process (MLX, mlx-lm) alive or dead on purpose.

The public names are those below; other modules may change. The supervisor process never imports mlx. As a library it logs
nothing until ``loguru.logger.enable("runner")`` is called.
"""

from loguru import logger

from fsm import CommandRefused, FailureCause, Kind, Outcome, Record, RequestErrorKind, RequestState, State
from runner.channel.messages import Chunk, Gauge
from runner.errors import ProcessUnkillable, RequestCancelled, RequestFailed, RunnerFailed
from runner.faults import Fault, FaultKind
from runner.feed import Changes, Missed
from runner.generation import Answer, Generation
from runner.models.errors import ModelError
from runner.settings import Settings, SettingsError
from runner.supervisor import RunnerSupervisor, Snapshot

__version__ = "0.1.0"

logger.disable("runner")

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
    "RunnerFailed",
    "RunnerSupervisor",
    "Settings",
    "SettingsError",
    "Snapshot",
    "State",
    "__version__",
]
