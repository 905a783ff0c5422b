"""Columns as segments: small ones pooled, missing ones by themselves, numbers cut, ids refused."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from deconfound.data import Experiment
from deconfound.data.segment_codes import MAX_SEGMENTS, MISSING, OTHER, SegmentCodes
from deconfound.errors import DataError


def codes(values: list[str | None]) -> SegmentCodes:
    rows = len(values)
    table = pa.table(
        {
            "context_id": [str(row) for row in range(rows)],
            "model": ["ant"] * rows,
            "outcome": [0.5] * rows,
            "segment_s": pa.array(values, pa.string()),
        }
    )
    return SegmentCodes.from_experiment(Experiment(table, "experiment.csv"), "s")


def sizes(found: SegmentCodes) -> dict[str, int]:
    """Rows by name, in the order of the names."""
    counts = Counter(found.code.tolist())
    return {name: counts[at] for at, name in enumerate(found.names)}


def test_segments_come_with_the_largest_first_and_the_missing_one_last():
    found = codes(["fr"] * 10 + ["de"] * 30 + [None] * 40 + ["en"] * 10)
    assert list(sizes(found).items()) == [("de", 30), ("en", 10), ("fr", 10), (MISSING, 40)]
    assert (found.missing_rows, found.pooled_values) == (40, 0)


def test_values_with_few_rows_are_pooled():
    found = codes(["de"] * 30 + ["en"] * 9 + ["fr"] + [None] * 2)
    assert list(sizes(found).items()) == [("de", 30), (OTHER, 10), (MISSING, 2)]
    assert (found.missing_rows, found.pooled_values) == (2, 2)


def test_a_single_small_value_retains_its_name():
    assert list(sizes(codes(["de"] * 30 + ["en"])).items()) == [("de", 30), ("en", 1)]


def test_beyond_the_largest_values_the_rest_is_pooled():
    large = [f"v{number:02d}" for number in range(MAX_SEGMENTS + 5) for _ in range(20 - number // 3)]
    found = codes(large)
    assert len(found.names) == MAX_SEGMENTS + 1
    assert found.names[-1] == OTHER
    assert found.pooled_values == 5


@pytest.mark.parametrize("rows", [MAX_SEGMENTS + 1, 300])
def test_a_column_of_ids_is_refused(rows):
    with pytest.raises(DataError, match=f'experiment.csv: "s" has {rows} values in {rows} rows.*fewer values'):
        codes([f"user{row}" for row in range(rows)])


def test_numbers_are_cut_at_quartiles_in_their_order():
    found = codes([str(number) for number in range(1, 101)] + [None])
    assert list(sizes(found).items()) == [
        ("≤ 25", 25),
        ("> 25 to 50", 25),
        ("> 50 to 75", 25),
        ("> 75", 25),
        (MISSING, 1),
    ]


def test_few_numbers_are_values_like_others():
    assert codes(["1", "2", "5"] * 20).names == ("1", "2", "5")


def test_numbers_with_ties_have_fewer_ranges():
    found = codes(["0"] * 90 + [f"{number}" for number in range(1, 31)])
    assert list(sizes(found).items()) == [("≤ 0", 90), ("> 0", 30)]


@pytest.mark.parametrize("odd", ["nan", "inf", "1_0", "12 km"])
def test_what_is_no_finite_number_makes_no_numbers(odd):
    with pytest.raises(DataError):
        codes([str(number) for number in range(60)] + [odd])


def test_values_named_like_ours_remain_apart_from_them():
    found = codes([MISSING] * 12 + [None] * 3 + [OTHER] * 14 + [f'"{OTHER}"'] * 13 + ["a", "b"])
    assert sizes(found) == {f'"{OTHER}"': 14, f'""{OTHER}""': 13, f'"{MISSING}"': 12, OTHER: 2, MISSING: 3}
    assert (found.missing_rows, found.pooled_values) == (3, 2)


@pytest.mark.parametrize(
    ("first", "step", "second_name"),
    [
        ("20261101", 1, "> 20261125 to 20261150"),
        ("1700000000", 60, "> 1700001440 to 1700002940"),
        ("1700000000000", 7, "> 1700000000168 to 1700000000343"),
    ],
)
def test_ranges_of_large_numbers_have_names_of_their_own(first, step, second_name):
    """Six digits would be equal for all of them, and join them into one."""
    found = codes([str(int(first) + step * number) for number in range(100)])
    assert list(sizes(found).values()) == [25, 25, 25, 25]
    assert found.names[1] == second_name


def test_ranges_of_close_fractions_have_names_of_their_own():
    found = codes([repr(0.1 + number * 1e-8) for number in range(100)])
    assert list(sizes(found).values()) == [25, 25, 25, 25]
    assert found.names[0] == "≤ 0.1000002"


def test_codes_with_leading_zeros_are_no_quantities():
    found = codes([f"0{1000 + number % 30}" for number in range(600)])
    assert found.names[:2] == ("01000", "01001")
    assert found.names[-1] == OTHER


def test_an_experiment_of_small_segments_alone_is_one_segment():
    assert sizes(codes(["de"] * 5 + ["en"] * 5)) == {OTHER: 10}
