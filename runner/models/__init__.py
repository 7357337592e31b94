"""Models on their way from a name to a directory that mlx-lm can load. Runs in the supervisor process, so without mlx.

Who needs a model calls ``resolve`` (get it), then ``check`` (can it be loaded?); the command calls ``list_models``,
``pull`` and ``remove``. Every failure is a ``ModelError``.
"""

from runner.models.check import ModelFacts, check
from runner.models.errors import ModelError
from runner.models.inventory import CachedModel, list_models, remove
from runner.models.progress import Progress
from runner.models.reference import ModelReference, ReferenceKind
from runner.models.resolve import pull, resolve

__all__ = [
    "CachedModel",
    "ModelError",
    "ModelFacts",
    "ModelReference",
    "Progress",
    "ReferenceKind",
    "check",
    "list_models",
    "pull",
    "remove",
    "resolve",
]
