"""The confounding alarm: biases with intervals that hold together, and sentences that say what they show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value import Values, experiment_only, raw_log
from deconfound.value.log_bias import LogBias, estimate_log_bias

MODELS = ("ant", "bee", "cat", "dog")


def values(
    estimate: list[float], error: float | list[float] = 0.01, df: float | None = None, method: str = "made up"
) -> Values:
    variance = np.broadcast_to(np.square(error), (4,))
    free = None if df is None else np.full(4, df)
    return Values(MODELS, np.array(estimate), np.diag(variance), method, free)


TRUE = values([0.7, 0.6, 0.5, 0.4], 0.02, 12.0)


def test_biases_and_intervals_are_those_of_independent_sources():
    """The naive twin: errors of four unrelated biases stay inside together where each does with level ** (1 / 4)."""
    found = estimate_log_bias(values([0.75, 0.6, 0.3, 0.4], 0.01), TRUE, 0.9)
    error = np.hypot(0.01, 0.02)
    free = error**4 / (0.02**4 / 12)
    half = stats.t.ppf(0.5 + 0.9**0.25 / 2, free) * error
    assert [b.model for b in found.biases] == list(MODELS)
    assert [b.bias for b in found.biases] == pytest.approx([0.05, 0.0, -0.2, 0.0])
    assert [b.high - b.bias for b in found.biases] == pytest.approx([half] * 4, rel=0.03)
    assert [b.bias - b.low for b in found.biases] == pytest.approx([half] * 4, rel=0.03)


def test_what_the_log_flatters_and_slanders_is_named():
    found = estimate_log_bias(values([0.9, 0.6, 0.3, 0.4]), TRUE)
    assert (found.overrated, found.underrated, found.verdict) == (("ant",), ("cat",), "biased")
    assert "flatters ant and slanders cat" in found.sentence
    assert "may still be the best" in found.sentence


def test_a_log_whose_favourite_is_shown_not_to_be_best_misleads():
    found = estimate_log_bias(values([0.4, 0.5, 0.6, 0.7]), TRUE)
    assert (found.verdict, found.favourite, found.best_set) == ("misleading", "dog", ("ant",))
    assert found.sentence.startswith('The log misleads: its first model, "dog", is not the best; it flatters cat, dog')


def test_a_log_that_agrees_raises_no_alarm_and_says_what_is_left_open():
    found = estimate_log_bias(TRUE, TRUE)
    assert (found.verdict, found.typical, found.overrated, found.underrated) == ("no bias shown", 0.0, (), ())
    assert found.most == max(b.high for b in found.biases)
    assert f"up to {found.most:.2f} is not excluded" in found.sentence


def test_sampling_noise_is_taken_off_the_typical_bias():
    found = estimate_log_bias(values([0.8, 0.7, 0.6, 0.5], 0.01), TRUE)
    assert found.typical == pytest.approx(np.sqrt(0.1**2 - 0.01**2 - 0.02**2))


def test_a_shift_that_all_models_share_is_a_bias_and_leaves_their_order():
    shift = estimate_log_bias(values([0.8, 0.7, 0.6, 0.5]), TRUE)
    assert (shift.verdict, shift.uneven) == ("biased", 0.0)
    turned = estimate_log_bias(values([0.8, 0.5, 0.6, 0.3]), TRUE)
    assert turned.uneven == pytest.approx(np.sqrt(0.1**2 - 0.75 * (0.01**2 + 0.02**2)))


def test_estimates_that_lean_on_the_log_are_not_what_it_is_judged_by():
    leaning = Values(MODELS, np.full(4, 0.9), TRUE.covariance, "shrunk", TRUE.df, centre=TRUE.estimate)
    said = values([0.9, 0.6, 0.3, 0.4])
    assert estimate_log_bias(said, leaning).biases == estimate_log_bias(said, TRUE).biases


def test_models_that_a_side_does_not_know_are_left_out_and_said():
    said = values([np.nan, 0.9, 0.5, 0.4], [np.inf, 0.01, 0.01, 0.01])
    found = estimate_log_bias(said, values([0.7, 0.6, 0.5, 0.4], [0.02, 0.02, 0.02, np.inf]))
    first, *_, last = found.biases
    assert not first.known
    assert not last.known
    assert (first.low, first.high, last.low, last.high) == (-1.0, 1.0, -1.0, 1.0)
    assert (found.overrated, found.underrated) == (("bee",), ())
    assert found.sentence.endswith("Nothing is known of ant, dog.")
    assert np.isfinite([found.typical, found.uneven, found.most]).all()


def test_a_log_of_nothing_cannot_be_judged():
    found = estimate_log_bias(values([np.nan] * 4, np.inf), TRUE)
    assert found.verdict == "cannot tell"
    assert np.isnan([found.typical, found.uneven, found.most]).all()
    assert "cannot be told" in found.sentence


def test_values_without_error_are_compared_exactly():
    exact = values([0.7, 0.6, 0.5, 0.4], 0.0)
    assert estimate_log_bias(exact, exact).verdict == "no bias shown"
    assert estimate_log_bias(values([0.7, 0.6, 0.5, 0.45], 0.0), exact).overrated == ("dog",)


def test_names_of_strangers_stay_on_their_line():
    names = ("a\nb", "bee", "cat", "dog")
    said, true = (Values(names, v.estimate, v.covariance, "made up") for v in (values([0.2, 0.5, 0.6, 0.9]), TRUE))
    assert "\n" not in estimate_log_bias(said, true).sentence


def test_other_models_and_no_probability_are_refused():
    with pytest.raises(UsageError, match="ant"):
        estimate_log_bias(Values(("ant",), np.zeros(1), np.eye(1), "made up"), TRUE)
    with pytest.raises(UsageError, match="level"):
        estimate_log_bias(TRUE, TRUE, 95)


WORTH = np.array([0.8, 0.7, 0.6, 0.5])


def confounded(seed: int, bias: FloatArray) -> LogBias:
    """A log of 400 rows and an experiment of 60, yes/no outcomes."""
    rng = np.random.default_rng([11, seed])
    logged, model = rng.integers(0, 4, 400), rng.integers(0, 4, 60)
    said = raw_log(MODELS, logged, (rng.random(400) < (WORTH + bias)[logged]).astype(float))
    return estimate_log_bias(said, experiment_only(MODELS, model, (rng.random(60) < WORTH[model]).astype(float)))


@pytest.mark.parametrize("bias", [np.zeros(4), np.array([-0.3, 0.0, 0.1, 0.4])])
def test_intervals_of_all_biases_hold_together(bias):
    """With exact 95 % coverage, fewer than 276 hits in 300 have probability 0.01; a log without bias raises an alarm
    exactly where the intervals miss."""
    found = [confounded(seed, bias) for seed in range(300)]
    held = [all(b.low <= true <= b.high for b, true in zip(f.biases, bias, strict=True)) for f in found]
    assert sum(held) >= 276
    if not bias.any():
        assert [f.verdict == "no bias shown" for f in found].count(True) >= 276 - 15


def test_a_turned_ranking_is_seen():
    """Biases of 0.4 against errors of about 0.13: the log's favourite is the worst model."""
    found = [confounded(seed, np.array([-0.3, 0.0, 0.1, 0.45])) for seed in range(60)]
    assert sum("dog" in f.overrated for f in found) >= 30
    assert sum(f.verdict in ("misleading", "biased") for f in found) >= 30
