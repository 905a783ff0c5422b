"""Clean and violated outcomes for the checks of A3; the log is confounded in the clean studies, too."""

from __future__ import annotations

import numpy as np

from benchmarks.checks import Case
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.consistency import carried, values_p_value
from deconfound.diagnose.drift import drift_p_value
from deconfound.diagnose.signs import level_p_value, signs

LOG, EXPERIMENT, MODELS, STATISTICS = 3_000, 360, 6, 12
TASTE = np.linspace(1.0, -0.4, STATISTICS) * 0.35  # what people like about an output, by statistic
PULL = 1.5  # how strongly generous people are drawn to the later models in the log


def judged(statistics: FloatArray, model: IntArray, state: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Outcomes in [0, 1] from the output's statistics, the model and the person's generosity."""
    merit = statistics @ TASTE + 0.2 * model - 0.5 + 0.8 * state + 0.7 * rng.standard_normal(len(model))
    return np.asarray(1.0 / (1.0 + np.exp(-merit)))


def stars(outcome: FloatArray, steps: int) -> FloatArray:
    """The same outcomes on a coarse scale of so many values."""
    return np.asarray(np.minimum(np.floor(outcome * steps), steps - 1) / (steps - 1))


def source(rows: int, pull: float, rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    """Statistics, models and outcomes; with a pull, generous people choose the later models."""
    state = rng.standard_normal(rows)
    odds = pull * state[:, None] * np.linspace(-1.0, 1.0, MODELS)
    model = (odds + rng.gumbel(size=(rows, MODELS))).argmax(axis=1)
    statistics = rng.standard_normal((rows, STATISTICS))
    return statistics, model, judged(statistics, model, state, rng)


def values(rng: np.random.Generator, log_steps: int, experiment_steps: int) -> float:
    log, experiment = source(LOG, PULL, rng)[2], source(EXPERIMENT, 0.0, rng)[2]
    return values_p_value(stars(log, log_steps), stars(experiment, experiment_steps))


def ranges(rng: np.random.Generator, scale: float) -> float:
    return values_p_value(source(LOG, PULL, rng)[2], scale * source(EXPERIMENT, 0.0, rng)[2])


def direction(rng: np.random.Generator, inverted: bool) -> float:
    """Log outcomes may be coded with 0 as the best; whoever is asked in the experiment is asked twice."""
    log, experiment = source(LOG, PULL, rng), source(EXPERIMENT, 0.0, rng)
    outcome = 1.0 - log[2] if inverted else log[2]
    prediction = carried(log[0], outcome, log[1], experiment[0])
    return signs(prediction, experiment[2], experiment[1], np.arange(EXPERIMENT) // 2, int(rng.integers(2**31)))[0]


def no_direction(rng: np.random.Generator) -> float:
    """The hardest clean study: what the log likes says nothing about the experiment."""
    experiment = source(EXPERIMENT, 0.0, rng)
    prediction, cluster = rng.standard_normal(EXPERIMENT), np.arange(EXPERIMENT) // 2
    return signs(prediction, experiment[2], experiment[1], cluster, int(rng.integers(2**31)))[0]


def pairs(rng: np.random.Generator, rows: int, inverted: bool, noise: float = 0.25) -> float:
    """Outputs that were judged in both sources."""
    quality = 0.5 + 0.2 * rng.standard_normal(rows)
    log, experiment = (np.clip(quality + noise * rng.standard_normal(rows), 0, 1) for _ in range(2))
    model = rng.integers(MODELS, size=rows)
    return signs(1 - log if inverted else log, experiment, model, np.arange(rows), int(rng.integers(2**31)))[0]


def unrelated(rng: np.random.Generator, rows: int) -> float:
    """The hardest clean study: two judgements of the same outputs with nothing in common."""
    model = rng.integers(MODELS, size=rows)
    return signs(rng.random(rows), rng.random(rows), model, np.arange(rows), int(rng.integers(2**31)))[0]


def level(rng: np.random.Generator, shift: float) -> float:
    """120 pairs of 60 people, without confounding; in the violation the experiment judges higher."""
    person = np.repeat(0.1 * rng.standard_normal(60), 2)
    difference = person + shift + 0.3 * (rng.random(120) - rng.random(120))
    return level_p_value(difference, np.arange(120) // 2, int(rng.integers(2**31)))[0]


def over_time(rng: np.random.Generator, shift: float, people: int, rows: int = EXPERIMENT) -> float:
    """The outcome moves by so much over the time; people come in sessions, all rows of which are close in time."""
    person = np.arange(rows) * people // rows
    state, start = rng.standard_normal(people), rng.random(people)
    time = start[person] + 0.01 * rng.random(rows)
    model = rng.integers(MODELS, size=rows)
    outcome = judged(rng.standard_normal((rows, STATISTICS)), model, state[person], rng) + shift * time
    return drift_p_value(outcome, time, model, person, int(rng.integers(2**31)))


def cases() -> list[Case]:
    return [
        Case(
            "A3 outcome values, coarse",
            lambda g: values(g, 5, 5),
            lambda g: values(g, 5, 2),
            "log in five steps, experiment yes or no",
        ),
        Case(
            "A3 outcome values, range",
            lambda g: ranges(g, 1.0),
            lambda g: ranges(g, 0.8),
            "experiment on a scale that ends at 0.8",
        ),
        Case(
            "A3 outcome direction", no_direction, lambda g: direction(g, inverted=True), "log coded with 0 as the best"
        ),
        Case(
            "A3 matching outputs, 60 pairs",
            lambda g: unrelated(g, 60),
            lambda g: pairs(g, 60, inverted=True),
            "one source inverted, correlation 0.4",
        ),
        Case("A3 matching level", lambda g: level(g, 0.0), lambda g: level(g, 0.08), "experiment judges 0.08 higher"),
        Case(
            "A3 over time",
            lambda g: over_time(g, 0.0, EXPERIMENT),
            lambda g: over_time(g, 0.2, EXPERIMENT),
            "outcomes rise by 0.2, 360 rows",
        ),
        Case(
            "A3 over time, sessions",
            lambda g: over_time(g, 0.0, 120),
            lambda g: over_time(g, 0.3, 120),
            "outcomes rise by 0.3, 120 sessions of 3 rows",
        ),
        Case(
            "A3 over time, 30 sessions",
            lambda g: over_time(g, 0.0, 30, 120),
            lambda g: over_time(g, 0.6, 30, 120),
            "outcomes rise by 0.6, 30 sessions of 4 rows",
        ),
    ]
