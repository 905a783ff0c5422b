"""The benchmark of means over uneven users: its known variance, its textbook degrees of freedom, and its table."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cluster_means import SIZES, Design, of_quantile, quantiles, row, satterthwaite_df
from deconfound.value.cluster_df import _Classes

UNEVEN = np.array([9.0, 4.0, 2.0, 1.0, 1.0])


@pytest.mark.parametrize("yes_no", [False, True])
def test_the_known_standard_deviation_is_that_of_simulated_means(yes_no):
    """The standard error of an estimated standard deviation is at most 1 / sqrt(20,000) = 0.7 %; four are allowed."""
    design = Design(UNEVEN, 0.3, yes_no)
    means = design.draw(20_000, np.random.default_rng(0)).mean(axis=1)
    assert means.std() == pytest.approx(design.true_sd, rel=0.03)
    assert means.mean() == pytest.approx(0.5, abs=4 * design.true_sd / np.sqrt(20_000))


def test_a_known_quantile_covers_means_of_equal_users():
    """95 % of 4,000, with a standard error of 0.35 points; four are allowed."""
    design = Design(np.full(20, 5.0), 0.4, False)
    outcome = design.draw(4000, np.random.default_rng(1))
    measured = of_quantile(design, outcome, quantiles(design.sizes)["exact t ratio"])
    assert measured.coverage == pytest.approx(0.95, abs=0.014)
    assert measured.width == pytest.approx(1.05, abs=0.02)


def test_satterthwaites_degrees_of_freedom_are_those_of_the_package():
    weight = UNEVEN / UNEVEN.sum()
    expected = _Classes.from_clusters(weight, weight / UNEVEN.sum()).satterthwaite_df()
    assert satterthwaite_df(UNEVEN) == pytest.approx(expected)


def test_a_row_has_the_package_and_every_quantile():
    cells = row(UNEVEN, True, 40)
    assert len(cells) == 1 + len(quantiles(UNEVEN))
    assert all(cell.count("%, ") == 1 for cell in cells)


def test_sizes_have_the_shares_that_their_names_say():
    assert [len(SIZES[name]) == int(name.split()[0]) for name in SIZES] == [True] * len(SIZES)
    assert 38 / sum(SIZES["100 users, one with 28 % of the rows"]) == pytest.approx(0.28, abs=0.005)
    assert 51 / sum(SIZES["20 users, three with 75 % of the rows"]) == pytest.approx(0.75)
    assert 80 / sum(SIZES["22 users, two with 80 % of the rows"]) == pytest.approx(0.8)
