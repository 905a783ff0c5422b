"""Experiments that are looked at after every batch: errors of confidence sequences and of the stopping rule.

    python -m benchmarks.monitor --studies 1000

A study has ten batches of 60 rows and three models. After each batch all values, differences and the verdict are
computed as `deconfound monitor` computes them, to the last batch whatever the verdict. Like ``benchmarks.coverage``, it
takes the reward from a table; ``benchmarks.monitor_evaluations`` evaluates whole studies.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.monitor_studies import Growing, Rows
from benchmarks.simulation import covers
from deconfound.design import FloatArray
from deconfound.errors import EvidenceError
from deconfound.monitoring.next_batch import Outlook
from deconfound.monitoring.sequences import MIN_ROWS_PER_MODEL, Sequences
from deconfound.monitoring.stopping import Verdict
from deconfound.planning import inputs_from_pilot
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, Values, bounded_interval, tuned_doubly_robust

LEVEL = 0.95
ROWS, LOOKS = 60, 10
BURN_INS = (2, 5, 10, 20)
BISECTIONS = 25  # of interval limits: an error of 3e-8 does not matter here, and half of the time is saved
SCENARIOS = {
    "graded, equal": Growing((0.5, 0.5, 0.5), ROWS, LOOKS, yes_no=False),
    "yes/no, equal at 0.95": Growing((0.95, 0.95, 0.95), ROWS, LOOKS),
    "users, equal": Growing((0.5, 0.5, 0.5), ROWS, LOOKS, users=True),
    "recurring contexts, equal": Growing((0.6, 0.6, 0.6), ROWS, LOOKS, recurring=True),
    "adaptive, two equal ahead": Growing((0.6, 0.6, 0.4), ROWS, LOOKS, adaptive=True),
    "graded, gap 0.10": Growing((0.5, 0.5, 0.6), ROWS, LOOKS, yes_no=False),
    "yes/no, gap 0.95 to 0.80": Growing((0.8, 0.8, 0.95), ROWS, LOOKS),
    "adaptive, graded, gap 0.10": Growing((0.4, 0.5, 0.6), ROWS, LOOKS, yes_no=False, adaptive=True),
    "adaptive, yes/no 0.95, 0.95, 0.75": Growing((0.95, 0.95, 0.75), ROWS, LOOKS, adaptive=True),
    "0.06 ahead, tolerance 0.05": Growing((0.56, 0.5, 0.5), ROWS, LOOKS, yes_no=False, tolerance=0.05),
    "one model per user, equal": Growing((0.6, 0.6, 0.6), ROWS, LOOKS, users=True, per_user=True),
    "users and contexts, equal": Growing((0.5, 0.5, 0.5), ROWS, LOOKS, users=True, recurring=True),
    "adaptive, drift": Growing((0.6, 0.6, 0.4), ROWS, LOOKS, adaptive=True, drift=True),
}
EARLY = {
    "early: graded, equal": Growing((0.5, 0.5, 0.5), 9, 20, yes_no=False),
    "early: yes/no, equal at 0.95": Growing((0.95, 0.95, 0.95), 9, 20),
    "early: yes/no, equal at 0.5": Growing((0.5, 0.5, 0.5), 9, 20),
    "early: rare extremes": Growing((0.05, 0.05, 0.05), 9, 20, yes_no=False, rare=True),
}


@dataclass(frozen=True, slots=True)
class Look:
    """What one look got right; differences are those of all pairs together."""

    rows: int
    min_rows: int  # of any model
    values: NDArray[np.bool_]  # (k,) each model's own sequence
    all_values: bool
    differences: bool
    fixed_differences: bool  # intervals for one look
    width_ratio: float  # of a value's interval to that for one look, median over models; at the last look only
    difference_ratio: float
    reason: str
    false_claim: bool  # a model was declared best that is not strictly best, or good enough that is not
    right: bool  # it stopped with a true claim
    smallest_propensity: float


def looks_of(kind: Growing, rng: np.random.Generator) -> list[Look]:
    """One study, looked at after every batch."""
    rows = Rows(kind, rng)
    propensity = np.full(len(kind.values), 1 / len(kind.values))
    found = []
    for _ in range(kind.looks):
        data = rows.add(propensity)
        if np.bincount(data.model, minlength=len(kind.values)).min() < min(BURN_INS):
            continue
        values = tuned_doubly_robust(data)
        share = len(data.model) / kind.horizon
        sequences = Sequences.from_values(values, LEVEL, share)
        verdict = Verdict.from_lead(values.estimate, sequences.lead, kind.tolerance, share)
        found.append(_look(kind, data, values, sequences, verdict, float(propensity.min())))
        if kind.adaptive and found[-1].min_rows >= MIN_ROWS_PER_MODEL:
            propensity = _next_propensity(kind, data, verdict, propensity)
    return found


def _next_propensity(kind: Growing, data: ScoredExperiment, verdict: Verdict, now: FloatArray) -> FloatArray:
    try:
        inputs = inputs_from_pilot(data)
    except EvidenceError:
        return now
    outlook = Outlook(inputs, verdict, len(data.model), kind.horizon, 1 - LEVEL, kind.tolerance)
    return outlook.propensity(now)


def _look(
    kind: Growing,
    data: ScoredExperiment,
    values: Values,
    sequences: Sequences,
    verdict: Verdict,
    smallest_propensity: float,
) -> Look:
    truth = kind.true_values(len(data.model))
    difference = np.subtract.outer(truth, truth)
    contrasts = values.contrasts(LEVEL)
    at = [(values.models.index(c.model), values.models.index(c.reference)) for c in contrasts]
    always = [sequences.difference[pair] for pair in at]
    regret = truth.max() - truth
    strictly_best = [int(np.argmax(truth))] if (regret == 0).sum() == 1 else []
    best_claim = verdict.reason == "best model"
    false_best = best_claim and verdict.leader not in strictly_best
    false_tolerance = any(regret[i] > kind.tolerance + 1e-12 for i in verdict.good_enough)
    return Look(
        rows=len(data.model),
        min_rows=int(np.bincount(data.model, minlength=len(truth)).min()),
        values=covers(sequences.interval, truth),
        all_values=bool(covers(sequences.simultaneous_interval, truth).all()),
        differences=all(low <= difference[pair] <= high for (low, high), pair in zip(always, at, strict=True)),
        fixed_differences=all(c.low <= difference[pair] <= c.high for c, pair in zip(contrasts, at, strict=True)),
        width_ratio=_width_ratio(values, sequences) if len(data.model) == kind.horizon else np.nan,
        difference_ratio=float(
            np.median([(high - low) / (c.high - c.low) for (low, high), c in zip(always, contrasts, strict=True)])
        ),
        reason=verdict.reason,
        false_claim=bool(false_best or false_tolerance),
        right=bool(verdict.reason in ("best model", "within tolerance") and not (false_best or false_tolerance)),
        smallest_propensity=smallest_propensity,
    )


def _width_ratio(values: Values, sequences: Sequences) -> float:
    return float(np.median(np.diff(sequences.interval) / np.diff(values.interval(LEVEL))))


def after(study: list[Look], burn_in: int) -> list[Look]:
    """The looks at which every model has this number of rows."""
    return [look for look in study if look.min_rows >= burn_in]


def describe(name: str, kind: Growing, studies: Sequence[list[Look]], burn_in: int = MIN_ROWS_PER_MODEL) -> str:
    """One line of the table."""
    used = [after(study, burn_in) for study in studies if after(study, burn_in)]
    value = np.array([[all(look.values[a] for look in study) for a in range(len(kind.values))] for study in used])
    shares = [
        value.mean(),
        value.mean(axis=0).min(),
        np.mean([all(look.all_values for look in study) for study in used]),
        np.mean([all(look.differences for look in study) for study in used]),
        np.mean([any(look.false_claim for look in study) for study in used]),
        np.mean([all(look.fixed_differences for look in study) for study in used]),
    ]
    stops = [next((look for look in study if look.reason not in ("", "horizon")), None) for study in used]
    at = [look.rows for look in stops if look is not None and look.right]
    right = np.mean([look is not None and look.right for look in stops])
    cells = " ".join(f"{100 * share:6.1f}" for share in shares)
    width, difference = (np.median([getattr(s[-1], f"{n}_ratio") for s in used]) for n in ("width", "difference"))
    smallest = np.mean([study[-1].smallest_propensity for study in used])
    rows = f"{np.median(at):5.0f}" if at else "    –"
    return f"{name:36s} {cells}  {100 * right:5.1f} {rows}  {width:5.2f} {difference:5.2f} {smallest:6.2f}"


HEADER = (
    "value, worst: coverage of a model's own sequence over all looks, mean and lowest over models; all: all values\n"
    "together; diff: all differences together; false: any wrong claim of the stopping rule; fixed: all differences\n"
    "with intervals for one look; right: studies that stop with a true claim before the horizon, and their\n"
    "median rows; width, diff: at the end, relative to intervals for one look; prop: smallest propensity at the end\n\n"
    f"{'':36s}  value  worst    all   diff  false  fixed  right  rows  width  diff   prop"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Experiments that are looked at after every batch.")
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--only", action="append", help="scenarios whose name contains this; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies per row, level {LEVEL}; numbers in percent.\n{HEADER}")
    bounded_interval.BISECTIONS = BISECTIONS
    with one_blas_thread():
        for number, (name, kind) in enumerate({**SCENARIOS, **EARLY}.items()):
            if given.only and not any(part in name for part in given.only):
                continue
            studies = [looks_of(kind, np.random.default_rng([given.seed, number, i])) for i in range(given.studies)]
            for burn_in in BURN_INS if name in EARLY else (MIN_ROWS_PER_MODEL,):
                label = f"{name}, {burn_in} rows" if name in EARLY else name
                print(describe(label, kind, studies, burn_in), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
