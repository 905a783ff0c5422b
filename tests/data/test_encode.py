"""Arrow columns as codes."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deconfound.data.encode import UNKNOWN_CODE, encode, encode_by_appearance

CHUNKS = st.lists(st.lists(st.sampled_from(["bee", "ant", "wasp", "größe", ""]), max_size=4), max_size=4)


@given(CHUNKS)
def test_codes_are_positions_among_the_sorted_values(chunks):
    values = [value for chunk in chunks for value in chunk]
    names, codes = encode(pa.chunked_array(chunks, pa.string()))
    assert names == tuple(sorted(set(values)))
    assert [names[code] for code in codes] == values


@given(CHUNKS)
def test_codes_by_appearance_number_values_in_order(chunks):
    values = [value for chunk in chunks for value in chunk]
    distinct, codes = encode_by_appearance(pa.chunked_array(chunks, pa.string()))
    assert distinct.to_pylist() == list(dict.fromkeys(values))
    assert [distinct[int(code)].as_py() for code in codes] == values


def test_values_that_are_missing_or_not_among_the_names_are_unknown():
    column = pa.chunked_array([["bee", "dog", None]])
    assert encode(column, ("ant", "bee"))[1].tolist() == [1, UNKNOWN_CODE, UNKNOWN_CODE]
    assert encode_by_appearance(column)[1].tolist() == [0, 1, UNKNOWN_CODE]


def test_integers_are_encoded_by_appearance():
    distinct, codes = encode_by_appearance(pa.chunked_array([[7, 3], [7]]))
    assert distinct.to_pylist() == [7, 3]
    assert codes.tolist() == [0, 1, 0]
