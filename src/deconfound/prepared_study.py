"""A study with its features and checks, and the answer of each family on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from deconfound.crossfit import CrossFit, cross_fit
from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.data.segment_codes import SegmentCodes
from deconfound.decide.calibration import Calibration, CrossFittedPolicy, fit_calibration
from deconfound.decide.recommendation import Policy, Recommendation
from deconfound.decide.recurring_contexts import RatedRows
from deconfound.decide.routing import RoutingGain, routing_gain
from deconfound.design import FloatArray, IntArray, group_folds
from deconfound.diagnose.checks import CheckReport
from deconfound.diagnose.exclusion import exclusion_findings
from deconfound.errors import UsageError
from deconfound.evaluation_options import EvaluationOptions
from deconfound.evidence import require_feasible_size, require_information
from deconfound.features.randomized_rows import RandomizedRows
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.frames import Records
from deconfound.long_experiment import long_experiment_findings
from deconfound.progress import Progress
from deconfound.result import FittedFamily, Result, StudyCounts
from deconfound.reward import Family, family_by_name
from deconfound.study_summary import count_table, log_sampling_findings, model_codes, summed_log_finding, with_all_rows
from deconfound.surface_share import StudyTrainingData
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, Values, experiment_only, raw_log, raw_log_from_sums
from deconfound.value.log_bias import LogBias, estimate_log_bias
from deconfound.value.population import Population, complete_extra_contexts
from deconfound.value.segments import SegmentedColumns, SegmentRows, estimate_segments
from deconfound.value.sensitivity import estimate_sensitivity
from deconfound.value.target_sampling import target_sampling_variance
from deconfound.value.unrated_rows import MissingOutcomes, estimate_missing_outcomes
from deconfound.value_methods import PAPER, EstimatedValues, SharedOutputs, estimate_values, score_experiment

FOLDS = 5


@dataclass(frozen=True, eq=False, repr=False)
class PreparedStudy:
    """A study as arrays with its checks; families evaluated on it share features and factorizations."""

    study: Study
    arrays: StudyArrays
    checks: CheckReport
    cost: FloatArray | None  # (k,) in units of the outcome from 0 to 1
    population: Population
    segments: tuple[SegmentCodes, ...]
    level: float
    seed: int
    options: EvaluationOptions
    progress: Progress

    def __repr__(self) -> str:
        return f"PreparedStudy({self.study!r}, level={self.level}, seed={self.seed})"

    def evaluate(self, family: str | Family) -> Result:
        """Cross-fit one family and estimate everything that follows from it."""
        return self.result(self.cross_fit(family))

    def cross_fit(self, family: str | Family) -> CrossFit[Family]:
        """Fit one family so that no experiment row is scored by a reward that has seen its outcome."""
        chosen, options = resolve_family(family), self.options
        require_feasible_size(self.study, chosen)
        with one_blas_thread():
            return cross_fit(
                self._training, chosen, FOLDS, self.seed, options.surface_share, self.progress, options.refits
            )

    def result(self, fitted: CrossFit[Family]) -> Result:
        """Everything that follows from a fit of this study."""
        self.progress("comparing models", 0.0)
        with one_blas_thread():
            return self._result(fitted)

    def scored_experiment(self, fitted: CrossFit[Family]) -> ScoredExperiment:
        """The experiment's rows with the out-of-fold rewards of a fit."""
        return score_experiment(self.arrays, fitted, self.weight)

    @cached_property
    def _training(self) -> StudyTrainingData:
        return StudyTrainingData(self.arrays)

    @cached_property
    def raw_log(self) -> Values:
        """Mean logged outcome per model, uncorrected; standard errors are clustered by user and by context."""
        if self.arrays.long_log is not None:
            return raw_log_from_sums(self.study.models, self.arrays.long_log.statistics.outcomes)
        table = self.study.log.arrow
        columns = [name for name in ("cluster", "context_id") if name in table.column_names]
        cluster = np.column_stack([encode(table[name], None)[1] for name in columns])
        model = model_codes(self.study.log, self.study)
        return raw_log(self.study.models, model, table["outcome"].to_numpy(), cluster)

    @cached_property
    def experiment_only(self) -> Values:
        """Mean outcome of each model's own experiment rows."""
        rows = self.arrays.experiment
        values = experiment_only(
            self.study.models, rows.model, rows.outcome, rows.propensity, rows.noise_clusters, weight=self.weight
        )
        return values.with_common_error(self._target_variance)

    @cached_property
    def _shared_outputs(self) -> SharedOutputs | None:
        return SharedOutputs.from_study(self.study, self.arrays)

    @property
    def weight(self) -> FloatArray | None:
        """Weights (n,) of the experiment's rows for the target population; None without a target."""
        weights = self.checks.transport_weights
        return None if weights is None else weights.weight

    @cached_property
    def _target_variance(self) -> float:
        """What a target that is a small sample adds to the variance of every value."""
        weights, rows = self.checks.transport_weights, self.arrays.experiment
        return 0.0 if weights is None else target_sampling_variance(weights, rows.model, rows.outcome)

    @property
    def extra_contexts(self) -> IntArray:
        """Replayed contexts beyond the experiment's that are averaged in: by default none, on request all complete."""
        chosen = complete_extra_contexts(self.study) if self.options.extra_contexts else set()
        return np.array([i for i, name in enumerate(self.arrays.replay.contexts) if name in chosen], dtype=np.int64)

    def _result(self, fitted: CrossFit[Family]) -> Result:
        final, arrays, level = fitted.final, self.arrays, self.level
        family, data = final.tuned.estimator, self.scored_experiment(fitted)
        estimated = self._estimate(data, fitted, self._target_variance)
        require_information(estimated.unbiased, rows=len(data.q), level=level)
        values = estimated.decisive
        on_new_contexts = replace(data, q=fitted.q_unseen)  # recommendations are for contexts that no log has seen
        policy = self._policy(fitted, values, self._calibration(fitted, on_new_contexts, values))
        return Result(
            values=self._net(estimated.reported),
            direct=self._net(estimated.direct),
            experiment=self.experiment_only,
            raw_log=self.raw_log,
            recommendations=self._in_segments(policy.recommend(arrays.replay, level)),
            routing=self._routing(on_new_contexts, values, policy),
            log_bias=self._log_bias(fitted, values),
            findings=Records((*self._findings(family), *exclusion_findings(estimated.efficient))),
            family=FittedFamily(family, final.tuned.mode, final.surface_share, arrays.featurizer.psi_source),
            attribution=fitted.attribution,
            efficient=estimated.efficient,
            missing=self._missing_outcomes(data),
            segments=self._segments(data, self._net(estimated.reported)),
            sensitivity=estimate_sensitivity(
                self._net(estimated.reported),
                estimated.direct.estimate,
                data,
                self.raw_log,
                self.experiment_only,
                level,
            ),
            counts=self._counts(),
            population=self.population,
            outcome_range=self.study.outcome_range,
            outcome_unit=self.study.outcome_unit,
            policy=policy,
            featurizer=arrays.featurizer,
            level=level,
            seed=self.seed,
            reading=self.study.reading,
            replay=self.study.replay,
        )

    def _counts(self) -> StudyCounts:
        study, long_log = self.study, self.arrays.long_log
        log, experiment, replay = (count_table(table, study) for table in (study.log, study.experiment, study.replay))
        return StudyCounts(log if long_log is None else with_all_rows(log, long_log), experiment, replay)

    def _estimate(self, data: ScoredExperiment, fitted: CrossFit[Family], common_variance: float) -> EstimatedValues:
        extra_q = fitted.q_all_contexts[self.extra_contexts]
        return estimate_values(data, fitted, self.options.method, self._shared_outputs, extra_q, common_variance)

    def _log_bias(self, fitted: CrossFit[Family], values: Values) -> LogBias:
        """The raw log against ``values``; with a target against values of the experiment's own contexts.

        Against the target's values, a log of other contexts than the target's would pass for a confounded one.
        """
        if self.weight is not None:
            values = self._estimate(score_experiment(self.arrays, fitted), fitted, 0.0).decisive
        return estimate_log_bias(self.raw_log, values, self.level)

    def _missing_outcomes(self, data: ScoredExperiment) -> MissingOutcomes | None:
        unrated = self.study.unrated_experiment
        if unrated is None:
            return None
        rows = RandomizedRows.from_study(self.study, unrated, self.arrays)
        is_shrunk = self.options.method != PAPER
        return estimate_missing_outcomes(self.study.models, rows, data, self.seed, is_shrunk=is_shrunk)

    def _segments(self, data: ScoredExperiment, overall: Values) -> SegmentedColumns:
        is_population = not len(self.extra_contexts)
        rows = SegmentRows(data, self.arrays.experiment.context, self._target_variance, is_population)
        return SegmentedColumns(estimate_segments(self.segments, rows, overall, self.level))

    def _in_segments(self, recommendations: Records[Recommendation]) -> Records[Recommendation]:
        """With the segment of each context, where its rows agree on one."""
        if not self.segments:
            return recommendations
        ids = self.study.experiment.arrow["context_id"].to_pylist()
        columns = [codes.name_by_context(ids) for codes in self.segments]
        return Records(
            replace(row, segments=tuple(names.get(row.context_id, "") for names in columns)) for row in recommendations
        )

    def _net(self, values: Values) -> Values:
        return values if self.cost is None else values.net_of(self.cost)

    def _calibration(self, fitted: CrossFit[Family], data: ScoredExperiment, values: Values) -> Calibration:
        share, rows = fitted.final.surface_share, self.arrays.experiment
        context_weight = np.bincount(rows.context, self.weight, len(self.arrays.replay.contexts)).astype(np.float64)
        context_weight[self.extra_contexts] = 1.0
        has_clusters = "cluster" in self.study.experiment.arrow.column_names
        return fit_calibration(
            values,
            data,
            replay=self.arrays.replay.rows(share),
            reward=fitted.final.reward,
            rows=self._training.at(share).experiment,
            rated_log=RatedRows.from_table(self.study.log, self.study.models),
            rated_experiment=RatedRows.from_table(self.study.experiment, self.study.models),
            context_weight=context_weight,
            noise_group=rows.cluster if has_clusters else None,
        )

    def _policy(self, fitted: CrossFit[Family], values: Values, calibration: Calibration) -> Policy:
        final = fitted.final
        return Policy(
            models=self.study.models,
            surface_share=final.surface_share,
            reward=final.reward,
            bootstrap_fits=fitted.bootstrap_fits,
            covariance=values.error_covariance,
            calibration=calibration,
            cost=self.cost,
        )

    def _routing(self, data: ScoredExperiment, values: Values, policy: Policy) -> RoutingGain:
        folds = group_folds(self.arrays.experiment.fold_group, FOLDS, self.seed)
        net = self._net(values)
        return routing_gain(
            data,
            CrossFittedPolicy.fit(data, folds),
            best=net.ranking()[0],
            contenders=len(net.best_set(self.level)),
            achievable_gain_bound=policy.achievable_gain_bound(self.arrays.replay, self.level),
            cost=self.cost,
            level=self.level,
        )

    def _findings(self, family: Family) -> tuple[Finding, ...]:
        rows, featurizer = len(self.study.experiment), self.arrays.featurizer
        notices = (*self.study.findings, *featurizer.findings, *long_experiment_findings(rows, featurizer.spec))
        return (*notices, *self.checks.findings, *self._log_finding(family))

    def _log_finding(self, family: Family) -> tuple[Finding, ...]:
        """How a long log was used."""
        if self.arrays.long_log is not None:
            return (summed_log_finding(self.study, self.arrays.featurizer),)
        if family.max_log_rows is None or self._training.at(0.0).log.moments is not None:
            return ()  # every row is used, as ``auto`` does beside a long experiment
        return log_sampling_findings(len(self.arrays.log.weight), family)


def resolve_family(family: str | Family) -> Family:
    """The family of a name; a family object is itself."""
    if isinstance(family, str):
        return family_by_name(family)()
    if isinstance(family, type):
        raise UsageError(f"family is the class {family.__name__}; pass an object, {family.__name__}(), or its name.")
    return family
