"""From one study and its answer to raw measures, all of them numbers between which averages make sense.

A measure is a number, a list with one number per model, or None where it does not exist. The measures of one study are
stored as they are; ``stress_tables`` averages over studies.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from benchmarks.simulation import covers
from benchmarks.stress_generators import SimulatedStudy
from benchmarks.stress_learner import fit_t_learner
from benchmarks.stress_measures import Answer, Decisions, Pair, answer, is_refused, significant_pairs
from benchmarks.stress_references import reference_measures
from benchmarks.stress_scenarios import LOOKS, Scenario
from deconfound.design import FloatArray, IntArray

Measure: TypeAlias = float | list[float | None] | None
Measures: TypeAlias = dict[str, Measure]

TIE_ATOL = 1e-12  # true values closer than this are equal; above the rounding of their sums


def measure(scenario: Scenario, seed: int, number: int) -> Measures:
    """All measures of one study."""
    study = scenario.study(seed, number)
    if scenario.mode == "refusal":
        return {"refused": float(is_refused(study))}
    if scenario.mode == "looks":
        return looks(study)
    result = answer(study)
    if result is None:
        return {"refused": 1.0}
    return {
        "refused": 0.0,
        **interval_measures(study, result),
        **pair_measures(study, result),
        **error_measures(study, result),
        **decision_measures(study, result.decisions),
        **regret_measures(study, result),
        **routing_measures(study, result),
        **(reference_measures(study, result) if scenario.is_near_an_edge else {}),
    }


def looks(study: SimulatedStudy) -> Measures:
    """Whether any look so far, and the last look by itself, reports a difference between equal models."""
    rows = len(study.model)
    at_each = [significant_pairs(study.first_rows(rows * (look + 1) // LOOKS)) for look in range(LOOKS)]
    alarm = [bool(pairs) for pairs in at_each]
    return {
        "refused": float(at_each[-1] is None),
        "any_look": float(any(alarm)),
        "last_look": float(alarm[-1]),
    }


def interval_measures(study: SimulatedStudy, result: Answer) -> Measures:
    """Coverage of values, and the width of intervals relative to the experiment alone.

    An interval from 0 to 1 states nothing and is left out.
    """
    width = np.ptp(result.interval, axis=1) / np.ptp(result.experiment_interval, axis=1)
    informative = np.ptp(result.experiment_interval, axis=1) < 1
    bias = study.log_value - study.value
    return {
        "headline": covered_by_model(result.interval, study.value),
        "direct": covered_by_model(result.direct_interval, study.value),
        "experiment": covered_by_model(result.experiment_interval, study.value),
        "simultaneous": float(covers(result.simultaneous, study.value).all()),
        "log_bias": float(covers(result.log_bias_interval, bias).all()),
        "width": mean_or_none(width[informative]),
    }


def covered_by_model(interval: FloatArray, truth: FloatArray) -> list[float | None]:
    covered, informative = covers(interval, truth).tolist(), (np.ptp(interval, axis=1) < 1).tolist()
    return [float(hit) if counts else None for hit, counts in zip(covered, informative, strict=True)]


def pair_measures(study: SimulatedStudy, result: Answer) -> Measures:
    """Coverage of contrasts, and whether contrasts, best set and table agree."""
    covered = [pair_covers(pair, study.value) for pair in result.single_pairs]
    best = np.flatnonzero(study.value >= study.value.max() - TIE_ATOL)
    wrong = [pair for pair in result.all_pairs if is_false_difference(pair, study.value)]
    behind = [p for p in result.all_pairs if (result.first == p.j and p.difference > 0)]
    behind += [p for p in result.all_pairs if (result.first == p.i and p.difference < 0)]
    return {
        "contrast": float(np.mean(covered)),
        "all_contrasts": float(all(pair_covers(pair, study.value) for pair in result.all_pairs)),
        "best_set": float(np.isin(best, result.best_set).mean()),
        "false_difference": float(bool(wrong)),
        "table_and_contrasts_differ": float(bool(behind)),
    }


def pair_covers(pair: Pair, value: FloatArray) -> bool:
    return bool(pair.low - TIE_ATOL <= value[pair.i] - value[pair.j] <= pair.high + TIE_ATOL)


def is_false_difference(pair: Pair, value: FloatArray) -> bool:
    """Whether the interval excludes zero although the models are equal or in the other order."""
    difference = value[pair.i] - value[pair.j]
    return bool((pair.low > 0 and difference <= TIE_ATOL) or (pair.high < 0 and difference >= -TIE_ATOL))


def experiment_means(study: SimulatedStudy) -> FloatArray:
    """Mean outcome of each model's own rows (k,); NaN without rows."""
    count = len(study.models)
    rows = np.bincount(study.model, minlength=count)
    total = np.bincount(study.model, weights=study.outcome, minlength=count)
    return np.where(rows > 0, total / np.maximum(rows, 1), np.nan)


def error_measures(study: SimulatedStudy, result: Answer) -> Measures:
    """Mean square errors over the models that all three estimators have a value for."""
    estimates = {
        "headline": result.estimate,
        "direct": result.direct_estimate,
        "experiment": experiment_means(study),
    }
    present = np.isfinite(np.array(list(estimates.values()))).all(axis=0)
    return {
        f"mse_{name}": float(np.mean((estimate - study.value)[present] ** 2)) for name, estimate in estimates.items()
    }


def decision_measures(study: SimulatedStudy, decisions: Decisions) -> Measures:
    """Per context: coverage of q and of margins, clear verdicts, and clear verdicts for a model that is not the best.

    A tie for the best is no reason for a clear verdict: it counts as an error.
    """
    q, row = np.array([study.q[name] for name in decisions.context]), np.arange(len(decisions.context))
    own = q[row, decisions.model]
    rivals = q.copy()
    rivals[row, decisions.model] = -np.inf
    wrong = own <= rivals.max(axis=1) + TIE_ATOL
    margin = own - q[row, decisions.runner_up]
    q_interval, margin_interval = decisions.q_interval, decisions.margin_interval
    return {
        "q": None if q_interval is None else float(covers(q_interval, own).mean()),
        "margin": None if margin_interval is None else float(covers(margin_interval, margin).mean()),
        "clear": float(decisions.clear.mean()),
        "clear_wrong": float((decisions.clear & wrong).mean()),
    }


def regret_measures(study: SimulatedStudy, result: Answer) -> Measures:
    """Mean over replayed contexts of the best true q minus that of the chosen model."""
    names = result.decisions.context
    q, columns = np.array([study.q[name] for name in names]), replayed_columns(study, names)
    learner = fit_t_learner(study.rows.columns, study.model, study.outcome, len(study.models))
    singles = {
        "headline": [result.first],
        "direct": largest(result.direct_estimate),
        "experiment": largest(experiment_means(study)),
    }
    per_context = {"recommended": result.decisions.model, "t_learner": learner.best(columns)}
    regret_of = [mean_regret(q, np.full(len(q), model)) for model in range(len(study.models))]
    return {
        **{f"regret_{name}": float(np.mean([regret_of[model] for model in tied])) for name, tied in singles.items()},
        **{f"regret_{name}": mean_regret(q, chosen) for name, chosen in per_context.items()},
    }


def replayed_columns(study: SimulatedStudy, contexts: list[str]) -> FloatArray:
    """Columns of the replayed contexts (n, 2), which the replay has once per model."""
    topic, length = (study.replay[name].to_numpy() for name in ("feature_topic", "feature_length"))
    at = {name: row for row, name in enumerate(study.replay["context_id"].to_pylist())}
    rows = [at[name] for name in contexts]
    return np.column_stack([topic[rows], length[rows]])


def mean_regret(q: FloatArray, chosen: IntArray) -> float:
    return float((q.max(axis=1) - q[np.arange(len(q)), chosen]).mean())


def routing_measures(study: SimulatedStudy, result: Answer) -> Measures:
    """Gains over the truly best single model on fresh contexts, and whether the reported intervals cover them.

    The true gain is that of the final policy over the model that is named, for which the interval is. The interval of
    the policy's value belongs to policies fitted without one fold. "One model suffices" is wrong if the oracle that
    sees the columns gains more than the smallest gain that counts.
    """
    fresh, routing = study.fresh_contexts, result.routing
    row, best = np.arange(len(fresh.q)), int(np.argmax(study.value))
    learner = fit_t_learner(study.rows.columns, study.model, study.outcome, len(study.models)).best(fresh.columns)
    over_best = fresh.q - fresh.q[:, [best]]
    gain = float(over_best[row, result.fresh_model].mean())
    reported = gain
    if routing.reference is not None:
        reported += float(study.value[best] - study.value[routing.reference])
    return {
        "gain": covers_number(routing.gain_interval, reported),
        "policy_value": covers_number(routing.value_interval, float(study.value[best]) + gain),
        "gain_recommended": gain,
        "gain_t_learner": float(over_best[row, learner].mean()),
        "gain_oracle": study.oracle_gain,
        "one_model": float(routing.one_model_suffices),
        "one_model_wrong": float(routing.one_model_suffices and study.oracle_gain > routing.min_gain),
    }


def covers_number(interval: tuple[float, float] | None, truth: float) -> float | None:
    return None if interval is None else float(interval[0] - TIE_ATOL <= truth <= interval[1] + TIE_ATOL)


def largest(numbers: FloatArray) -> list[int]:
    """All places of the largest number: models are listed best first, so the first of a tie would be no fair choice."""
    return np.flatnonzero(numbers >= np.nanmax(numbers)).tolist()


def mean_or_none(numbers: FloatArray) -> float | None:
    return float(numbers.mean()) if len(numbers) else None
