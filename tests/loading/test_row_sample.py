"""The sample of a long log is uniform, and depends on the content of rows alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from deconfound.data import Log, RowNumbers
from deconfound.loading.occurrences import MAX_CONTENTS, Occurrences
from deconfound.loading.row_sample import RowSample

MAX_BYTES = 1 << 28


def log_of(names: list[str]) -> Log:
    size = len(names)
    columns = {"context_id": names, "model": ["ant"] * size, "output": names, "outcome": np.ones(size)}
    return Log(pa.table(columns), "log", (), (), RowNumbers(numbers=np.arange(1, size + 1)))


def sample(
    names: list[str], size: int, batch: int, seed: int = 0, contents: int = MAX_CONTENTS, max_bytes: int = MAX_BYTES
) -> list[str]:
    """The sampled ids, after the rows were shuffled and added in batches."""
    log = log_of(names)
    order = np.random.default_rng(seed).permutation(len(names))
    taken = RowSample(size, max_bytes, contents)
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
    assert len(RowSample(5, MAX_BYTES).rows() or []) == 0


def test_few_contents_that_repeat_are_sampled_by_occurrence():
    """Of two contents with 3,000 and 1,000 rows, 400 sampled rows have 3 to 1, within four standard deviations (35)."""
    found = sample(["often"] * 3_000 + ["seldom"] * 1_000, 400, batch=100)
    assert len(found) == 400
    assert abs(found.count("often") - 300) < 35


def test_every_row_has_the_same_chance():
    """The sampled share of rows that occur once and of rows that occur five times is the same.

    Rows of repeated contents are half of all. In a simple random sample of 1,200 of 10,000 rows, their number has a
    standard deviation of sqrt(1200 * 0.25 * 0.88) = 16; four of them are 65.
    """
    names = [f"single {number}" for number in range(5_000)] + [f"five {number % 1_000}" for number in range(5_000)]
    found = sample(names, 1_200, batch=500)
    assert len(found) == 1_200
    assert abs(sum(name.startswith("five") for name in found) - 600) < 65


def test_a_content_that_recurs_often_is_in_every_sample_with_its_share():
    """It has half of 4,000 rows; of 400 sampled ones 200, with a standard deviation of sqrt(400 * 0.25 * 0.9) = 9.5.

    Four of them in each of 20 logs, whose other rows and thereby ranks differ. In a sample of contents it would have
    no row in most of the logs.
    """
    for log in range(20):
        names = [f"single {log} {number}" for number in range(2_000)] + [f"often {log}"] * 2_000
        found = sample(names, 400, batch=250, seed=log)
        assert abs(found.count(f"often {log}") - 200) < 38
        assert found == sample(names, 400, batch=999, seed=log + 100)


def test_chances_are_the_same_where_contents_are_too_many_to_be_counted():
    """A quarter of the rows has one content, a quarter contents of five rows, half contents of one row.

    Counts of 64 contents are retained, of 1,101. Rows of five can be in the sample together, which makes the standard
    deviation of a share in 40 samples of 200 at most sqrt(200 * 0.1875 * 5 / 40) = 2.2 rows; four of them are 9.
    """
    often = five = 0
    for log in range(40):
        names = [f"{log} single {number}" for number in range(1_000)] + [f"{log} often"] * 500
        names += [f"{log} five {number % 100}" for number in range(500)]
        found = sample(names, 200, batch=50, seed=log, contents=64)
        often += found.count(f"{log} often")
        five += sum("five" in name for name in found)
    assert abs(often / 40 - 50) < 9
    assert abs(five / 40 - 50) < 9


def test_rows_that_do_not_recur_are_sampled_alike_in_any_order_and_number():
    names = [f"c{number}" for number in range(1_000)]
    first = sample(names, 100, batch=1_000)
    for seed, batch in ((1, 1), (2, 90)):
        assert sample(names, 100, batch, seed, contents=64) == first


def test_occurrences_are_counted_exactly_up_to_the_number_of_contents():
    rows = np.random.default_rng(0).integers(0, 500, size=5_000).astype(np.uint64)
    occurrences, expected, seen = Occurrences(500), [], {}
    for row in rows.tolist():
        expected.append(seen.get(row, 0))
        seen[row] = expected[-1] + 1
    counted = [occurrences.count(rows[start : start + 37]) for start in range(0, len(rows), 37)]
    assert np.concatenate(counted).tolist() == expected


def test_what_recurs_most_is_counted_where_contents_are_too_many():
    occurrences = Occurrences(100)
    for batch in range(200):
        rows = np.array([7, *range(1_000 + 20 * batch, 1_020 + 20 * batch)], dtype=np.uint64)
        assert occurrences.count(rows)[0] == batch
    assert len(occurrences) <= 150


def test_long_rows_make_the_sample_smaller_in_any_order():
    """Rows of 100 to 1,100 letters in two columns each, of which 20 KB are about 17."""
    names = [f"{number} {'x' * (number % 11 * 100 + 100)}" for number in range(1_000)]
    every = sample(names, 1_000, batch=1_000)
    first = sample(names, 100, batch=1_000, max_bytes=20_000)
    assert 10 < len(first) < 30
    assert set(first) < set(sample(names, 100, batch=1_000)) < set(every)
    for seed, batch in ((1, 1), (2, 7), (3, 333)):
        assert sample(names, 100, batch, seed, max_bytes=20_000) == first


def test_row_numbers_are_those_of_the_file():
    taken = RowSample(10, MAX_BYTES)
    taken.add(log_of([f"c{number}" for number in range(100)]))
    rows = taken.rows()
    assert [f"c{number - 1}" for number in rows.row_numbers.numbers] == rows.arrow["context_id"].to_pylist()
    assert rows.row_numbers.numbers.tolist() == sorted(rows.row_numbers.numbers.tolist())
