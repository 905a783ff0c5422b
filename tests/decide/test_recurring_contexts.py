"""Variances between contexts from pairs of rows: against a loop over all pairs, and found where they are planted."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from deconfound.decide.recurring_contexts import MIN_CONTEXTS, PairVariances, RatedRows, _MeanProducts
from deconfound.design import FloatArray


def rated(
    seed: int, by_model: FloatArray, common: float = 0.0, user: float = 0.0, rows: int = 600, contexts: int = 60
) -> RatedRows:
    """Unit noise, planted variances between contexts, and users with an effect on all that they do on one context."""
    rng = np.random.default_rng([31, seed])
    context, model, group = (rng.integers(n, size=rows) for n in (contexts, len(by_model), 15))
    by_context = np.sqrt(by_model) * rng.normal(size=(contexts, len(by_model)))
    outcome = by_context[context, model] + np.sqrt(common) * rng.normal(size=contexts)[context]
    outcome += np.sqrt(user) * rng.normal(size=(contexts, 15))[context, group] + rng.normal(size=rows)
    return RatedRows(context, model, outcome + 3.0 * model, group)


def test_mean_products_are_those_of_a_loop_over_all_pairs():
    sources = [rated(0, np.ones(3), 1.0, rows=90, contexts=12), rated(1, np.ones(3), 1.0, rows=70, contexts=30)]
    same: dict[tuple[int, ...], list[float]] = {}
    mixed: dict[tuple[int, ...], list[float]] = {}
    for number, rows in enumerate(sources):
        deviation = rows.outcome - [rows.outcome[rows.model == a].mean() for a in rows.model]
        for i, j in combinations(range(len(deviation)), 2):
            if rows.context[i] != rows.context[j] or rows.noise_group[i] == rows.noise_group[j]:
                continue
            key = (number, rows.context[i])
            is_same = rows.model[i] == rows.model[j]
            block = same.setdefault((*key, rows.model[i]), []) if is_same else mixed.setdefault(key, [])
            block.append(deviation[i] * deviation[j])
    contexts = sorted({key[:2] for key in (*same, *mixed)})
    cells, pairs = (
        _MeanProducts(
            np.array([np.mean(products) for products in blocks.values()]),
            np.array([np.sqrt(len(products)) for products in blocks.values()]),
            np.array([contexts.index(key[:2]) for key in blocks]),
            np.array([key[-1] for key in blocks]),
            len(contexts),
        )
        for blocks in (same, mixed)
    )
    total, error = cells.by_model(3)
    variance = error**2 + pairs.standard_error**2 - 2 * cells.influence @ pairs.influence
    fit = PairVariances.estimate(sources, 3)
    assert fit is not None
    assert (fit.common, fit.common_standard_error) == pytest.approx((pairs.mean, pairs.standard_error))
    assert fit.by_model == pytest.approx(total - pairs.mean)
    assert fit.by_model_standard_error == pytest.approx(np.sqrt(variance))


def test_blocks_count_by_the_root_of_their_pairs_and_errors_by_context():
    """Means (1 * 1 + 2 * 4) / 3 = 3; the first context has one block, the second two."""
    means = _MeanProducts(
        np.array([1.0, 3.0, 5.0]), np.array([1.0, 1.0, 1.0]), np.array([0, 1, 1]), np.zeros(3, int), 2
    )
    assert means.mean == pytest.approx(3.0)
    assert means.influence == pytest.approx([-2 / 3, 2 / 3])
    assert means.standard_error == pytest.approx(np.sqrt(8) / 3)


def test_planted_variances_are_recovered_model_by_model():
    """Over 20 studies the means have standard errors below 0.05; shrinkage toward each other moves the ends by 0.1."""
    planted = np.array([0.2, 1.0, 1.8])
    fits = [PairVariances.estimate([rated(seed, planted, 0.5, 1.0, 4_000, 400)], 3) for seed in range(20)]
    assert np.mean([fit.by_model for fit in fits], axis=0) == pytest.approx(planted, abs=0.2)
    assert np.mean([fit.common for fit in fits]) == pytest.approx(0.5, abs=0.1)


def test_standard_errors_are_the_spread_of_the_estimates():
    """Of 60 studies: the observed standard deviations have a relative error of 9 %.

    That of a single model is a few per cent larger than what is observed where the models do not differ.
    """
    fits = [PairVariances.estimate([rated(seed, np.full(3, 0.5), 0.5)], 3) for seed in range(60)]
    for value, error in (("by_model", "by_model_standard_error"), ("common", "common_standard_error")):
        observed = np.std([np.ravel(getattr(fit, value))[0] for fit in fits])
        assert np.mean([np.ravel(getattr(fit, error))[0] for fit in fits]) == pytest.approx(observed, rel=0.3)


def test_rows_of_one_user_on_one_context_do_not_count_as_the_context():
    """A user's effect would otherwise look like that of the context: 0.5 instead of zero."""
    fits = [PairVariances.estimate([rated(seed, np.zeros(2), user=3.0)], 2) for seed in range(20)]
    assert np.mean([fit.common for fit in fits]) == pytest.approx(0.0, abs=0.1)


def test_models_that_never_share_a_context_leave_nothing_in_common():
    rows = rated(3, np.array([0.5]), rows=200, contexts=20)
    fit = PairVariances.estimate([rows], 1)
    assert (fit.common, fit.common_standard_error) == (0.0, np.inf)
    assert np.isfinite(fit.by_model).all()
    assert np.isfinite(fit.by_model_standard_error).all()


def test_too_few_recurring_contexts_say_nothing():
    rows = rated(4, np.ones(2), rows=4 * MIN_CONTEXTS, contexts=100_000)
    assert PairVariances.estimate([rows], 2) is None
    assert PairVariances.estimate([], 2) is None


def test_a_model_without_recurring_contexts_takes_the_variance_of_the_others():
    rows = rated(5, np.ones(2))
    fit = PairVariances.estimate([rows], 3)
    pooled = _MeanProducts(np.array([1.0, 3.0]), np.ones(2), np.arange(2), np.arange(2), 2)
    assert np.isfinite(fit.by_model).all()
    assert pooled.by_model(3)[0][2] == pytest.approx(2.0)


def test_outcomes_that_never_vary_have_no_variance():
    rows = RatedRows(np.arange(60) % 20, np.arange(60) % 2, np.full(60, 0.5))
    fit = PairVariances.estimate([rows], 2)
    assert (*fit.by_model, *fit.by_model_standard_error, fit.common, fit.outcome_variance) == (0.0,) * 6
