"""Do statements by segment hold in whole evaluations, with users and recurring contexts?

    python -m benchmarks.segments_evaluation --studies 200

Studies of feature columns through ``dc.evaluate``: three models, a language per context, contexts that recur in the
experiment and users with several rows, both with noise that their rows share. The log overrates one model. A language
has exact true values; "differences" is the standard deviation of a model's value between languages.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import deconfound as dc
from benchmarks.simulation import covers
from deconfound.design import FloatArray, IntArray
from deconfound.evaluation_options import MIN_REFITS, EvaluationOptions

MODELS = ("ant", "bee", "cat")
LANGUAGES = ("de", "en", "es", "fr")
SHARES = (0.4, 0.3, 0.2, 0.1)
VALUE = np.array([0.56, 0.52, 0.48])
OPTIONS = EvaluationOptions(refits=MIN_REFITS)
CONTEXTS, USERS, ROWS, LOG_ROWS = 150, 80, 480, 400
OVERRATED = 0.15  # of the last model, in the log


@dataclass(frozen=True, slots=True)
class Truth:
    """A population of contexts and users."""

    value: FloatArray  # (languages, k)
    language: IntArray  # (contexts,)
    context_effect: FloatArray  # (contexts,)
    user_effect: FloatArray  # (users, k)

    def rows(self, count: int, overrated: float, prefix: str, rng: np.random.Generator) -> pa.Table:
        """Uses of random models; a feature shows half of the effect of a context."""
        context, user = rng.integers(len(self.language), size=count), rng.integers(len(self.user_effect), size=count)
        model = rng.integers(len(MODELS), size=count)
        mean = self.value[self.language[context], model] + self.context_effect[context] + self.user_effect[user, model]
        outcome = mean + overrated * (model == len(MODELS) - 1) + rng.uniform(-0.15, 0.15, count)
        return pa.table(
            {
                "context_id": [f"c{number}" for number in context],
                "model": [MODELS[code] for code in model],
                "outcome": np.clip(outcome, 0.0, 1.0),
                "cluster": [f"{prefix}{number}" for number in user],
                "language": [LANGUAGES[self.language[number]] for number in context],
                "feature_x": self.context_effect[context] + rng.uniform(-0.05, 0.05, count),
            }
        )


def draw_truth(differences: float, rng: np.random.Generator) -> Truth:
    value = np.clip(VALUE + rng.normal(0.0, differences, (len(LANGUAGES), len(MODELS))), 0.32, 0.68)
    return Truth(
        value,
        rng.choice(len(LANGUAGES), size=CONTEXTS, p=SHARES),
        rng.uniform(-0.08, 0.08, CONTEXTS),
        rng.uniform(-0.08, 0.08, (USERS, len(MODELS))),
    )


def load(truth: Truth, rng: np.random.Generator) -> dc.Study:
    experiment = truth.rows(ROWS, 0.0, "e", rng)
    used = sorted(set(experiment["context_id"].to_pylist()))
    replay = pa.table(
        {
            "context_id": np.repeat(used, len(MODELS)),
            "model": list(MODELS) * len(used),
            "feature_x": np.repeat([truth.context_effect[int(name[1:])] for name in used], len(MODELS)),
        }
    )
    log = truth.rows(LOG_ROWS, OVERRATED, "l", rng)
    return dc.load(log=log, experiment=experiment, replay=replay, segments="language")


def measures(truth: Truth, result: dc.Result) -> dict[str, float]:
    """Whether statements hold, over all languages of one study."""
    (found,) = result.segments
    best = MODELS.index(found.overall_best)
    true = [truth.value[LANGUAGES.index(segment.name)] for segment in found.segments]
    pairs = list(zip(found.segments, true, strict=True))
    wrong = [one.other_best and int(value.argmax()) == best for one, value in pairs]
    return {
        "all intervals": float(all(covers(one.interval, value).all() for one, value in pairs)),
        "all best sets": float(all(MODELS[int(value.argmax())] in one.best_set for one, value in pairs)),
        "claims per study": float(sum(one.other_best for one in found.segments)),
        "any wrong claim": float(any(wrong)),
        "segments differ": float(found.differ),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--family", default="exp-only")
    given = parser.parse_args(arguments)
    for differences in (0.0, 0.06):
        rows = []
        for study in range(given.studies):
            rng = np.random.default_rng([26, study])
            truth = draw_truth(differences, rng)
            rows.append(measures(truth, dc.evaluate(load(truth, rng), given.family, options=OPTIONS)))
        means = "  ".join(f"{name} {np.mean([row[name] for row in rows]):.3f}" for name in rows[0])
        print(f"differences {differences:g}, {given.studies} studies: {means}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
