"""For tests of supervisors, ours and others': every event as a strategy, paths to every row, a model to be held against, and the
guarantees as one assertion over a journal. Comes with ``pip install 'runner-fsm[testing]'``; ``import fsm`` does not load it.
"""

from fsm.testing.guarantees import assert_guarantees
from fsm.testing.model import Adapter, LifecycleModel
from fsm.testing.paths import Path, all_edges, shortest_paths
from fsm.testing.strategies import events

__all__ = ["Adapter", "LifecycleModel", "Path", "all_edges", "assert_guarantees", "events", "shortest_paths"]
