"""Effect modifiers: what they depend on, and that they carry which model suits which context."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.features import FeatureSpec
from deconfound.features.modifiers import WORD_BUCKETS
from deconfound.features.study_arrays import StudyArrays
from deconfound.words.prompt_style import STATISTICS
from tests.support.results import prepared_demo

TOPICS = {
    "code": ("function", "loop", "array", "compile", "pointer", "stack"),
    "travel": ("hotel", "flight", "beach", "luggage", "museum", "train"),
}
GAIN = 0.2  # of each model on its own topic over the other one


def message(topic: str, rng: np.random.Generator) -> str:
    return " ".join(rng.choice(TOPICS[topic], 6)) + f" {rng.integers(10**6)}"


def two_topics(seed: int, rows: int = 240) -> tuple[dict[str, pa.Table], dict[str, str]]:
    """Model "ant" is better on code and "bee" on travel; nothing in their outputs shows it. And each topic by id."""
    rng = np.random.default_rng(seed)
    topics = {f"{table} {i}": rng.choice(list(TOPICS)) for table in ("log", "experiment") for i in range(rows)}
    texts = {name: message(topic, rng) for name, topic in topics.items()}

    def table(names: list[str], models: list[str], outcomes: bool) -> pa.Table:
        content = {
            "context_id": names,
            "context": [texts[name] for name in names],
            "model": models,
            "output": [f"reply {rng.integers(10**6)}" for _ in names],
        }
        if outcomes:
            suits = [(model == "ant") == (topics[name] == "code") for name, model in zip(names, models, strict=True)]
            content["outcome"] = np.clip(
                0.5 + GAIN * (np.array(suits) - 0.5) + 0.15 * rng.normal(size=len(names)), 0, 1
            )
        return pa.table(content)

    log, experiment = ([name for name in topics if name.startswith(kind)] for kind in ("log", "experiment"))
    tables = {
        "log": table(log, rng.choice(["ant", "bee"], rows).tolist(), True),
        "experiment": table(experiment, rng.choice(["ant", "bee"], rows).tolist(), True),
        "replay": table(experiment * 2, ["ant"] * rows + ["bee"] * rows, False),
    }
    return tables, topics


def test_with_text_they_describe_the_context_alone_and_have_mean_square_one_over_the_log():
    arrays = prepared_demo().arrays
    replay = arrays.replay
    modifiers = replay.blocks.modifiers[replay.blocks.row_index]
    assert modifiers.shape[1] == WORD_BUCKETS + STATISTICS
    for context in range(3):
        assert np.ptp(modifiers[replay.context == context], axis=0).max() == 0.0
    log = arrays.log
    squares = (log.blocks.modifiers**2).sum(axis=1)
    assert np.average(squares, weights=log.weight) == pytest.approx(1.0)


def test_without_text_they_are_the_columns():
    rng, names = np.random.default_rng(0), [str(i) for i in range(40)]

    def table(**columns: object) -> pa.Table:
        features = {"feature_a": rng.normal(size=40), "feature_b": 5 * rng.normal(size=40)}
        return pa.table({"context_id": names, "model": ["ant", "bee"] * 20, **features, **columns})

    study = dc.load(log=table(outcome=rng.random(40)), experiment=table(outcome=rng.random(40)), replay=_both(table()))
    blocks = StudyArrays.from_study(study, FeatureSpec()).log.blocks
    np.testing.assert_allclose(blocks.modifiers, blocks.dense)


def _both(table: pa.Table) -> pa.Table:
    other = table.set_column(table.column_names.index("model"), "model", pa.array(["bee", "ant"] * 20))
    return pa.concat_tables([table, other])


def test_auto_routes_each_topic_to_the_model_that_suits_it():
    """The outputs say nothing, so without modifiers every context would get the same model."""
    tables, topics = two_topics(seed=0)
    result = dc.evaluate(dc.load(**tables))
    suited = [(row.model == "ant") == (topics[row.context_id] == "code") for row in result.recommendations]
    assert np.mean(suited) > 0.95
    assert result.routing.verdict == "route"
    assert 0.05 < result.routing.gain < 0.15
    assert result.attribution.variance_components.reward_model_by_context > 1e-3


def test_a_saved_result_recommends_the_same_models_on_new_contexts(tmp_path):
    tables, _ = two_topics(seed=0)
    result, fresh = dc.evaluate(dc.load(**tables)), two_topics(seed=1)[0]["replay"]
    result.save(tmp_path / "saved")
    again = dc.Result.load(tmp_path / "saved").recommend(fresh)
    assert [(row.model, row.q) for row in again] == [(row.model, row.q) for row in result.recommend(fresh)]
    assert {row.model for row in again} == {"ant", "bee"}
