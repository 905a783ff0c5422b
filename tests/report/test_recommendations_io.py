"""Recommendations as text and files."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from deconfound.decide.recommendation import Recommendation
from deconfound.loading import load_replay
from deconfound.report.decision_text import SMALL_DIFFERENCES
from deconfound.report.recommendations_io import RecommendationTable, recommendation_text, write_recommendations
from deconfound.report.scale import Scale

HOSTILE = "\x1b[31mred\n"


def row(name: str = "model", q: float = 0.5) -> Recommendation:
    return Recommendation(name, name, q, 0.4, 0.6, name, 0.1, 0.0, 0.2, "cannot tell", 0.3, 0.1)


def table(*rows: Recommendation, texts: dict[str, str] | None = None) -> RecommendationTable:
    return RecommendationTable(rows, texts or {}, 0.9)


def test_names_and_texts_cannot_control_the_terminal():
    text = recommendation_text(table(row(HOSTILE)))
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(recommendation_text(table(row())).splitlines())
    assert "\x1b" not in recommendation_text(table(row("a1b2"), texts={"a1b2": HOSTILE}))


def test_a_context_without_an_id_of_its_own_is_shown_by_the_beginning_of_its_text():
    long = "Please summarize\nthis long article about the harbor and its cranes."
    replay = load_replay(pa.table({"context": [long] * 2, "model": ["a", "b"], "output": ["x", "y"]}))
    (context_id,) = replay.unique_values("context_id")
    recommendations = RecommendationTable.from_replay([row(context_id)], replay, 0.95)
    text = recommendation_text(recommendations)
    assert '"Please summarize this long article about…"' in text
    assert not text.splitlines()[3].lstrip().startswith(context_id)
    assert recommendations.records()[0]["context"] == long


def test_an_id_that_the_user_gave_is_shown_as_it_is():
    columns = {"context_id": ["ticket-7"] * 2, "context": ["hi"] * 2, "model": ["a", "b"], "output": ["x", "y"]}
    recommendations = RecommendationTable.from_replay([row("ticket-7")], load_replay(pa.table(columns)), 0.95)
    assert "ticket-7" in recommendation_text(recommendations)
    assert "context" not in recommendations.records()[0]


def test_rows_that_are_not_printed_are_in_the_file_or_can_be_written():
    rows = table(*(row() for _ in range(45)))
    assert "and 5 more; -o FILE writes all\n" in recommendation_text(rows)
    assert "and 5 more, in the file\n" in recommendation_text(rows, written=True)


def test_every_column_is_explained_with_the_level_of_the_verdict():
    legend = recommendation_text(table(row())).splitlines()[-3:]
    assert all(f"{name}:" in " ".join(legend) for name in ("value", "margin", "verdict"))
    assert "at most 10 %" in " ".join(legend)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_json_files_have_null_for_a_number_that_is_not_finite(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    write_recommendations(table(row(q=float("nan"))), path)
    content = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert (content[0] if suffix == ".json" else content)["q"] is None


def test_the_terminal_shows_the_users_scale_and_files_numbers_from_0_to_1():
    stars = RecommendationTable([row()], {}, 0.95, Scale(1.0, 5.0))
    text = recommendation_text(stars)
    assert "3.00" in text
    assert "+0.40" in text
    assert "on your scale from 1 to 5" in " ".join(text.split())
    assert stars.records()[0]["q"] == 0.5
    assert "your scale" not in recommendation_text(table(row()))


def test_costs_are_mentioned_only_if_there_are_any():
    with_cost = " ".join(recommendation_text(RecommendationTable([row()], {}, 0.95, has_cost=True)).split())
    assert "on this context, before cost." in with_cost
    assert "by the experiment, net of cost." in with_cost
    assert "cost" not in recommendation_text(table(row()))


def test_clear_verdicts_name_the_assumption_behind_them():
    """Without a clear verdict nothing rests on it."""
    clear = replace(row(), verdict="clear")
    for one, assumed, named in ((clear, True, True), (clear, False, False), (row(), True, False)):
        shown = RecommendationTable([one], {}, 0.95, assumes_small_differences=assumed)
        assert (SMALL_DIFFERENCES in " ".join(recommendation_text(shown).split())) is named
