"""Which engine runs, where, and with how many workers: the options of every command that uses one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from deconfound.engines.dask_engine import DaskEngine
from deconfound.engines.engine import Engine
from deconfound.engines.process_engine import ProcessEngine
from deconfound.engines.ray_engine import RayEngine
from deconfound.engines.thread_engine import ThreadEngine
from deconfound.errors import UsageError
from deconfound.threads import thread_count

EngineName = Literal["local", "processes", "dask", "ray"]
ON_CLUSTERS = ("dask", "ray")


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """``scheduler`` is the address of a cluster; ``workers`` are threads or processes of this computer.

    Without a number, "local" is the calling thread, whose work uses all cores in smaller pieces.
    """

    engine: EngineName = "local"
    scheduler: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.engine not in get_args(EngineName):
            raise UsageError(f"--engine must be one of {', '.join(get_args(EngineName))}, not {self.engine!r}.")
        if self.scheduler is not None and self.engine not in ON_CLUSTERS:
            raise UsageError(f"--scheduler is the address of a cluster; --engine {self.engine} has none.")
        if self.engine == "dask" and self.scheduler is None:
            raise UsageError("--engine dask needs --scheduler ADDRESS, such as tcp://10.0.0.5:8786.")
        if self.workers is not None and self.scheduler is not None:
            raise UsageError("--workers are those of this computer; a cluster at --scheduler has its own.")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"--workers must be at least 1, not {self.workers}.")

    @property
    def uses_this_thread(self) -> bool:
        """Whether tasks run one after another in the calling thread."""
        return self.engine == "local" and self.workers in (None, 1)


def require_cluster(options: EngineOptions) -> None:
    """Connect to the cluster at an address and disconnect: a wrong one is refused before any work."""
    if options.scheduler is not None:
        with open_engine(options):
            pass


def open_engine(options: EngineOptions) -> Engine:
    """The engine that was asked for; it starts when its ``with`` block is entered."""
    if options.engine == "dask" and options.scheduler is not None:
        return DaskEngine(options.scheduler)
    if options.engine == "ray":
        return RayEngine(options.scheduler, options.workers)
    if options.engine == "processes":
        return ProcessEngine(options.workers or thread_count())
    return ThreadEngine(options.workers or 1)
