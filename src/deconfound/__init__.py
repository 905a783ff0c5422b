"""Which language model is really better, from a confounded log, a small experiment and a replay."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deconfound.data import Experiment, Log, Replay, Study
    from deconfound.diagnose import check
    from deconfound.errors import AssumptionError, DataError, DeconfoundError, EvidenceError, UsageError
    from deconfound.evaluation import EvaluationOptions, PreparedStudy, evaluate, prepare
    from deconfound.features import FeatureSpec
    from deconfound.findings import Finding
    from deconfound.loading import load
    from deconfound.result import Result
    from deconfound.value import Values

__version__ = "0.1.0"

_HOMES = {
    "AssumptionError": "errors",
    "DataError": "errors",
    "EvaluationOptions": "evaluation",
    "PreparedStudy": "evaluation",
    "DeconfoundError": "errors",
    "EvidenceError": "errors",
    "Experiment": "data",
    "FeatureSpec": "features",
    "Finding": "findings",
    "Log": "data",
    "Replay": "data",
    "Result": "result",
    "Study": "data",
    "UsageError": "errors",
    "Values": "value",
    "check": "diagnose",
    "evaluate": "evaluation",
    "prepare": "evaluation",
    "load": "loading",
}

__all__ = [
    "AssumptionError",
    "DataError",
    "DeconfoundError",
    "EvaluationOptions",
    "EvidenceError",
    "Experiment",
    "FeatureSpec",
    "Finding",
    "Log",
    "PreparedStudy",
    "Replay",
    "Result",
    "Study",
    "UsageError",
    "Values",
    "__version__",
    "check",
    "evaluate",
    "load",
    "prepare",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the package itself loads in milliseconds."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
