"""Context features against naive re-implementations."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.features.context_features import (
    context_blocks,
    context_only_columns,
    encode_contexts,
    hashed_words,
    mean_by_context,
    nearest_distance,
    randomized_pca,
    rehash,
    stack_standardized,
    tfidf,
)
from deconfound.features.text_arrays import read_texts
from tests.support.checking import make_study


def columns_study():
    """feature_x depends on the context alone, feature_a on the model as well."""
    ids = [f"c{i}" for i in range(6) for _ in range(2)]
    models = ["ant", "bee"] * 6
    columns = {
        "context_id": ids,
        "model": models,
        "feature_x": [float(name[1]) for name in ids],
        "feature_a": [float(name[1]) + 10.0 * (model == "bee") for name, model in zip(ids, models, strict=True)],
    }
    rated = pa.table({**columns, "outcome": np.linspace(0, 1, 12)})
    replay = pa.table({**columns, "draw": np.zeros(12, dtype=np.int64)})
    return Study.from_tables(Log(rated, "log"), Experiment(rated, "experiment"), Replay(replay, "replay"))


def test_columns_of_contexts_are_those_that_no_output_changes():
    assert context_only_columns(columns_study()) == ("feature_x",)
    assert context_only_columns(make_study(rows=3)) == ()


def test_without_text_contexts_are_described_by_means_over_all_models():
    """A row's own feature may be its output's; only what all models share on a context may count."""
    study = columns_study()
    means = mean_by_context(study.replay.arrow, ("feature_a",)).to_pylist()
    assert {row["context_id"]: row["feature_a"] for row in means} == {f"c{i}": i + 5.0 for i in range(6)}
    (block,) = context_blocks(study, study.experiment.arrow, 0)
    np.testing.assert_allclose(block[::2], block[1::2])  # rows of one context, different models
    assert (block**2).sum(axis=1).mean() == pytest.approx(1.0)


def test_principal_components_are_those_of_a_full_decomposition():
    texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in ("house", "tree", "car", "boat")]
    rows = hashed_words(read_texts(texts))
    centered = rows.toarray() - rows.toarray().mean(axis=0)
    singular = np.linalg.svd(centered, compute_uv=False)
    assert np.linalg.norm(randomized_pca(rows, 0), axis=0)[:8] == pytest.approx(singular[:8], rel=1e-6)


def test_contexts_are_numbered_by_text_across_tables():
    first = pa.table({"context": ["a", "b", "a"], "cluster": ["u", "v", "u"]})
    second = pa.table({"context": pa.chunked_array([["c"], ["b"]])})
    tables = encode_contexts((first, second), ())
    assert [table.key.tolist() for table in tables] == [[0, 1, 0], [2, 1]]
    assert tables[0].cluster.tolist() == [0, 1, 0]
    assert tables[1].cluster is None


def test_statistics_are_standardized_over_all_tables():
    first = pa.table({"context": ["one two", "three"]})
    second = pa.table({"context": ["four five six seven", "eight?"]})
    parts = [table.features(np.arange(2)) for table in encode_contexts((first, second), ())]
    stacked = stack_standardized(parts)
    assert stacked.text.shape[0] == 4
    np.testing.assert_allclose(stacked.dense.mean(axis=0), 0.0, atol=1e-12)
    assert (stacked.dense**2).sum(axis=1).mean() == pytest.approx(1.0)


def test_rehashing_and_tfidf_are_what_loops_compute():
    rng = np.random.default_rng(4)
    words = np.where(rng.random((6, 2000)) < 0.02, rng.choice([-1.0, 1.0], (6, 2000)), 0.0)
    expected = np.zeros((6, 512))
    for column in range(2000):
        expected[:, column % 512] += words[:, column]
    np.testing.assert_allclose(rehash(sparse.csr_matrix(words)), expected)
    frequency = (words != 0).sum(axis=0)
    weighted = words * np.where(frequency >= 2, np.log(1 + 6 / np.maximum(frequency, 1)), 0.0)
    norm = np.linalg.norm(weighted, axis=1, keepdims=True)
    rows = tfidf(sparse.csr_matrix(words), frequency, 6).toarray()
    np.testing.assert_allclose(rows, weighted / np.where(norm > 0, norm, 1.0))


def test_the_nearest_row_is_of_another_context():
    rng = np.random.default_rng(1)
    rows, reference = rng.standard_normal((7, 3)), rng.standard_normal((9, 3))
    context, where = rng.integers(4, size=7), rng.integers(4, size=9)
    expected = [
        min(np.linalg.norm(row - r) for r, at in zip(reference, where, strict=True) if at != own)
        for row, own in zip(rows, context, strict=True)
    ]
    np.testing.assert_allclose(nearest_distance(rows, context, reference, where), expected)
