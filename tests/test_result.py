"""Recommendations of a result for new contexts."""

from __future__ import annotations

import pyarrow as pa
import pytest

import deconfound as dc
from tests.support.results import demo_result, small_demo


def test_the_studys_own_replay_gives_the_results_recommendations():
    result, replay = demo_result(), small_demo().replay
    assert result.recommend(replay) == result.recommendations


@pytest.mark.parametrize("column", ["context", "output"])
def test_a_replay_without_a_column_that_the_features_need_is_refused(column):
    replay = small_demo().replay
    with pytest.raises(dc.DataError, match=rf"no column (for the )?{column}"):
        demo_result().recommend(replay.drop_columns([column]))


def test_several_missing_columns_are_named_in_the_plural():
    replay = small_demo().replay.drop_columns(["context", "output"])
    with pytest.raises(dc.DataError, match=r"there are no columns context, output\. Add them: "):
        demo_result().recommend(replay.append_column("feature_a", pa.array([0.5] * len(replay))))
