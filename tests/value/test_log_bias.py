"""Log bias: simultaneous intervals, verdicts, and magnitudes corrected for sampling noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.report.decision_text import log_bias_text
from deconfound.value import LogBias, Values, estimate_log_bias, experiment_only, raw_log

MODELS = ("ant", "bee", "cat", "dog")


def values(estimate: list[float], error: float | list[float] = 0.01, df: float | None = None) -> Values:
    variance = np.broadcast_to(np.square(error), (4,))
    return Values(MODELS, np.array(estimate), np.diag(variance), "by hand", None if df is None else np.full(4, df))


UNBIASED = values([0.7, 0.6, 0.5, 0.4], 0.02, 12.0)


def test_biases_and_intervals_are_those_of_independent_sources():
    """The naive twin: four independent biases are covered together where each is with level ** (1 / 4)."""
    log_bias = estimate_log_bias(values([0.75, 0.6, 0.3, 0.4], 0.01), UNBIASED, 0.9)
    tail = 0.5 + 0.9**0.25 / 2
    half = np.hypot(stats.norm.ppf(tail) * 0.01, stats.t.ppf(tail, 12) * 0.02)
    assert [b.model for b in log_bias.biases] == list(MODELS)
    assert [b.estimate for b in log_bias.biases] == pytest.approx([0.05, 0.0, -0.2, 0.0])
    assert [b.high - b.estimate for b in log_bias.biases] == pytest.approx([half] * 4, rel=0.03)
    assert [b.estimate - b.low for b in log_bias.biases] == pytest.approx([half] * 4, rel=0.03)


def test_overrated_and_underrated_models_are_named():
    log_bias = estimate_log_bias(values([0.9, 0.6, 0.3, 0.4]), UNBIASED)
    assert (log_bias.overrated, log_bias.underrated, log_bias.verdict) == (("ant",), ("cat",), "biased")


def test_a_log_whose_first_model_is_not_the_best_is_misleading():
    log_bias = estimate_log_bias(values([0.4, 0.5, 0.6, 0.7]), UNBIASED)
    assert (log_bias.verdict, log_bias.log_best_model, log_bias.best_set) == ("misleading", "dog", ("ant",))
    assert log_bias.overrated == ("cat", "dog")


def test_a_log_that_agrees_shows_no_bias_but_a_bound():
    log_bias = estimate_log_bias(UNBIASED, UNBIASED)
    assert (log_bias.verdict, log_bias.overrated, log_bias.underrated) == ("no bias shown", (), ())
    assert log_bias.rms_bias == 0.0
    assert log_bias.max_bias_bound == max(b.high for b in log_bias.biases)


def test_sampling_noise_is_subtracted_from_the_rms_bias():
    log_bias = estimate_log_bias(values([0.8, 0.7, 0.6, 0.5], 0.01), UNBIASED)
    assert log_bias.rms_bias == pytest.approx(np.sqrt(0.1**2 - 0.01**2 - 0.02**2))


def test_a_shift_common_to_all_models_is_a_bias_without_relative_bias():
    shifted = estimate_log_bias(values([0.8, 0.7, 0.6, 0.5]), UNBIASED)
    assert (shifted.verdict, shifted.rms_relative_bias) == ("biased", 0.0)
    uneven = estimate_log_bias(values([0.8, 0.5, 0.6, 0.3]), UNBIASED)
    assert uneven.rms_relative_bias == pytest.approx(np.sqrt(0.1**2 - 0.75 * (0.01**2 + 0.02**2)))


def test_intervals_are_those_of_the_unbiased_values_extended_to_the_reported_bias():
    """Reported values moved toward the log by 0.03: inside the interval; and by 0.3: the interval reaches to it."""
    log = values([0.9, 0.6, 0.3, 0.4])
    plain = estimate_log_bias(log, UNBIASED)
    for moved in (0.03, 0.3):
        step = np.array([moved, 0.0, 0.0, 0.0])
        shrunk = replace(UNBIASED, estimate=UNBIASED.estimate + step, interval_center=UNBIASED.estimate)
        log_bias = estimate_log_bias(log, shrunk)
        first, *others = log_bias.biases
        assert others == list(plain.biases[1:])
        assert first.estimate == pytest.approx(0.2 - moved)
        assert first.low == pytest.approx(min(plain.biases[0].low, first.estimate))
        assert first.high == plain.biases[0].high
        assert (log_bias.rms_bias, log_bias.rms_relative_bias) == (plain.rms_bias, plain.rms_relative_bias)
        assert ("ant" in log_bias.overrated) == (moved < 0.2)


def test_models_without_a_value_in_either_source_are_left_out():
    log = values([np.nan, 0.9, 0.5, 0.4], [np.inf, 0.01, 0.01, 0.01])
    log_bias = estimate_log_bias(log, values([0.7, 0.6, 0.5, 0.4], [0.02, 0.02, 0.02, np.inf]))
    assert [b.is_estimable for b in log_bias.biases] == [False, True, True, False]
    first, *_, last = log_bias.biases
    assert (first.low, first.high, last.low, last.high) == (-1.0, 1.0, -1.0, 1.0)
    assert (log_bias.overrated, log_bias.underrated) == (("bee",), ())
    assert np.isfinite([log_bias.rms_bias, log_bias.rms_relative_bias, log_bias.max_bias_bound]).all()


def test_an_empty_log_gives_no_conclusion():
    log_bias = estimate_log_bias(values([np.nan] * 4, np.inf), UNBIASED)
    assert log_bias.verdict == "cannot tell"
    assert np.isnan([log_bias.rms_bias, log_bias.rms_relative_bias, log_bias.max_bias_bound]).all()


def test_values_without_error_are_compared_exactly():
    exact = values([0.7, 0.6, 0.5, 0.4], 0.0)
    assert estimate_log_bias(exact, exact).verdict == "no bias shown"
    assert estimate_log_bias(values([0.7, 0.6, 0.5, 0.45], 0.0), exact).overrated == ("dog",)


def test_the_summary_is_the_text_of_the_report():
    log_bias = estimate_log_bias(values([0.9, 0.6, 0.3, 0.4]), UNBIASED)
    assert log_bias.summary == log_bias_text(log_bias)


def test_other_models_and_a_level_that_is_no_probability_are_refused():
    with pytest.raises(UsageError, match="ant"):
        estimate_log_bias(Values(("ant",), np.zeros(1), np.eye(1), "by hand"), UNBIASED)
    with pytest.raises(UsageError, match="level"):
        estimate_log_bias(UNBIASED, UNBIASED, 95)


SUCCESS_RATES = np.array([0.8, 0.7, 0.6, 0.5])


def simulated(seed: int, bias: FloatArray) -> LogBias:
    """A log of 400 rows and an experiment of 60, yes/no outcomes."""
    rng = np.random.default_rng([11, seed])
    logged, model = rng.integers(0, 4, 400), rng.integers(0, 4, 60)
    log = raw_log(MODELS, logged, (rng.random(400) < (SUCCESS_RATES + bias)[logged]).astype(float))
    outcome = (rng.random(60) < SUCCESS_RATES[model]).astype(float)
    return estimate_log_bias(log, experiment_only(MODELS, model, outcome))


@pytest.mark.parametrize("bias", [pytest.param(np.zeros(4), marks=pytest.mark.slow), np.array([-0.3, 0.0, 0.1, 0.4])])
def test_the_intervals_of_all_biases_cover_simultaneously(bias):
    """With exact 95 % coverage, fewer than 276 hits in 300 have probability 0.01. Without bias, a wrong verdict is a
    miss of the intervals or of the best set."""
    results = [simulated(seed, bias) for seed in range(300)]
    covered = [all(b.low <= true <= b.high for b, true in zip(r.biases, bias, strict=True)) for r in results]
    assert sum(covered) >= 276
    if not bias.any():
        assert sum(r.verdict == "no bias shown" for r in results) >= 276 - 15


@pytest.mark.parametrize(
    ("rows", "chance"),
    [((2000, 2000, 5), 0.9), pytest.param((2000, 2000, 20), 0.95, marks=pytest.mark.slow), ((5, 5, 5), 0.9)],
)
def test_a_model_with_few_rows_in_the_log_is_not_called_biased(rows, chance):
    """No bias in 200 studies: at most 5 % of them may show one, and 10 % or more with probability 0.002.

    With five rows, all of them often good, an unmoderated variance is zero; 37 to 94 % of studies then showed a bias.
    """
    shown = 0
    for seed in range(200):
        rng = np.random.default_rng([11, seed])
        model, logged = rng.integers(0, 3, 600), np.repeat(np.arange(3), rows)
        values = experiment_only("abc", model, (rng.random(600) < chance).astype(float))
        log = raw_log("abc", logged, (rng.random(len(logged)) < chance).astype(float))
        bias = estimate_log_bias(log, values)
        shown += bool(bias.overrated or bias.underrated)
    assert shown < 20


@pytest.mark.slow
def test_biases_of_skewed_outcomes_are_covered_together():
    """Twenty models, 15 randomized rows each, four of ten outcomes zero and the others skewed; mean 0.25, no bias.

    With exact 95 % coverage, fewer than 180 hits in 200 have probability 0.002. Symmetric intervals hit 160.
    """
    names, covered = tuple(f"model-{code:02d}" for code in range(20)), 0
    for seed in range(200):
        rng = np.random.default_rng([12, seed])
        model, logged = rng.integers(0, 20, 300), rng.integers(0, 20, 3000)
        outcome, of_log = ((rng.random(n) > 0.4) * rng.beta(1.04, 1.46, n) for n in (300, 3000))
        bias = estimate_log_bias(raw_log(names, logged, of_log), experiment_only(names, model, outcome))
        covered += all(one.low <= 0 <= one.high for one in bias.biases)
    assert covered >= 180


def test_biases_near_an_edge_are_covered_together():
    """Six models, 100 randomized and 67 logged yes/no rows each, chances of 0.95 to 0.99 and 0.03 less in the log.

    With exact 95 % coverage, fewer than 180 hits in 200 have probability 0.002. Where all logged rows of a model are
    good, a symmetric interval of their mean is too short: 167 hits.
    """
    chance, covered = np.linspace(0.95, 0.99, 6), 0
    for seed in range(200):
        rng = np.random.default_rng([13, seed])
        model, logged = rng.integers(0, 6, 600), rng.integers(0, 6, 400)
        values = experiment_only("abcdef", model, (rng.random(600) < chance[model]).astype(float))
        log = raw_log("abcdef", logged, (rng.random(400) < chance[logged] - 0.03).astype(float))
        covered += all(one.low <= -0.03 <= one.high for one in estimate_log_bias(log, values).biases)
    assert covered >= 180


def test_a_reversed_ranking_is_detected():
    """Biases of 0.4 against errors of about 0.13: the log's first model is the worst one."""
    results = [simulated(seed, np.array([-0.3, 0.0, 0.1, 0.45])) for seed in range(60)]
    assert sum("dog" in r.overrated for r in results) >= 30
    assert sum(r.verdict in ("misleading", "biased") for r in results) >= 30
