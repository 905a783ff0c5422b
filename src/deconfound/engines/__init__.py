"""Where work runs: threads, processes, or the workers of a cluster, behind one small interface.

A task is a function named by its module; payloads and results are bytes; results are merged in the order of the
payloads, so that no number depends on the engine or on the number of its workers.
"""

from __future__ import annotations

from deconfound.engines.engine import Engine, LostClusterError, LostWorkerError, Payload, Task, TaskError
from deconfound.engines.engine_options import EngineName, EngineOptions, open_engine, require_cluster
from deconfound.engines.map_merge import map_as_completed, map_in_order, map_merge

__all__ = [
    "Engine",
    "EngineName",
    "EngineOptions",
    "LostClusterError",
    "LostWorkerError",
    "Payload",
    "Task",
    "TaskError",
    "map_as_completed",
    "map_in_order",
    "map_merge",
    "open_engine",
    "require_cluster",
]
