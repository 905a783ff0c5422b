"""Learn a policy from a study, value it out of fold, and decide whether routing pays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self, TypeAlias, get_args

import numpy as np

from deconfound.crossfit import CrossFit
from deconfound.data import SEGMENT_PREFIX, Study
from deconfound.data.encode import encode
from deconfound.decide.calibration import CrossFittedPolicy
from deconfound.decide.cost import cost_vector
from deconfound.decide.routing import RoutingGain, routing_gain
from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.evaluation import DEFAULTS, prepare
from deconfound.evaluation_options import MIN_REFITS, EvaluationOptions
from deconfound.formatting import join_names, pluralize, quote
from deconfound.policy_learning.context_policy import (
    NOTHING,
    PromptRouter,
    ScoreCalibration,
    cross_fitted_context_policy,
    final_prompt_scores,
    out_of_fold_scores,
)
from deconfound.policy_learning.prompts import Prompts
from deconfound.policy_learning.segment_policy import cross_fitted_segment_policy, segment_values
from deconfound.prepared_study import PreparedStudy
from deconfound.progress import Progress, no_progress
from deconfound.result import Result
from deconfound.reward import Family
from deconfound.router.policy import Kind, PolicyEvidence, RoutingPolicy, SegmentScores
from deconfound.router.policy_file import write_policy
from deconfound.router.prompt_scores import PromptScores
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment
from deconfound.value_methods import score_experiment

PolicyKind: TypeAlias = Literal["auto", "single", "segments", "context"]

SUPPORT_LEVEL = 0.8  # a plain interval of the gain at this level that lies above zero supports routing; decision 0022


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPolicy:
    """A policy with the evidence for it.

    ``gain`` is that of the router that was considered, by its policies of the folds.
    """

    policy: RoutingPolicy
    gain: RoutingGain
    context_counts: tuple[int, ...]  # contexts of the experiment for which the policy picks each model
    result: Result

    @property
    def pays(self) -> bool:
        """Whether the out-of-fold evidence supports routing."""
        return self.policy.evidence.pays

    def summary(self) -> str:
        """The answer in plain English, and how many contexts each model gets."""
        from deconfound.report.route_text import route_text

        return route_text(self)

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write the policy file that ``dc.Router.load`` reads."""
        write_policy(self.policy, Path(path), overwrite=overwrite)


def route(
    study: Study,
    family: str | Family = "auto",
    level: float = 0.95,
    seed: int = 0,
    *,
    kind: PolicyKind = "auto",
    options: EvaluationOptions = DEFAULTS,
    progress: Progress = no_progress,
) -> LearnedPolicy:
    """The policy to use: a router if the experiment supports one, otherwise the best single model.

    ``kind`` "auto" considers a router by segment if the study was loaded with a column of ``segments``, otherwise one
    by prompt; any other kind is written whether it pays or not.
    """
    if kind not in get_args(PolicyKind):
        raise UsageError(f"kind (--kind) must be one of {', '.join(get_args(PolicyKind))}, not {quote(str(kind))}.")
    if isinstance(study, Study):
        considered_kind(study, kind)  # refused before the work
    # Bootstrap refits serve recommendations for single contexts, which no policy uses.
    prepared = prepare(study, level, seed, options=replace(options, refits=MIN_REFITS), progress=progress)
    return learn_policy(prepared, family, kind)


def considered_kind(study: Study, kind: PolicyKind) -> Kind:
    """The kind of router to learn; without text or segments there is none."""
    names = study.experiment.segment_names
    if len(names) > 1 and kind in ("auto", "segments"):
        raise UsageError(f"A policy chooses by one column, not by {join_names(names)}; load only one of them.")
    if kind == "segments" and not names:
        raise UsageError("A policy by segment needs a column of the experiment; name it with --by.")
    if names and kind in ("auto", "segments"):
        _require_segments(study, names[0])
    if kind == "context" and not study.has_text:
        raise UsageError("A router by prompt needs the text of the contexts; use --by with a column instead.")
    if kind != "auto":
        return kind
    if names:
        return "segments"
    return "context" if study.has_text else "single"


def _require_segments(study: Study, name: str) -> None:
    """A service cannot choose by a value that is missing."""
    values = study.experiment.arrow[f"{SEGMENT_PREFIX}{name}"]
    if values.null_count:
        what = f"{quote(name)} has no value in {pluralize(values.null_count, 'row')}"
        fix = "Name the segment of every row, or give it a name such as none."
        raise DataError([Problem(study.experiment.source, what, fix)])


def learn_policy(prepared: PreparedStudy, family: str | Family, kind: PolicyKind) -> LearnedPolicy:
    """As ``route``, for a study that is prepared."""
    considered = considered_kind(prepared.study, kind)
    fitted = prepared.cross_fit(family)
    result = prepared.result(fitted)
    evaluated = _EvaluatedStudy.from_fit(prepared, fitted, result)
    prepared.progress("learning a policy", 0.0)
    with one_blas_thread():
        router = evaluated.router(considered)
        gain = evaluated.gain(router.policy)
        pays = routing_pays(gain, router.confirmed or evaluated.supports(router.policy))
        policy = RoutingPolicy(
            models=prepared.study.models,
            default=gain.best,
            scores=evaluated.net_value,
            rule=router.rule if pays or kind == considered else None,
            evidence=PolicyEvidence(
                considered, pays, gain.gain, gain.gain_low, gain.gain_high, gain.level, gain.best, len(evaluated.data.q)
            ),
        )
    return LearnedPolicy(policy, gain, evaluated.context_counts(policy), result)


def routing_pays(gain: RoutingGain, supported: bool) -> bool:
    """Whether a router is worth its gain, and the experiment supports it; False for NaN.

    Support is a plain interval of the gain at ``SUPPORT_LEVEL`` above zero, or differences between prompts or
    segments that are confirmed: outcomes follow them by more than two standard errors. The gain itself uses only the
    rows on which router and single model differ and one of them was drawn, and often shows less.
    """
    return bool(gain.gain >= gain.min_gain and supported)


@dataclass(frozen=True, slots=True, eq=False)
class _Router:
    """A rule learned from all rows, and what the rules of the folds choose on theirs."""

    rule: SegmentScores | PromptScores | None
    policy: CrossFittedPolicy
    confirmed: bool  # whether outcomes follow the rule's differences by more than two standard errors


@dataclass(frozen=True, slots=True, eq=False)
class _EvaluatedStudy:
    """A study with its fits and values."""

    prepared: PreparedStudy
    fitted: CrossFit[Family]
    result: Result
    data: ScoredExperiment  # rewards that have not seen the rows' contexts in the log
    cost: FloatArray  # (k,)
    net_value: FloatArray  # (k,) values as the table shows them, net of cost

    @classmethod
    def from_fit(cls, prepared: PreparedStudy, fitted: CrossFit[Family], result: Result) -> Self:
        """With the values before cost that recommendations use."""
        scored = score_experiment(prepared.arrays, fitted, prepared.weight)
        cost, calibration = cost_vector(result.models, prepared.cost), result.policy.calibration
        value = result.values.estimate + cost if calibration is None else calibration.value
        return cls(prepared, fitted, result, replace(scored, q=fitted.q_unseen), cost, value - cost)

    def gain(self, policy: CrossFittedPolicy) -> RoutingGain:
        """Gain of the policies of the folds over the single model that the other folds prefer."""
        level = self.prepared.level
        return self._gain(policy, level, len(self.result.values.best_set(level)))

    def supports(self, policy: CrossFittedPolicy) -> bool:
        """Whether the plain interval of the gain at ``SUPPORT_LEVEL`` lies above zero."""
        return self._gain(policy, SUPPORT_LEVEL, 1).gain_low > 0

    def _gain(self, policy: CrossFittedPolicy, level: float, contenders: int) -> RoutingGain:
        return routing_gain(
            self.data,
            policy,
            best=self.result.routing.best,
            contenders=contenders,
            achievable_gain_bound=self.result.routing.achievable_gain_bound,
            cost=self.cost,
            level=level,
        )

    def router(self, kind: Kind) -> _Router:
        """The router of this kind."""
        if kind == "context":
            return self._context_router()
        if kind == "segments":
            return self._segment_router()
        values = CrossFittedPolicy.fit(self.data, self.fitted.folds).values
        return _Router(None, CrossFittedPolicy(values, values), confirmed=False)

    def _context_router(self) -> _Router:
        prepared, arrays, context = self.prepared, self.prepared.arrays, self.prepared.arrays.experiment.context
        prompts = Prompts.from_study(prepared.study, arrays.replay.contexts, prepared.seed)
        scores = out_of_fold_scores(prompts, self.fitted, arrays)
        policy = cross_fitted_context_policy(self.data, scores, self.fitted)
        rows = np.arange(len(context))
        router = PromptRouter.learn(prompts, self.fitted.final, arrays, rows, NOTHING)
        calibration = ScoreCalibration.fit(self.data, scores)
        rule = final_prompt_scores(router, prompts, self.data, context, calibration.slope, self.net_value)
        return _Router(rule, policy, calibration.confirmed)

    def _segment_router(self) -> _Router:
        experiment = self.prepared.study.experiment
        (column,) = experiment.segment_names
        names, segment = encode(experiment.arrow[f"{SEGMENT_PREFIX}{column}"], None)
        policy = cross_fitted_segment_policy(self.data, segment, self.fitted.folds, self.cost)
        value = self.net_value + self.cost
        by_segment = segment_values(self.data, segment, len(names), value, self.cost)
        differ = bool((by_segment != value).any())  # beyond two standard errors, or they would be equal
        return _Router(SegmentScores(column, dict(zip(names, by_segment - self.cost, strict=True))), policy, differ)

    def context_counts(self, policy: RoutingPolicy) -> tuple[int, ...]:
        """How many contexts of the experiment get each model; a context in two segments counts twice."""
        table, segments = self.prepared.study.experiment.arrow, self.prepared.study.experiment.segment_names
        column = f"{SEGMENT_PREFIX}{segments[0]}" if segments else None
        names = [name for name in ("context_id", "context", column) if name in table.column_names]
        chosen = Counter(
            policy.choose(row.get("context", ""), row.get(column))
            for row in table.select(names).group_by(names, use_threads=False).aggregate([]).to_pylist()
        )
        return tuple(chosen[name] for name in policy.models)
