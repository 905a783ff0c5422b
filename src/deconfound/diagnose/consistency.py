"""A3: does an outcome mean the same in the log, in the experiment, and over time?

The log's outcomes may be higher or lower than the experiment's for one model and the next: that is confounding, which
the evaluation is there to correct. What it cannot correct is another scale, another coding or another law. These tests
therefore look at which values occur, at the sign of associations within models, and at time. Except for the first
they have innocent explanations too, and warn at most.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import DenseMatrix, FloatArray, IntArray
from deconfound.diagnose.drift import drift
from deconfound.diagnose.matching import matching
from deconfound.diagnose.signs import signs
from deconfound.diagnose.smoothing import within
from deconfound.diagnose.verdicts import shown, verdict, warned
from deconfound.features.study_arrays import StudyArrays
from deconfound.findings import Finding
from deconfound.linalg import ridge

FEWEST_ROWS = 10  # fewer rows cannot show a direction
MOST_STEPS = 11  # values of a coarse scale: yes and no, five stars, zero to ten
REPEATS = 3  # a coarse scale has on average at least so many rows a value
ALLOWANCE = 4.0  # confounding may make a value up to so many times rarer in one source than in the other
UNSURE = 1e-4  # chance left that the other source's share lies below the limit taken for it
REWARD_PENALTY = 1e-2  # of n: enough to keep collinear statistics from blowing up


def consistency(study: Study, material: StudyArrays, seed: int = 0, level: float = 0.95) -> tuple[Finding, ...]:
    """Values and ranges, the direction of the outcome, matching outputs, and drift in both sources."""
    return (
        coding(study, level),
        direction(study, material, seed, level),
        *matching(study, seed, level),
        *(drift(table, seed, level) for table in (study.log, study.experiment)),
    )


def coding(study: Study, level: float) -> Finding:
    """Whether both sources use the same values: one may not be yes or no and the other graded."""
    name = "outcome values"
    log, experiment = (table.arrow["outcome"].to_numpy() for table in (study.log, study.experiment))
    p = values_p_value(log, experiment)
    found = verdict(p, level)
    seen = f"log: {described(log)}; experiment: {described(experiment)}"
    if found == "pass":
        return Finding(name, found, f"Both sources use the same values ({seen}).", "", p, "A3")
    message = f"The sources use different values ({seen}; {shown(p)}). What one teaches is then wrong for the other."
    remedy = "Bring both to one scale and one coding before loading them (--outcome-range holds for both)."
    return Finding(name, found, message, remedy, p, "A3")


def values_p_value(one: FloatArray, other: FloatArray) -> float:
    """Chance that a source misses, by luck, so much of where the other's outcomes lie.

    Of n rows none falls where the other source has a share s with chance (1 - s)^n. The share is taken at its lower
    limit, and confounding is allowed to make the place ``ALLOWANCE`` times rarer.
    """
    chances = []
    for source, against in ((one, other), (other, one)):
        rows = round(missed_share(source, against) * len(against))
        share = float(stats.beta.ppf(UNSURE, rows, len(against) - rows + 1)) if rows else 0.0
        chances.append((1.0 - share / ALLOWANCE) ** len(source))
    return float(min(1.0, 2.0 * min(chances) + UNSURE))


def missed_share(source: FloatArray, other: FloatArray) -> float:
    """Share of the other's outcomes that lie outside the source's range or, if it is coarse, between its values."""
    places = ~np.isin(other, source) if coarse(source) else (other < source.min()) | (other > source.max())
    return float(np.mean(places))


def coarse(outcome: FloatArray) -> bool:
    """Whether outcomes come in a few values, each of them several times."""
    values = len(np.unique(outcome))
    return values <= MOST_STEPS and len(outcome) >= REPEATS * values


def described(outcome: FloatArray) -> str:
    """The values of a source in a few words."""
    values = np.unique(outcome)
    if coarse(outcome) and len(values) <= 5:
        return " and ".join(f"{value:.3g}" for value in values) if len(values) < 3 else f"{len(values)} values"
    return f"{len(values):,} values from {values[0]:.3g} to {values[-1]:.3g}"


def direction(study: Study, material: StudyArrays, seed: int, level: float) -> Finding:
    """Whether what goes with a high outcome in the log goes with a low one in the experiment, within models."""
    name = "outcome direction"
    trial, blocks = material.experiment, material.log.blocks
    if blocks.dense is None or trial.blocks.dense is None or len(trial.outcome) < FEWEST_ROWS:
        message = "Too little is known of the outputs to see whether both sources call the same outputs good."
        return Finding(name, "cannot tell", message, "Keep the surface statistics on.", assumption="A3")
    _, model = encode(study.log.arrow["model"], (*study.models, *study.uncompared_models))
    outcome = study.log.arrow["outcome"].to_numpy()
    prediction = carried(blocks.dense[blocks.row_index], outcome, model, trial.blocks.dense[trial.blocks.row_index])
    low, high, slope = signs(prediction, trial.outcome, trial.model, trial.cluster, seed)
    found = warned(low, level)
    if found == "warn":
        message = (
            f"Outputs that the log calls good the experiment calls bad, within models ({shown(low)}): one source may be"
            " coded the other way round. Strong confounding can look like that, too."
        )
        remedy = "Check in both sources whether 1 is the best outcome, and turn the one that has it the other way."
        return Finding(name, found, message, remedy, low, "A3")
    if high < 1.0 - level:
        message = f"Both sources call the same outputs good (correlation {slope:.2f} within models, {shown(high)})."
        return Finding(name, "pass", message, "", low, "A3")
    message = "The log's taste says nothing about the experiment's outcomes, so a coding turned round would go unseen."
    return Finding(name, "cannot tell", message, "Compare a few rows of both sources by hand.", low, "A3")


def carried(features: FloatArray, outcome: FloatArray, model: IntArray, others: FloatArray) -> FloatArray:
    """A reward learned within the models of one source, as it orders the rows of another."""
    centred = within(features, model)
    coef = ridge(DenseMatrix(centred), within(outcome[:, None], model)[:, 0], REWARD_PENALTY * len(outcome)).coef
    return np.asarray(others @ coef)
