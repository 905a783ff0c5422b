"""Do intervals and best sets of segments hold together, and how often is another best model claimed wrongly?

    python -m benchmarks.segments --studies 1000

Studies of four models in 4 or 12 segments of uneven size, with and without true differences between segments. Outcomes
are yes/no or graded; the reward knows a part of the differences between models. The truth of a segment is exact. Every
row is an estimate over ``--studies`` studies; a share has a standard error of at most 0.7 % with 1,000 studies at 95 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.simulation import covers
from deconfound.data.segment_codes import SegmentCodes
from deconfound.design import FloatArray, IntArray
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, shrink_toward, tuned_doubly_robust
from deconfound.value.segments import SegmentedValues, SegmentRows, estimate_segments

LEVEL = 0.95
MODELS = ("ant", "bee", "cat", "dog")
VALUE = np.array([0.62, 0.58, 0.54, 0.50])
EVEN_SHARES = 0.5  # segment s has a share of rows proportional to (s + 1)^-EVEN_SHARES


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of study."""

    segments: int
    rows: int
    differences: float  # standard deviation of a model's value between segments
    yes_no: bool

    @property
    def name(self) -> str:
        """For the table."""
        kind = "yes/no" if self.yes_no else "graded"
        return f"{self.segments} segments, {self.rows} rows, {kind}, differences {self.differences:g}"


@dataclass(frozen=True, slots=True)
class Study:
    """A simulated experiment and its truth."""

    rows: SegmentRows
    code: IntArray  # (n,)
    truth: FloatArray  # (segments, k)
    overall: FloatArray  # (k,)


def simulate(case: Case, rng: np.random.Generator) -> Study:
    share = np.arange(1.0, case.segments + 1) ** -EVEN_SHARES
    share /= share.sum()
    level = rng.normal(0.0, 0.05, (case.segments, 1))
    truth = np.clip(VALUE + level + rng.normal(0.0, case.differences, (case.segments, len(MODELS))), 0.05, 0.95)
    code = rng.choice(case.segments, size=case.rows, p=share)
    model = rng.integers(len(MODELS), size=case.rows)
    predictable = rng.uniform(-0.05, 0.05, case.rows)  # what the reward knows about a context; it averages to zero
    mean = truth[code, model] + predictable
    if case.yes_no:
        outcome = (rng.random(case.rows) < mean).astype(np.float64)
    else:
        outcome = mean + np.minimum(np.minimum(mean, 1 - mean), 0.3) * rng.uniform(-1.0, 1.0, case.rows)
    q = 0.5 + 0.7 * (VALUE - 0.5) + predictable[:, None]
    data = ScoredExperiment.from_arrays(MODELS, q, q[np.arange(case.rows), model], model, outcome)
    return Study(SegmentRows(data, np.arange(case.rows)), code, truth, share @ truth)


def estimate(study: Study) -> SegmentedValues:
    data = study.rows.data
    overall = shrink_toward(tuned_doubly_robust(data), data.q.mean(axis=0))
    names = tuple(f"s{number:02d}" for number in range(len(study.truth)))
    codes = SegmentCodes("segment", names, study.code, missing_rows=0, pooled_values=0)
    return estimate_segments([codes], study.rows, overall, LEVEL)[0]


def measures(study: Study, result: SegmentedValues) -> dict[str, float]:
    """Whether statements hold, over all segments of one study."""
    best = MODELS.index(result.overall_best)
    hits, sets, claims, wrong, errors, own_errors = [], [], 0, 0, [], []
    for segment in result.segments:
        truth = study.truth[int(segment.name[1:])]
        hits.append(covers(segment.interval, truth))
        sets.append(MODELS[int(truth.argmax())] in segment.best_set)
        claims += segment.other_best
        wrong += segment.other_best and int(truth.argmax()) == best
        known = np.isfinite(segment.values.standard_error)
        errors += ((segment.values.estimate - truth)[known] ** 2).tolist()
        own_errors += ((segment.values.center - truth)[known] ** 2).tolist()
    single = np.concatenate(hits)
    return {
        "all intervals": float(single.all()),
        "all best sets": float(all(sets)),
        "claims per study": float(claims),
        "any wrong claim": float(wrong > 0),
        "wrong share of claims": wrong / claims if claims else 0.0,
        "segments differ": float(result.differ),
        "rmse": float(np.mean(errors)),
        "rmse of own rows": float(np.mean(own_errors)),
    }


def cases() -> list[Case]:
    sizes = ((4, 240), (4, 800), (12, 480), (12, 1_600))
    return [Case(*size, sd, yes_no) for size in sizes for sd in (0.0, 0.04, 0.1) for yes_no in (False, True)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    given = parser.parse_args(arguments)
    heading: list[str] = []
    with one_blas_thread():
        for number, case in enumerate(cases()):
            if given.only not in case.name:
                continue
            rngs = (np.random.default_rng([17, number, study]) for study in range(given.studies))
            rows = [measures(study, estimate(study)) for study in (simulate(case, rng) for rng in rngs)]
            if not heading:
                heading = list(rows[0])
                print(f"{'':58s}" + "".join(f"{name:>24s}" for name in heading))
            means = {name: float(np.mean([row[name] for row in rows])) for name in heading}
            shown = [np.sqrt(value) if name.startswith("rmse") else value for name, value in means.items()]
            print(f"{case.name:58s}" + "".join(f"{value:24.4f}" for value in shown), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
