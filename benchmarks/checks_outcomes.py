"""Clean and violated outcomes for the checks of A3; the log is confounded in the clean studies, too."""

from __future__ import annotations

import numpy as np

from benchmarks.checks import Case
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.association import sign_flip_test, within_model_association
from deconfound.diagnose.outcome_consistency import transferred_prediction, values_p_value
from deconfound.diagnose.outcome_drift import drift_test

LOG, EXPERIMENT, MODELS, STATISTICS = 3_000, 360, 6, 12
PREFERENCE = np.linspace(1.0, -0.4, STATISTICS) * 0.35  # effect of each output statistic on the rating
PULL = 1.5  # how strongly generous people prefer the later models in the log


def rate(statistics: FloatArray, model: IntArray, state: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Outcomes in [0, 1] from the output's statistics, the model and the person's generosity."""
    merit = statistics @ PREFERENCE + 0.2 * model - 0.5 + 0.8 * state + 0.7 * rng.standard_normal(len(model))
    return np.asarray(1.0 / (1.0 + np.exp(-merit)))


def on_scale(outcome: FloatArray, steps: int) -> FloatArray:
    """The same outcomes on a discrete scale with the given number of values."""
    return np.asarray(np.minimum(np.floor(outcome * steps), steps - 1) / (steps - 1))


def source(rows: int, pull: float, rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    """Output statistics, models and outcomes; with a pull, generous people choose the later models."""
    state = rng.standard_normal(rows)
    odds = pull * state[:, None] * np.linspace(-1.0, 1.0, MODELS)
    model = (odds + rng.gumbel(size=(rows, MODELS))).argmax(axis=1)
    statistics = rng.standard_normal((rows, STATISTICS))
    return statistics, model, rate(statistics, model, state, rng)


def values(rng: np.random.Generator, log_steps: int, experiment_steps: int) -> float:
    log, experiment = source(LOG, PULL, rng)[2], source(EXPERIMENT, 0.0, rng)[2]
    return values_p_value(on_scale(log, log_steps), on_scale(experiment, experiment_steps))


def ranges(rng: np.random.Generator, scale: float, log_level: float = 0.0) -> float:
    return values_p_value(log_level + source(LOG, PULL, rng)[2], scale * source(EXPERIMENT, 0.0, rng)[2])


def direction(rng: np.random.Generator, inverted: bool) -> float:
    """Log outcomes may be coded with 0 as the best; every person has two experiment rows."""
    log, experiment = source(LOG, PULL, rng), source(EXPERIMENT, 0.0, rng)
    outcome = 1.0 - log[2] if inverted else log[2]
    prediction = transferred_prediction(log[0], outcome, log[1], experiment[0])
    person, seed = np.arange(EXPERIMENT) // 2, int(rng.integers(2**31))
    return within_model_association(prediction, experiment[2], experiment[1], person, seed).negative_p_value


def no_direction(rng: np.random.Generator) -> float:
    """The hardest clean study: the log does not predict the experiment at all."""
    experiment = source(EXPERIMENT, 0.0, rng)
    prediction, person = rng.standard_normal(EXPERIMENT), np.arange(EXPERIMENT) // 2
    seed = int(rng.integers(2**31))
    return within_model_association(prediction, experiment[2], experiment[1], person, seed).negative_p_value


def pairs(rng: np.random.Generator, rows: int, inverted: bool, noise: float = 0.25) -> float:
    """Outputs that were rated in both sources."""
    quality = 0.5 + 0.2 * rng.standard_normal(rows)
    log, experiment = (np.clip(quality + noise * rng.standard_normal(rows), 0, 1) for _ in range(2))
    model = rng.integers(MODELS, size=rows)
    prediction, seed = 1 - log if inverted else log, int(rng.integers(2**31))
    return within_model_association(prediction, experiment, model, np.arange(rows), seed).negative_p_value


def unrelated(rng: np.random.Generator, rows: int) -> float:
    """The hardest clean study: two ratings of the same outputs with nothing in common."""
    model = rng.integers(MODELS, size=rows)
    log, experiment, seed = rng.random(rows), rng.random(rows), int(rng.integers(2**31))
    return within_model_association(log, experiment, model, np.arange(rows), seed).negative_p_value


def level(rng: np.random.Generator, shift: float) -> float:
    """120 pairs of 60 people, without confounding; in the violation the experiment rates higher."""
    person = np.repeat(0.1 * rng.standard_normal(60), 2)
    difference = person + shift + 0.3 * (rng.random(120) - rng.random(120))
    return sign_flip_test(difference, np.arange(120) // 2, int(rng.integers(2**31))).p_value


def over_time(rng: np.random.Generator, shift: float, people: int, rows: int = EXPERIMENT) -> float:
    """The outcome rises by ``shift`` over the time; all rows of a person's session are close in time."""
    person = np.arange(rows) * people // rows
    state, start = rng.standard_normal(people), rng.random(people)
    time = start[person] + 0.01 * rng.random(rows)
    model = rng.integers(MODELS, size=rows)
    outcome = rate(rng.standard_normal((rows, STATISTICS)), model, state[person], rng) + shift * time
    return drift_test(outcome, time, model, person, np.arange(rows), int(rng.integers(2**31))).p_value


def uneven_people(people: int, rows: int, rng: np.random.Generator) -> IntArray:
    """The person of each of about so many rows; the largest person often has a third of them."""
    weight = 0.2 + rng.pareto(1.0, people)
    return np.repeat(np.arange(people), np.maximum(1, np.round(weight / weight.sum() * rows)).astype(np.int64))


def over_time_uneven(rng: np.random.Generator, shift: float, people: int, rows: int, contexts: int = 0) -> float:
    """The same with people of very different activity and, if ``contexts`` is given, contexts popular for a while."""
    person = uneven_people(people, rows, rng)
    rows = len(person)
    time = 0.95 * rng.random(people)[person] + 0.05 * rng.random(rows)
    model, state = rng.integers(MODELS, size=rows), rng.standard_normal(people)[person]
    context = np.arange(rows)
    if contexts:
        odds = rng.standard_normal(contexts) - 50 * (time[:, None] - rng.random(contexts)) ** 2
        context = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
        state = state + rng.standard_normal(contexts)[context]
    outcome = rate(rng.standard_normal((rows, STATISTICS)), model, state, rng) + shift * time
    return drift_test(outcome, time, model, person, context, int(rng.integers(2**31))).p_value


def no_direction_uneven(rng: np.random.Generator) -> float:
    """People of very different activity, each with outputs and ratings of their own kind."""
    person = uneven_people(60, EXPERIMENT, rng)
    rows, model = len(person), rng.integers(MODELS, size=len(person))
    prediction, outcome = (rng.standard_normal(60)[person] + 0.5 * rng.standard_normal(rows) for _ in range(2))
    return within_model_association(prediction, outcome, model, person, int(rng.integers(2**31))).negative_p_value


def direction_uneven(rng: np.random.Generator) -> float:
    person = uneven_people(60, EXPERIMENT, rng)
    rows, model = len(person), rng.integers(MODELS, size=len(person))
    prediction = rng.standard_normal(60)[person] + rng.standard_normal(rows)
    outcome = rng.standard_normal(60)[person] + rng.standard_normal(rows) - prediction
    return within_model_association(prediction, outcome, model, person, int(rng.integers(2**31))).negative_p_value


def cases() -> list[Case]:
    return [
        Case(
            "A3 outcome values, discrete",
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
            "A3 outcome values, log 0.2 lower",
            lambda g: ranges(g, 1.0, -0.2),
            lambda g: ranges(g, 0.8, -0.2),
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
        Case("A3 matching level", lambda g: level(g, 0.0), lambda g: level(g, 0.08), "experiment rates 0.08 higher"),
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
        Case(
            "A3 over time, uneven people",
            lambda g: over_time_uneven(g, 0.0, 120, 720),
            lambda g: over_time_uneven(g, 0.4, 120, 720),
            "outcomes rise by 0.4, 120 people, the largest with about a third of 720 rows",
        ),
        Case(
            "A3 over time, uneven people and recurring contexts",
            lambda g: over_time_uneven(g, 0.0, 120, 720, 60),
            lambda g: over_time_uneven(g, 0.8, 120, 720, 60),
            "outcomes rise by 0.8, contexts recur for a while",
        ),
        Case(
            "A3 outcome direction, uneven people",
            no_direction_uneven,
            direction_uneven,
            "slope -1 in units of the noise",
        ),
    ]
