"""Which language model is really better, from a confounded log, a small experiment and a replay."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as that of ``typing``, whose import takes longer than the rest: Ctrl-C during it is a traceback
__version__ = "0.1.0"

_PUBLIC_NAMES = {
    "assignment": ("AssignmentManifest", "Draw", "assign"),
    "data": ("Experiment", "Log", "Replay", "Study"),
    "decide.recommendation": ("Recommendation",),
    "diagnose": ("check",),
    "engines": ("EngineOptions",),
    "errors": ("AssumptionError", "DataError", "DeconfoundError", "EvidenceError", "UsageError"),
    "evaluation": ("evaluate", "prepare"),
    "evaluation_options": ("EvaluationOptions",),
    "features": ("FeatureSpec",),
    "findings": ("Finding",),
    "judging": ("JudgePlan", "JudgeRun", "judge"),
    "loading": ("load",),
    "monitoring": ("MonitorResult", "monitor"),
    "planning": ("plan",),
    "policy_learning": ("LearnedPolicy", "route"),
    "prepared_study": ("PreparedStudy",),
    "replaying": ("ReplayPlan", "ReplayRun", "replay"),
    "result": ("Result",),
    "reward": ("Family",),
    "router.model_router": ("Router",),
    "value": ("Contrast", "Values"),
}
_MODULE_OF = {name: module for module, names in _PUBLIC_NAMES.items() for name in names}

if TYPE_CHECKING:  # type checkers and editors need imports; a test compares them with the table
    from deconfound.assignment import AssignmentManifest as AssignmentManifest
    from deconfound.assignment import Draw as Draw
    from deconfound.assignment import assign as assign
    from deconfound.data import Experiment as Experiment
    from deconfound.data import Log as Log
    from deconfound.data import Replay as Replay
    from deconfound.data import Study as Study
    from deconfound.decide.recommendation import Recommendation as Recommendation
    from deconfound.diagnose import check as check
    from deconfound.engines import EngineOptions as EngineOptions
    from deconfound.errors import AssumptionError as AssumptionError
    from deconfound.errors import DataError as DataError
    from deconfound.errors import DeconfoundError as DeconfoundError
    from deconfound.errors import EvidenceError as EvidenceError
    from deconfound.errors import UsageError as UsageError
    from deconfound.evaluation import evaluate as evaluate
    from deconfound.evaluation import prepare as prepare
    from deconfound.evaluation_options import EvaluationOptions as EvaluationOptions
    from deconfound.features import FeatureSpec as FeatureSpec
    from deconfound.findings import Finding as Finding
    from deconfound.judging import JudgePlan as JudgePlan
    from deconfound.judging import JudgeRun as JudgeRun
    from deconfound.judging import judge as judge
    from deconfound.loading import load as load
    from deconfound.monitoring import MonitorResult as MonitorResult
    from deconfound.monitoring import monitor as monitor
    from deconfound.planning import plan as plan
    from deconfound.policy_learning import LearnedPolicy as LearnedPolicy
    from deconfound.policy_learning import route as route
    from deconfound.prepared_study import PreparedStudy as PreparedStudy
    from deconfound.replaying import ReplayPlan as ReplayPlan
    from deconfound.replaying import ReplayRun as ReplayRun
    from deconfound.replaying import replay as replay
    from deconfound.result import Result as Result
    from deconfound.reward import Family as Family
    from deconfound.router.model_router import Router as Router
    from deconfound.value import Contrast as Contrast
    from deconfound.value import Values as Values
else:
    __all__ = ["__version__", *_MODULE_OF]  # noqa: PLE0604  (they are strings)

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used: the package itself loads in milliseconds."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)

    def __dir__() -> list[str]:
        return sorted(__all__)
