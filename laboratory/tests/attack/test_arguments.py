"""Arguments out of range are refused before the work starts."""

from __future__ import annotations

import pytest
from deconfound_bench.cli.run_benchmark import MAX_SEEDS, parse_seeds

from deconfound.errors import UsageError


@pytest.mark.parametrize("text", ["99999999999999999999", "0-10000", str(MAX_SEEDS + 1)])
def test_too_many_seeds_are_refused_at_once(text):
    with pytest.raises(UsageError, match="at most 10,000 seeds"):
        parse_seeds(text, 30)


def test_the_largest_number_of_seeds_is_accepted():
    assert len(parse_seeds(str(MAX_SEEDS), 30)) == MAX_SEEDS
    assert list(parse_seeds("7-9", 30)) == [7, 8, 9]
