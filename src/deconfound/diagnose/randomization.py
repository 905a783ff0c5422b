"""A1: was the experiment's model really drawn as declared, whatever the context and whenever it was?

Three tests. With one declared probability a model for all rows, their p-values are exact up to the number of resamples:
counts against multinomial draws, time and context against permutations of the models. Where declared probabilities
vary from row to row only that of the drawn model is known; then deviations 1{drawn} / propensity - 1, of mean zero in
every row, take the place of the indicator, with a normal approximation for counts and sign flips for the others.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from deconfound.data import Study
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.assignment import SAME, Assignment, assignment
from deconfound.diagnose.context_blocks import context_blocks
from deconfound.diagnose.smoothing import Resample, Smoother, flipping, p_value, permuting
from deconfound.diagnose.timeline import timeline, waves
from deconfound.diagnose.verdicts import shown, verdict
from deconfound.findings import Finding
from deconfound.formatting import escape_control_characters, format_percent, pluralize

RATIO_DRAWS = 9_999  # multinomial draws cost next to nothing
FEWEST_ROWS = 10  # fewer draws cannot show a pattern
FEWEST_EXPECTED = 5.0  # rows a model; below it the normal approximation for varying propensities is poor
MOST_ROWS = 5_000  # used for the tests of time and context; more rows than that are sampled
TEXT_PENALTY, SURFACE_PENALTY = 0.01, 1.0  # of n: many weak directions of words, few strong ones of the surface
TIME_PENALTY = 1e-3  # of n: the waves are orthogonal, so next to none is needed

CONSEQUENCE = "If this is no luck, rows of different models differ in more than the model, and values are biased."


def randomization(study: Study, seed: int = 0, level: float = 0.95) -> tuple[Finding, ...]:
    """Counts against the declared draw, then time and context as predictors of the model."""
    drawn = assignment(study, seed)
    return (ratio(drawn, seed, level), over_time(study, drawn, seed, level), by_context(study, drawn, seed, level))


def ratio(drawn: Assignment, seed: int, level: float) -> Finding:
    """Sample-ratio test: how often each model was drawn against how often it should have been."""
    name, unit = "sample ratio", _unit(drawn)
    if len(drawn) < FEWEST_ROWS:
        return _too_few(name, drawn)
    shares = drawn.shares
    if shares is None and expected_rows(drawn).min() < FEWEST_EXPECTED:
        message = "Propensities vary between rows, and so few rows of some model are expected that no test is sound."
        return Finding(name, "cannot tell", message, "Randomize more rows.", assumption="A1")
    p = counts_p_value(drawn, seed) if shares is not None else weighted_p_value(drawn)
    weighted = drawn.indicator / drawn.propensity[:, None]
    worst = int(np.abs(weighted.mean(axis=0) - 1.0).argmax()) if shares is None else _worst(drawn.counts, shares)
    ratio_seen = f"{weighted.mean(axis=0)[worst]:.2f} times as often as declared"
    if shares is not None:
        seen, declared = (format_percent(share, 1) for share in (drawn.counts[worst] / len(drawn), shares[worst]))
        ratio_seen = f"in {seen} of {unit} where {declared} were declared"
    found = verdict(p, level)
    if found == "pass":
        message = f"Each model was drawn about as often as declared, over {unit} ({shown(p)})."
        return Finding(name, found, message, "", p, "A1")
    message = f"{escape_control_characters(drawn.names[worst])} was drawn {ratio_seen} ({shown(p)}). {CONSEQUENCE}"
    remedy = (
        "Look for rows lost or added after the draw (errors, timeouts, filters, retries) and for a wrong declaration; "
        "declare the true propensities, or run the experiment again."
    )
    return Finding(name, found, message, remedy, p, "A1")


def over_time(study: Study, drawn: Assignment, seed: int, level: float) -> Finding:
    """Whether the mix of models moved while the experiment ran."""
    name, table = "assignment over time", study.experiment.arrow
    if "time" not in table.column_names:
        message = f"{study.experiment.source} has no time column, so a change of the draw on the way goes unseen."
        remedy = "Add when each row happened (a column `time`)."
        return Finding(name, "cannot tell", message, remedy, assumption="A1")
    time = table["time"].to_numpy()[drawn.rows]
    if len(drawn) < FEWEST_ROWS or len(np.unique(time)) < 2:
        return _too_few(name, drawn)
    p = predicted_p_value((waves(time),), (TIME_PENALTY,), drawn, seed)
    found = verdict(p, level)
    if found == "pass":
        return Finding(name, found, f"The mix of models held still over time ({shown(p)}).", "", p, "A1")
    early = timeline(time) < 0.5
    first, then = drawn.indicator[early].mean(axis=0), drawn.indicator[~early].mean(axis=0)
    most = int(np.abs(then - first).argmax())
    before, after = (format_percent(half[most], 1) for half in (first, then))
    moved = f"{escape_control_characters(drawn.names[most])} went from {before} in the first half to {after}"
    message = (
        f"The mix of models moved over time: {moved} ({shown(p)}). What else changed with time is then confounded."
    )
    remedy = "Declare the propensities that held at each time, or keep only a stretch with one fixed draw."
    return Finding(name, found, message, remedy, p, "A1")


def by_context(study: Study, drawn: Assignment, seed: int, level: float) -> Finding:
    """Whether a classifier that reads the context guesses the model better than luck."""
    name = "assignment by context"
    if len(drawn) < FEWEST_ROWS:
        return _too_few(name, drawn)
    table = study.experiment.arrow.take(drawn.rows)
    blocks = context_blocks(study, table, seed)
    penalties = (TEXT_PENALTY, SURFACE_PENALTY) if study.has_text else (SURFACE_PENALTY,)
    if not any(block.any() for block in blocks):
        message = "All contexts look the same, so whether they decided the model cannot be seen."
        return Finding(name, "cannot tell", message, "Check the context column.", assumption="A1")
    p = predicted_p_value(blocks, penalties, drawn, seed)
    found = verdict(p, level)
    if found == "pass":
        return Finding(name, found, f"The context does not predict the model ({shown(p)}).", "", p, "A1")
    message = f"The context predicts which model was drawn ({shown(p)}). {CONSEQUENCE}"
    remedy = "Look for a rule or a user's choice ahead of the draw; declare its propensities, or remove those rows."
    return Finding(name, found, message, remedy, p, "A1")


def counts_p_value(drawn: Assignment, seed: int) -> float:
    """Pearson's statistic of the counts against multinomial draws with the declared shares."""
    shares = drawn.shares
    if shares is None:
        raise ValueError("the propensities vary")
    rest = 1.0 - shares.sum()
    extra = [rest] if rest > SAME * len(shares) else []  # what was declared for models that no row has
    expected = np.append(shares, extra)
    expected = expected / expected.sum()
    counts = np.append(drawn.counts, [0] * len(extra))
    possible = expected > 0
    draws = np.random.default_rng(seed).multinomial(len(drawn), expected[possible], RATIO_DRAWS)
    observed, simulated = (pearson(x, len(drawn) * expected[possible]) for x in (counts[None, possible], draws))
    return float((1 + (simulated >= observed[0] * (1 - 1e-9)).sum()) / (1 + RATIO_DRAWS))


def pearson(counts: IntArray, expected: FloatArray) -> FloatArray:
    """Sum of squared deviations over expectations, for each row of counts."""
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=1))


def weighted_p_value(drawn: Assignment) -> float:
    """Largest score z over the models, Bonferroni-adjusted: 1{drawn} / propensity has mean one in every row.

    Its variance needs the mean of 1 / propensity over all rows; rows that drew the model, weighed by 1 / propensity,
    stand for all of them.
    """
    inverse = drawn.indicator / drawn.propensity[:, None]
    seen = drawn.counts > 0
    total = inverse.sum(axis=0)[seen]
    variance = len(drawn) * ((inverse**2).sum(axis=0)[seen] / total - 1.0)
    deviation = np.abs(total - len(drawn))
    z = np.where(variance > 0, deviation / np.sqrt(np.maximum(variance, 1e-300)), np.where(deviation > 0, np.inf, 0.0))
    return float(min(1.0, 2 * seen.sum() * stats.norm.sf(z.max())))


def expected_rows(drawn: Assignment) -> FloatArray:
    """How many rows of each model that occurs were to be expected, by the rows that drew it."""
    inverse = drawn.indicator / drawn.propensity[:, None]
    seen = drawn.counts > 0
    return np.asarray(len(drawn) * inverse.sum(axis=0)[seen] / (inverse**2).sum(axis=0)[seen])


def predicted_p_value(
    blocks: tuple[FloatArray, ...], penalties: tuple[float, ...], drawn: Assignment, seed: int
) -> float:
    """How often luck would let these features predict the model as well as they do."""
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.permutation(len(drawn))[:MOST_ROWS])
    target = drawn.residual[kept]
    resample: Resample = flipping(target, np.arange(len(kept)))
    if drawn.shares is not None:
        target = target - target.mean(axis=0)
        resample = permuting(target, np.zeros(len(kept), dtype=np.int64))
    smoothers = [Smoother.of(b[kept], penalty * len(kept)) for b, penalty in zip(blocks, penalties, strict=True)]
    return p_value(smoothers, target, resample, rng)


def _worst(counts: IntArray, shares: FloatArray) -> int:
    expected = counts.sum() * shares
    return int((np.abs(counts - expected) / np.sqrt(np.maximum(expected, 1e-12))).argmax())


def _unit(drawn: Assignment) -> str:
    return f"{pluralize(len(drawn), 'row')}{', one of each cluster' if drawn.by_cluster else ''}"


def _too_few(name: str, drawn: Assignment) -> Finding:
    message = f"{_unit(drawn)} {'is' if len(drawn) == 1 else 'are'} too few to see a pattern in."
    return Finding(name, "cannot tell", message, "Randomize more rows.", assumption="A1")
