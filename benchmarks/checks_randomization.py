"""Clean and violated assignments for the checks of A1: 360 rows with messages of the demo's kind, six models."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from benchmarks.checks import Case
from deconfound.demo.demo_study import make_cases
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.assignment import Assignment, one_row_per_cluster, redraw, within_cluster_repeat_p_value
from deconfound.diagnose.assignment_tests import predict_assignment, sample_ratio_test
from deconfound.diagnose.permutation_tests import cosine_basis
from deconfound.diagnose.randomization import SURFACE_PENALTY, TEXT_PENALTY, TIME_PENALTY
from deconfound.diagnose.thresholds import CLUSTER_DRAW_P
from deconfound.features.context_features import text_blocks

ROWS, MODELS = 360, 6
POOL = 6_000  # messages that the studies draw from without replacement
UNEVEN = np.array([0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
STRATA = np.array([[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], [0.1, 0.3, 0.2, 0.2, 0.1, 0.1], [0.2, 0.2, 0.2, 0.1, 0.1, 0.2]])
SEGMENTS = np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]])
RARE = np.array([[0.7, 0.2, 0.1], [0.98, 0.01, 0.01]])
MIN_CONTINUOUS = 0.01  # smallest propensity of those that differ in every row

Propensities = Callable[[int, np.random.Generator], FloatArray]
"""Gives the declared probabilities (n, k) for a number of rows."""


def assignment(model: IntArray, probability: FloatArray) -> Assignment:
    names = tuple(f"model-{number}" for number in range(probability.shape[1]))
    return Assignment(names, model, probability, np.arange(len(model)), by_cluster=False)


def assign(probability: FloatArray, rng: np.random.Generator) -> IntArray:
    """One model per row, with the probabilities (n, k) of that row."""
    return np.asarray(redraw(probability, 1, rng)[0])


def even(rows: int = ROWS) -> FloatArray:
    return np.full((rows, MODELS), 1.0 / MODELS)


def ratio(true: FloatArray, declared: FloatArray, rng: np.random.Generator, rows: int = ROWS) -> float:
    model = assign(np.tile(true, (rows, 1)), rng)
    return sample_ratio_test(assignment(model, np.tile(declared, (rows, 1))), int(rng.integers(2**31)))[1]


def lost(shares: FloatArray, rng: np.random.Generator, rows: int = ROWS) -> float:
    """The first model fails to answer in half of its rows, and those rows never reach the table."""
    remaining = shares * np.where(np.arange(MODELS) == 0, 0.5, 1.0)
    return ratio(remaining / remaining.sum(), shares, rng, rows)


# --- propensities that vary ---


def strata(rows: int, rng: np.random.Generator) -> FloatArray:
    return STRATA[rng.integers(len(STRATA), size=rows)]


def segments(rows: int, rng: np.random.Generator) -> FloatArray:
    return SEGMENTS[rng.integers(len(SEGMENTS), size=rows)]


def rare(rows: int, rng: np.random.Generator) -> FloatArray:
    return RARE[rng.integers(len(RARE), size=rows)]


def continuous(rows: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray((1 - 3 * MIN_CONTINUOUS) * rng.dirichlet(np.ones(3), size=rows) + MIN_CONTINUOUS)


def without_lost_rows(declared: FloatArray, lost_share: float) -> FloatArray:
    """The probabilities of the rows that arrive, if this share of the first model's rows is lost."""
    true = declared * np.where(np.arange(declared.shape[1]) == 0, 1.0 - lost_share, 1.0)
    return np.asarray(true / true.sum(axis=1, keepdims=True))


def varying(rng: np.random.Generator, propensities: Propensities, lost_share: float) -> float:
    declared = propensities(ROWS, rng)
    model = assign(without_lost_rows(declared, lost_share), rng)
    return sample_ratio_test(assignment(model, declared), int(rng.integers(2**31)))[1]


def uneven_people(people: int, rng: np.random.Generator) -> IntArray:
    """The person of each row; most people have one row, a few have very many."""
    return np.repeat(np.arange(people), np.minimum(1 + rng.pareto(1.0, people).astype(np.int64), 60))


def clustered(rng: np.random.Generator, lost_share: float, propensities: Propensities | None = None) -> float:
    """The model is assigned by person: 360 people with one to five rows each, or more unevenly if propensities vary."""
    person = np.repeat(np.arange(360), rng.integers(1, 6, 360))
    declared = even()
    if propensities is not None:
        person, declared = uneven_people(360, rng), propensities(360, rng)
    model = assign(without_lost_rows(declared, lost_share), rng)[person]
    assigned = assignment(model, declared[person])
    by_person = within_cluster_repeat_p_value(person, assigned, rng) < CLUSTER_DRAW_P
    rows = one_row_per_cluster(person, rng) if by_person else np.arange(len(person))
    return sample_ratio_test(assigned.take(rows), int(rng.integers(2**31)))[1]


def over_time(rng: np.random.Generator, moved: float, propensities: Propensities | None = None) -> float:
    """In the last third of the time the first model gets this share of the other models' rows.

    Propensities that vary do so with time, as in an experiment whose segments arrive one after the other.
    """
    time, declared = rng.random(ROWS), even()
    if propensities is not None:
        declared = propensities(ROWS, rng)
        declared = declared[np.argsort(declared[:, 0] + 0.3 * rng.random(ROWS))]
        time = np.sort(time)
    late = np.where(time > 2 / 3, moved, 0.0)[:, None]
    model = assign((1 - late) * declared + late * (np.arange(declared.shape[1]) == 0), rng)
    assigned, seed = assignment(model, declared), int(rng.integers(2**31))
    return predict_assignment((cosine_basis(time),), (TIME_PENALTY,), assigned, seed).p_value


@cache
def pool() -> tuple[str, ...]:
    return tuple(case.context for case in make_cases(POOL, np.random.default_rng(5)))


def by_context(rng: np.random.Generator, probability: float, rule: str, stratified: bool = False) -> float:
    """The rule's contexts go to the first model with this probability instead of being randomized."""
    texts = [pool()[i] for i in rng.choice(POOL, ROWS, replace=False)]
    length = np.array([len(text) for text in texts])
    hit = length > np.quantile(length, 2 / 3) if rule == "length" else np.array(["refund" in text for text in texts])
    declared = np.where((length > np.median(length))[:, None], STRATA[0], STRATA[1]) if stratified else even()
    forced = np.where(hit, probability, 0.0)[:, None]
    model = assign((1 - forced) * declared + forced * (np.arange(MODELS) == 0), rng)
    seed = int(rng.integers(2**31))
    blocks = text_blocks(texts, np.arange(ROWS), seed)
    assigned = assignment(model, declared)
    return predict_assignment(blocks, (TEXT_PENALTY, SURFACE_PENALTY), assigned, seed).p_value


def cases() -> list[Case]:
    uniform = np.full(MODELS, 1.0 / MODELS)
    failing, seventy = "one model loses 50 % of its rows", "one model loses 70 % of its rows"
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
            lambda g: varying(g, strata, 0),
            lambda g: varying(g, strata, 0.5),
            failing,
        ),
        Case(
            "A1 sample ratio, three segments",
            lambda g: varying(g, segments, 0),
            lambda g: varying(g, segments, 0.5),
            failing,
        ),
        Case("A1 sample ratio, rare models", lambda g: varying(g, rare, 0), lambda g: varying(g, rare, 0.7), seventy),
        Case(
            "A1 sample ratio, continuous propensities",
            lambda g: varying(g, continuous, 0),
            lambda g: varying(g, continuous, 0.5),
            failing,
        ),
        Case("A1 sample ratio, assigned by person", lambda g: clustered(g, 0.0), lambda g: clustered(g, 0.5), failing),
        Case(
            "A1 sample ratio, uneven people in segments",
            lambda g: clustered(g, 0.0, segments),
            lambda g: clustered(g, 0.5, segments),
            failing,
        ),
        Case(
            "A1 over time",
            lambda g: over_time(g, 0.0),
            lambda g: over_time(g, 0.35),
            "in the last third one model gets 35 % of the others' rows",
        ),
        Case(
            "A1 over time, propensity by row",
            lambda g: over_time(g, 0.0, strata),
            lambda g: over_time(g, 0.5, strata),
            "in the last third one model gets 50 % of the others' rows",
        ),
        Case(
            "A1 over time, continuous propensities",
            lambda g: over_time(g, 0.0, continuous),
            lambda g: over_time(g, 0.5, continuous),
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
