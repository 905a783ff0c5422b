"""Decimal commas are read where they cannot be anything else."""

from __future__ import annotations

import pytest

from deconfound.loading import load
from tests.support.studies import Good, refused, tables


def with_outcomes(*cells):
    good = Good()
    for rows in (good.log, good.experiment):
        for number, row in enumerate(rows):
            row["outcome"] = cells[number % len(cells)]
    return tables(good)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("0,5", "1"), [0.5, 1.0]),
        (("0,125", "0,250"), [0.125, 0.25]),
        (("-0,5", "1,234"), [-0.5, 1.234]),
        (("0,5", None), [0.5]),
        (("0,5", "n/a"), [0.5]),
    ],
)
def test_decimal_commas_are_read(cells, expected):
    study = load(**with_outcomes(*cells), outcome_range=(-1, 2))
    found = [3 * value - 1 for value in study.log.arrow["outcome"].to_pylist()[: len(expected)]]
    assert found == pytest.approx(expected)
    assert any(finding.check == "decimal commas" for finding in study.findings)


@pytest.mark.parametrize("cells", [("1,234", "2,345"), ("0,5", "0.5"), ("1,234,567", "0,5"), ("0,5", "many")])
def test_commas_that_may_be_something_else_are_refused(cells):
    assert "is not a number" in refused(**with_outcomes(*cells), outcome_range=(0, 3000))
