"""Clean and violated draws of models for the checks of A1: 360 rows of the demo's kind of messages, six models."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.checks import Case
from deconfound.demo.demo_study import make_cases
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.assignment import Assignment, one_of_each, repeats_within
from deconfound.diagnose.context_blocks import text_blocks
from deconfound.diagnose.randomization import (
    SURFACE_PENALTY,
    TEXT_PENALTY,
    TIME_PENALTY,
    counts_p_value,
    predicted_p_value,
    weighted_p_value,
)
from deconfound.diagnose.timeline import waves

ROWS, MODELS = 360, 6
POOL = 6_000  # messages that the studies draw from without replacement
UNEVEN = np.array([0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
STRATA = np.array([[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], [0.1, 0.3, 0.2, 0.2, 0.1, 0.1], [0.2, 0.2, 0.2, 0.1, 0.1, 0.2]])


def drawn(model: IntArray, propensity: FloatArray) -> Assignment:
    names = tuple(f"model-{number}" for number in range(MODELS))
    return Assignment(names, model, propensity, np.arange(len(model)), by_cluster=False)


def pick(chances: FloatArray, rng: np.random.Generator) -> IntArray:
    """One model a row with the probabilities (n, k) of that row."""
    return np.asarray((rng.random((len(chances), 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1))


def even(rows: int = ROWS) -> FloatArray:
    return np.full((rows, MODELS), 1.0 / MODELS)


def ratio(true: FloatArray, declared: FloatArray, rng: np.random.Generator, rows: int = ROWS) -> float:
    model = pick(np.tile(true, (rows, 1)), rng)
    return counts_p_value(drawn(model, declared[model]), int(rng.integers(2**31)))


def lost(shares: FloatArray, rng: np.random.Generator, rows: int = ROWS) -> float:
    """The first model fails to answer in half of its rows, and those rows never reach the table."""
    kept = shares * np.where(np.arange(MODELS) == 0, 0.5, 1.0)
    return ratio(kept / kept.sum(), shares, rng, rows)


def weighted(rng: np.random.Generator, lost_share: float) -> float:
    """Propensities that depend on the row's stratum, of which only the drawn model's is known."""
    stratum = rng.integers(len(STRATA), size=ROWS)
    true = STRATA[stratum] * np.where(np.arange(MODELS) == 0, 1.0 - lost_share, 1.0)
    model = pick(true / true.sum(axis=1, keepdims=True), rng)
    return weighted_p_value(drawn(model, STRATA[stratum, model]))


def clustered(rng: np.random.Generator, lost_share: float) -> float:
    """The model is drawn once a person; 360 people with one to five rows each."""
    shares = np.full(MODELS, 1.0) * np.where(np.arange(MODELS) == 0, 1.0 - lost_share, 1.0)
    person = np.repeat(np.arange(360), rng.integers(1, 6, 360))
    model = pick(np.tile(shares / shares.sum(), (360, 1)), rng)[person]
    rows = one_of_each(person, rng) if repeats_within(person, model, rng) < 0.01 else np.arange(len(person))
    return counts_p_value(drawn(model[rows], np.full(len(rows), 1 / MODELS)), int(rng.integers(2**31)))


def over_time(rng: np.random.Generator, moved: float, stratified: bool = False) -> float:
    """In the last third of the time the first model takes over this share of the other models' rows."""
    time = rng.random(ROWS)
    declared = STRATA[rng.integers(len(STRATA), size=ROWS)] if stratified else even()
    late = np.where(time > 2 / 3, moved, 0.0)[:, None]
    model = pick((1 - late) * declared + late * (np.arange(MODELS) == 0), rng)
    propensity = declared[np.arange(ROWS), model]
    return predicted_p_value((waves(time),), (TIME_PENALTY,), drawn(model, propensity), int(rng.integers(2**31)))


@cache
def pool() -> tuple[str, ...]:
    return tuple(case.context for case in make_cases(POOL, np.random.default_rng(5)))


def by_context(rng: np.random.Generator, chance: float, rule: str, stratified: bool = False) -> float:
    """The rule's contexts go to the first model with this chance instead of being drawn."""
    texts = [pool()[i] for i in rng.choice(POOL, ROWS, replace=False)]
    length = np.array([len(text) for text in texts])
    hit = length > np.quantile(length, 2 / 3) if rule == "length" else np.array(["refund" in text for text in texts])
    declared = np.where((length > np.median(length))[:, None], STRATA[0], STRATA[1]) if stratified else even()
    forced = np.where(hit, chance, 0.0)[:, None]
    model = pick((1 - forced) * declared + forced * (np.arange(MODELS) == 0), rng)
    seed = int(rng.integers(2**31))
    blocks = text_blocks(texts, np.arange(ROWS), seed)
    assigned = drawn(model, declared[np.arange(ROWS), model])
    return predicted_p_value(blocks, (TEXT_PENALTY, SURFACE_PENALTY), assigned, seed)


def cases() -> list[Case]:
    uniform = np.full(MODELS, 1.0 / MODELS)
    failing = "one model loses 50 % of its rows"
    return [
        Case("A1 sample ratio, uniform", lambda g: ratio(uniform, uniform, g), lambda g: lost(uniform, g), failing),
        Case(
            "A1 sample ratio, 24 rows",
            lambda g: ratio(UNEVEN, UNEVEN, g, 24),
            lambda g: ratio(UNEVEN[::-1], UNEVEN, g, 24),
            "shares declared in reverse",
        ),
        Case(
            "A1 sample ratio, declared uneven", lambda g: ratio(UNEVEN, UNEVEN, g), lambda g: lost(UNEVEN, g), failing
        ),
        Case(
            "A1 sample ratio, propensity by row",
            lambda g: weighted(g, 0.0),
            lambda g: weighted(g, 0.5),
            "one model loses 50 % of its rows",
        ),
        Case("A1 sample ratio, drawn by person", lambda g: clustered(g, 0.0), lambda g: clustered(g, 0.5), failing),
        Case(
            "A1 over time",
            lambda g: over_time(g, 0.0),
            lambda g: over_time(g, 0.35),
            "in the last third one model takes 35 % of the others' rows",
        ),
        Case(
            "A1 over time, propensity by row",
            lambda g: over_time(g, 0.0, True),
            lambda g: over_time(g, 0.5, True),
            "in the last third one model takes 50 % of the others' rows",
        ),
        Case(
            "A1 by context, length",
            lambda g: by_context(g, 0.0, "length"),
            lambda g: by_context(g, 0.4, "length"),
            "40 % of the longest third go to one model",
        ),
        Case(
            "A1 by context, words",
            lambda g: by_context(g, 0.0, "words"),
            lambda g: by_context(g, 0.75, "words"),
            "75 % of the messages with one word (26 % of all) go to one model",
        ),
        Case(
            "A1 by context, propensity by row",
            lambda g: by_context(g, 0.0, "length", True),
            lambda g: by_context(g, 0.8, "length", True),
            "80 % of the longest third go to one model",
        ),
    ]
