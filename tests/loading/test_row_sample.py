"""The sample of a long log is uniform, and depends on the content of rows alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from deconfound.data import Log, RowNumbers
from deconfound.loading.row_sample import RowSample


def log_of(names: list[str]) -> Log:
    size = len(names)
    columns = {"context_id": names, "model": ["ant"] * size, "output": names, "outcome": np.ones(size)}
    return Log(pa.table(columns), "log", (), (), RowNumbers(numbers=np.arange(1, size + 1)))


def sample(names: list[str], size: int, batch: int, seed: int = 0) -> list[str]:
    """The sampled ids, after the rows were shuffled and added in batches."""
    log = log_of(names)
    order = np.random.default_rng(seed).permutation(len(names))
    taken = RowSample(size)
    for start in range(0, len(names), batch):
        at = order[start : start + batch]
        shuffled = Log(log.arrow.take(pa.array(at)), "log", (), (), log.row_numbers.take(at))
        taken.add(shuffled)
    return sorted(taken.rows().arrow["context_id"].to_pylist())


def test_order_and_batches_do_not_matter():
    names = [f"c{number % 700}" for number in range(1_000)]  # 300 of them twice
    first = sample(names, 100, batch=1_000)
    assert len(first) == 100
    for seed, batch in ((1, 1), (2, 7), (3, 333)):
        assert sample(names, 100, batch, seed) == first


def test_a_short_log_is_taken_as_a_whole():
    names = [f"c{number % 30}" for number in range(90)]
    assert sample(names, 100, batch=7) == sorted(names)
    assert len(RowSample(5).rows() or []) == 0


def test_few_contents_that_repeat_are_sampled_by_occurrence():
    """Of two contents with 3,000 and 1,000 rows, 400 sampled rows have 3 to 1, within four standard deviations (35)."""
    found = sample(["often"] * 3_000 + ["seldom"] * 1_000, 400, batch=100)
    assert len(found) == 400
    assert abs(found.count("often") - 300) < 35


def test_every_row_has_the_same_chance():
    """The sampled share of rows that occur once and of rows that occur five times is the same.

    Of 5,000 single contents and 1,000 contents with five rows each, 1,200 contents are drawn and then 1,200 rows of
    theirs. Rows of repeated contents are half of all; their number in the sample has a standard deviation of at most
    sqrt(1200 * 0.25 * 5) = 39, since five rows come together; four of them are 155.
    """
    names = [f"single {number}" for number in range(5_000)] + [f"five {number % 1_000}" for number in range(5_000)]
    found = sample(names, 1_200, batch=500)
    assert len(found) == 1_200
    assert abs(sum(name.startswith("five") for name in found) - 600) < 155


def test_row_numbers_are_those_of_the_file():
    taken = RowSample(10)
    taken.add(log_of([f"c{number}" for number in range(100)]))
    rows = taken.rows()
    assert [f"c{number - 1}" for number in rows.row_numbers.numbers] == rows.arrow["context_id"].to_pylist()
    assert rows.row_numbers.numbers.tolist() == sorted(rows.row_numbers.numbers.tolist())
