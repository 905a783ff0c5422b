"""Small parts of the text report."""

from __future__ import annotations

from deconfound.report.text import spans


def test_consecutive_places_are_written_as_a_range():
    assert spans([7, 2, 3, 4]) == "2 to 4, 7"
    assert spans([1]) == "1"
