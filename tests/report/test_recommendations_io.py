"""Recommendations as text and files."""

from __future__ import annotations

import json

import pytest

from deconfound.decide.recommendation import Recommendation
from deconfound.report.recommendations_io import recommendation_text, write_recommendations

HOSTILE = "\x1b[31mred\n"


def row(name: str = "model", q: float = 0.5) -> Recommendation:
    return Recommendation(name, name, q, 0.4, 0.6, name, 0.1, 0.0, 0.2, "cannot tell", 0.3, 0.1)


def test_names_cannot_control_the_terminal():
    text = recommendation_text([row(HOSTILE)], as_json=False)
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(recommendation_text([row()], as_json=False).splitlines())


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_json_files_have_null_for_a_number_that_is_not_finite(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    write_recommendations([row(q=float("nan"))], path)
    content = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert (content[0] if suffix == ".json" else content)["q"] is None
