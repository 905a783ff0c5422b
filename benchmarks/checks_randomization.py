"""Clean and violated assignments for the checks of A1: 360 rows with messages of the demo's kind, six models."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.checks import Case
from deconfound.demo.demo_study import make_cases
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.permutation_tests import cosine_basis
from deconfound.diagnose.randomization import (
    SURFACE_PENALTY,
    TEXT_PENALTY,
    TIME_PENALTY,
    Assignment,
    one_row_per_cluster,
    predict_assignment,
    sample_ratio_test,
    weighted_sample_ratio_test,
    within_cluster_repeat_p_value,
)
from deconfound.diagnose.thresholds import CLUSTER_DRAW_P
from deconfound.features.context_features import text_blocks

ROWS, MODELS = 360, 6
POOL = 6_000  # messages that the studies draw from without replacement
UNEVEN = np.array([0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
STRATA = np.array([[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], [0.1, 0.3, 0.2, 0.2, 0.1, 0.1], [0.2, 0.2, 0.2, 0.1, 0.1, 0.2]])


def assignment(model: IntArray, propensity: FloatArray) -> Assignment:
    names = tuple(f"model-{number}" for number in range(MODELS))
    return Assignment(names, model, propensity, np.arange(len(model)), by_cluster=False)


def assign(propensity: FloatArray, rng: np.random.Generator) -> IntArray:
    """One model per row, with the propensities (n, k) of that row."""
    return np.asarray((rng.random((len(propensity), 1)) > propensity.cumsum(axis=1)[:, :-1]).sum(axis=1))


def even(rows: int = ROWS) -> FloatArray:
    return np.full((rows, MODELS), 1.0 / MODELS)


def ratio(true: FloatArray, declared: FloatArray, rng: np.random.Generator, rows: int = ROWS) -> float:
    model = assign(np.tile(true, (rows, 1)), rng)
    return sample_ratio_test(assignment(model, declared[model]), int(rng.integers(2**31)))[1]


def lost(shares: FloatArray, rng: np.random.Generator, rows: int = ROWS) -> float:
    """The first model fails to answer in half of its rows, and those rows never reach the table."""
    remaining = shares * np.where(np.arange(MODELS) == 0, 0.5, 1.0)
    return ratio(remaining / remaining.sum(), shares, rng, rows)


def weighted(rng: np.random.Generator, lost_share: float) -> float:
    """Propensities that depend on the row's stratum; only the assigned model's is declared."""
    stratum = rng.integers(len(STRATA), size=ROWS)
    true = STRATA[stratum] * np.where(np.arange(MODELS) == 0, 1.0 - lost_share, 1.0)
    model = assign(true / true.sum(axis=1, keepdims=True), rng)
    return weighted_sample_ratio_test(assignment(model, STRATA[stratum, model]))[1]


def clustered(rng: np.random.Generator, lost_share: float) -> float:
    """The model is assigned by person; 360 people with one to five rows each."""
    shares = np.full(MODELS, 1.0) * np.where(np.arange(MODELS) == 0, 1.0 - lost_share, 1.0)
    person = np.repeat(np.arange(360), rng.integers(1, 6, 360))
    model = assign(np.tile(shares / shares.sum(), (360, 1)), rng)[person]
    by_person = within_cluster_repeat_p_value(person, model, rng) < CLUSTER_DRAW_P
    rows = one_row_per_cluster(person, rng) if by_person else np.arange(len(person))
    return sample_ratio_test(assignment(model[rows], np.full(len(rows), 1 / MODELS)), int(rng.integers(2**31)))[1]


def over_time(rng: np.random.Generator, moved: float, stratified: bool = False) -> float:
    """In the last third of the time the first model gets this share of the other models' rows."""
    time = rng.random(ROWS)
    declared = STRATA[rng.integers(len(STRATA), size=ROWS)] if stratified else even()
    late = np.where(time > 2 / 3, moved, 0.0)[:, None]
    model = assign((1 - late) * declared + late * (np.arange(MODELS) == 0), rng)
    propensity = declared[np.arange(ROWS), model]
    assigned, seed = assignment(model, propensity), int(rng.integers(2**31))
    return predict_assignment((cosine_basis(time),), (TIME_PENALTY,), assigned, seed).p_value


@cache
def pool() -> tuple[str, ...]:
    return tuple(case.context for case in make_cases(POOL, np.random.default_rng(5)))


def by_context(rng: np.random.Generator, chance: float, rule: str, stratified: bool = False) -> float:
    """The rule's contexts go to the first model with this probability instead of being randomized."""
    texts = [pool()[i] for i in rng.choice(POOL, ROWS, replace=False)]
    length = np.array([len(text) for text in texts])
    hit = length > np.quantile(length, 2 / 3) if rule == "length" else np.array(["refund" in text for text in texts])
    declared = np.where((length > np.median(length))[:, None], STRATA[0], STRATA[1]) if stratified else even()
    forced = np.where(hit, chance, 0.0)[:, None]
    model = assign((1 - forced) * declared + forced * (np.arange(MODELS) == 0), rng)
    seed = int(rng.integers(2**31))
    blocks = text_blocks(texts, np.arange(ROWS), seed)
    assigned = assignment(model, declared[np.arange(ROWS), model])
    return predict_assignment(blocks, (TEXT_PENALTY, SURFACE_PENALTY), assigned, seed).p_value


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
        Case("A1 sample ratio, assigned by person", lambda g: clustered(g, 0.0), lambda g: clustered(g, 0.5), failing),
        Case(
            "A1 over time",
            lambda g: over_time(g, 0.0),
            lambda g: over_time(g, 0.35),
            "in the last third one model gets 35 % of the others' rows",
        ),
        Case(
            "A1 over time, propensity by row",
            lambda g: over_time(g, 0.0, True),
            lambda g: over_time(g, 0.5, True),
            "in the last third one model gets 50 % of the others' rows",
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
