"""Featurizers: the blocks' shapes and scales, what they learn from and what they must not, saving and loading."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.errors import DataError, EvidenceError, UsageError
from deconfound.features import SURFACE, FeatureBlocks, FeatureSpec, Featurizer, rows
from deconfound.features.featurizer import truncation_findings
from deconfound.features.scaling import fit_scaling
from deconfound.features.tokenize import MAX_TEXT

SMALL = FeatureSpec(buckets=512)
CONTEXTS = ["Why is the sky blue?", "Sum 12 and 30.", "Translate: le chat noir", "Who wrote Faust?"]
OUTPUTS = ["Because of Rayleigh scattering.", "42", "The black cat", "- Goethe\n- not Marlowe", "", "I am not sure."]


def texts(n, seed):
    rng = np.random.default_rng(seed)
    context = rng.integers(len(CONTEXTS), size=n)
    return {
        "context_id": pa.array([f"c{at}" for at in context]),
        "model": pa.array(rng.choice(["ant", "bee"], size=n).tolist()),
        "context": pa.array([CONTEXTS[at] for at in context]),
        "output": pa.array([OUTPUTS[at] for at in rng.integers(len(OUTPUTS), size=n)]),
    }


def numbers(n, seed, prefix, width):
    rng = np.random.default_rng(seed)
    # Rounded, so that some rows repeat.
    return {f"{prefix}{at}": pa.array(rng.normal(3 * at, 1 + at, size=n).round()) for at in range(width)}


def make(n=60, *, labels=0, features=0, text=True, seed=0):
    """A study with repeated rows; its tables are put together directly, as their fit is not at issue here."""
    tables = []
    for number, size in enumerate((n, 8, 8)):
        columns = texts(size, seed + number) | numbers(size, seed + 10 + number, "feature_", features)
        if not text:
            columns = {name: values for name, values in columns.items() if name not in ("context", "output")}
        tables.append(columns)
    outcome = np.random.default_rng(seed).random(n)
    log, experiment, replay = tables
    return Study(
        Log(pa.table(log | {"outcome": pa.array(outcome)} | numbers(n, seed + 20, "label_", labels)), "log"),
        Experiment(pa.table(experiment | {"outcome": pa.array(outcome[:8])}), "experiment"),
        Replay(pa.table(replay | {"draw": pa.array(np.zeros(8, dtype=np.int64))}), "replay"),
        ("ant", "bee"),
        (),
        (),
    )


def with_log(study, **columns):
    table = study.log.table
    for name, values in columns.items():
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.chunked_array([pa.array(values, type=table.schema.field(name).type)]))
    return replace(study, log=replace(study.log, table=table))


def same_bits(left: FeatureBlocks, right: FeatureBlocks):
    assert left.pair.tolist() == right.pair.tolist()
    assert (left.text is None) == (right.text is None)
    if left.text is not None:
        assert left.text.shape == right.text.shape
        assert left.text.indices.tobytes() == right.text.indices.tobytes()
        assert left.text.data.tobytes() == right.text.data.tobytes()
    for one, other in ((left.dense, right.dense), (left.psi, right.psi)):
        assert (one is None) == (other is None)
        assert one is None or one.tobytes() == other.tobytes()


KINDS = {
    "text, labels": (SMALL, {"labels": 3}),
    "text": (SMALL, {}),
    "text without surface": (replace(SMALL, surface=False), {}),
    "labels without surface": (replace(SMALL, surface=False, components=2), {"labels": 3}),
    "columns without text": (replace(SMALL, source="columns"), {"features": 3, "labels": 2, "text": False}),
    "columns with surface": (replace(SMALL, source="columns"), {"features": 3}),
    "both": (replace(SMALL, source="both"), {"features": 3, "labels": 2}),
}
SOURCES = ["labels and surface", "surface", "none", "labels", "labels and columns", "surface and columns"]
SOURCES += ["labels, surface and columns"]


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request):
    spec, arguments = request.param
    return spec, make(**arguments)


def test_a_reloaded_featurizer_gives_the_same_bits(kind, tmp_path):
    spec, study = kind
    featurizer = spec.fit(study.log)
    featurizer.save(tmp_path / "new" / "place")
    loaded = Featurizer.load(tmp_path / "new" / "place")
    same_bits(featurizer.blocks(study.replay.table), loaded.blocks(study.replay.table))
    assert loaded.psi_source == featurizer.psi_source
    assert loaded.findings == featurizer.findings
    assert (loaded.spec, loaded.shape) == (spec, featurizer.shape)


def test_saving_twice_writes_the_same_bytes(tmp_path):
    study = make(labels=3)
    for name in ("one", "two"):
        SMALL.fit(study.log).save(tmp_path / name)
    for file in ("featurizer.json", "featurizer.npz"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_fitting_hands_over_the_blocks_that_the_featurizer_gives_for_the_log(kind):
    spec, study = kind
    featurizer, blocks = spec.fit_transform_log(study.log)
    same_bits(blocks, featurizer.blocks(study.log.table))


def test_psi_says_what_it_is_made_of():
    assert [spec.fit(make(**arguments).log).psi_source for spec, arguments in KINDS.values()] == SOURCES


def test_outcomes_and_the_experiment_teach_nothing(kind):
    """Neither other outcomes anywhere nor another experiment and replay may move a feature."""
    spec, study = kind
    other = with_log(study, outcome=np.linspace(0, 1, len(study.log)))
    other = replace(
        other,
        experiment=replace(other.experiment, table=other.experiment.table.slice(3)),
        replay=replace(other.replay, table=other.replay.table.slice(2)),
    )
    same_bits(spec.fit(study.log).blocks(study.log.table), spec.fit(other.log).blocks(study.log.table))


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(12)), st.sampled_from(sorted(KINDS)))
def test_the_order_of_rows_changes_no_features(order, name):
    spec, arguments = KINDS[name]
    study = make(**arguments)
    featurizer = spec.fit(study.log)
    table = study.log.table.slice(0, 12)
    straight, shuffled = featurizer.blocks(table), featurizer.blocks(table.take(pa.array(order)))
    for phi in (0.0, 0.3, 1.0):
        left, right = (blocks.phi(phi) for blocks in (straight, shuffled))
        left, right = (part if isinstance(part, np.ndarray) else part.toarray() for part in (left, right))
        assert (left[straight.pair][order] == right[shuffled.pair]).all()
    if straight.psi is not None:
        assert (straight.psi[straight.pair][order] == shuffled.psi[shuffled.pair]).all()


def test_the_size_of_batches_changes_no_features(monkeypatch):
    study = make(labels=2)
    featurizer, whole = SMALL.fit_transform_log(study.log)
    monkeypatch.setattr(rows, "BATCH_BYTES", 300)
    same_bits(whole, featurizer.blocks(study.log.table))


def test_equal_pairs_share_a_row_and_contexts_stay_together():
    columns = {
        "context": ["x", "y", "x", "y", "x"],
        "output": ["1", "1", "2", "1", "1"],
        "feature_0": [0.0, 0.0, 0.0, 5.0, -0.0],
    }
    study = make(features=1)
    assert SMALL.fit(study.log).blocks(pa.table(columns)).pair.tolist() == [0, 2, 1, 2, 0]
    assert replace(SMALL, source="both").fit(study.log).blocks(pa.table(columns)).pair.tolist() == [0, 2, 1, 3, 0]
    only = replace(SMALL, source="columns", surface=False).fit(study.log)
    assert only.blocks(pa.table(columns)).pair.tolist() == [0, 0, 0, 1, 0]


def test_text_is_the_sum_of_two_unit_vectors():
    blocks = (
        replace(SMALL, buckets=2**18)
        .fit(make().log)
        .blocks(pa.table({"context": ["a b", "a b", ""], "output": ["", "a b", "c"]}))
    )
    squares = blocks.text.multiply(blocks.text).sum(axis=1).A1
    np.testing.assert_allclose(squares, [1.0, 2.0, 1.0], rtol=1e-12)


def test_balance_weighs_the_blocks_and_its_ends_are_one_block_alone():
    blocks = SMALL.fit_transform_log(make().log)[1]
    assert blocks.both
    assert blocks.phi(0.0) is blocks.text
    np.testing.assert_array_equal(blocks.phi(1.0), np.sqrt(2) * blocks.dense)
    expected = np.hstack([np.sqrt(0.7) * blocks.text.toarray(), np.sqrt(0.6) * blocks.dense])
    mixed = blocks.phi(0.3)
    np.testing.assert_allclose(mixed.toarray(), expected, rtol=1e-15)
    assert mixed.has_canonical_format
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="surface_share"):
            blocks.phi(wrong)


def test_a_block_without_its_counterpart_is_given_whole():
    text = replace(SMALL, surface=False).fit_transform_log(make().log)[1]
    dense = replace(SMALL, source="columns").fit_transform_log(make(features=2, text=False).log)[1]
    assert not text.both
    assert not dense.both
    for surface_share in (0.0, 0.4, 1.0):
        assert text.phi(surface_share) is text.text
        np.testing.assert_array_equal(dense.phi(surface_share), np.sqrt(2) * dense.dense)


def test_the_dense_block_has_mean_square_norm_one_over_the_log_shared_by_its_parts():
    """Over log rows, not distinct rows: a pair that occurs often counts often."""
    _, blocks = replace(SMALL, source="both").fit_transform_log(make(features=3).log)
    squares = (blocks.dense[blocks.pair] ** 2).mean(axis=0)
    assert squares[: len(SURFACE)].sum() == pytest.approx(0.5)
    assert squares[len(SURFACE) :].sum() == pytest.approx(0.5)


def test_columns_are_standardised_by_the_log_and_clipped():
    study = make(features=2, text=False)
    featurizer, blocks = replace(SMALL, source="columns").fit_transform_log(study.log)
    values = study.log.table["feature_1"].to_numpy()
    np.testing.assert_allclose(blocks.psi[blocks.pair][:, 1], (values - values.mean()) / values.std(), rtol=1e-10)
    far = featurizer.blocks(pa.table({"feature_0": [1e300, -1e300], "feature_1": [3.0, 3.0]}))
    assert far.psi[:, 0].tolist() == [5.0, -5.0]


def test_constant_columns_are_zero_whatever_later_tables_hold():
    study = with_log(make(features=2), feature_1=[0.1] * 60)
    featurizer = replace(SMALL, source="columns", surface=False).fit(study.log)
    later = featurizer.blocks(pa.table({"feature_0": [1.0], "feature_1": [7.0]}))
    assert later.dense[0, 1] == later.psi[0, 1] == 0.0


def test_rounding_around_a_constant_is_no_spread():
    """These counts make the mean of a constant column differ from it in the last digit."""
    for counts in (np.arange(1, size) for size in range(3, 60)):
        assert fit_scaling(np.full((len(counts), 1), 0.1), counts, (1,)).spread.tolist() == [0.0]


@pytest.mark.parametrize("output", ["", "same"])
def test_a_log_without_variety_still_works(output):
    study = with_log(make(labels=2), context=["x"] * 60, output=[output] * 60)
    featurizer, blocks = SMALL.fit_transform_log(study.log)
    assert len(blocks.dense) == 1
    assert not blocks.dense.any()
    assert featurizer.psi_source == "surface"
    assert np.isfinite(featurizer.blocks(study.replay.table).psi).all()


def test_a_log_of_one_row_works():
    study = make(n=8, labels=1)
    featurizer = SMALL.fit(replace(study.log, table=study.log.table.slice(0, 1)))
    blocks = featurizer.blocks(study.log.table)
    assert not blocks.psi.any()
    assert blocks.text.nnz > 0


def test_an_empty_table_has_empty_blocks():
    study = make(labels=2)
    blocks = SMALL.fit(study.log).blocks(study.log.table.slice(0, 0))
    assert blocks.text.shape == (0, 512)
    assert len(blocks.dense) == len(blocks.psi) == len(blocks.pair) == 0


def dense_ridge(phi, targets, penalty, weight):
    """Normal equations with an explicit, unpenalised column of ones."""
    full = np.column_stack([phi, np.ones(len(phi))])
    penalties = np.diag([penalty] * phi.shape[1] + [0.0])
    return np.linalg.solve((full * weight[:, None]).T @ full + penalties, (full * weight[:, None]).T @ targets)


def test_components_are_the_principal_components_of_the_predicted_labels():
    """On all log rows, one by one, instead of weighted distinct rows; signs of components are free."""
    study = make(n=200, labels=3)
    _, blocks = replace(SMALL, components=2, label_penalty=0.5).fit_transform_log(study.log)
    phi = blocks.phi(0.5).toarray()[blocks.pair]
    labels = np.column_stack([study.log.table[f"label_{at}"].to_numpy() for at in range(3)])
    solution = dense_ridge(phi, labels / labels.std(axis=0), 0.5, np.ones(len(phi)))
    predicted = phi @ solution[:-1]
    _, _, directions = np.linalg.svd(predicted - predicted.mean(axis=0), full_matrices=False)
    expected = (predicted - predicted.mean(axis=0)) @ directions[:2].T
    expected /= expected.std(axis=0)
    found = blocks.psi[blocks.pair][:, :2]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(found.std(axis=0), 1.0, rtol=1e-6)
    assert blocks.psi.shape[1] == 2 + len(SURFACE)


def test_units_of_labels_do_not_matter():
    study = make(labels=3)
    metres = study.log.table["label_2"].to_numpy()
    one, other = (
        replace(SMALL, components=2).fit_transform_log(s.log)[1]
        for s in (study, with_log(study, label_2=1000 * metres))
    )
    np.testing.assert_allclose(one.psi, other.psi, atol=1e-7)


def test_a_missing_label_counts_nowhere_and_is_reported():
    """Rows without the label must teach as much about it as if they were not there."""
    study = make(n=120, labels=1)
    values = study.log.table["label_0"].to_numpy().copy()
    values[::3] = np.nan
    holed = with_log(study, label_0=pa.array(values, from_pandas=True))
    spec = replace(SMALL, surface=False)
    featurizer, blocks = spec.fit_transform_log(holed.log)
    kept = np.flatnonzero(np.isfinite(values))
    phi = blocks.text.toarray()[blocks.pair]
    solution = dense_ridge(phi[kept], values[kept] / np.nanstd(values), spec.label_penalty, np.ones(len(kept)))
    predicted = phi @ solution[:-1]
    expected = (predicted - predicted.mean()) / predicted.std()
    np.testing.assert_allclose(np.abs(blocks.psi[blocks.pair][:, 0]), np.abs(expected), atol=1e-6)
    assert [finding.message for finding in featurizer.findings] == [
        "label_0 is missing in 40 of the log's 120 rows; it is learned from the others."
    ]


def test_a_label_that_never_varies_is_left_out_and_reported():
    study = with_log(make(labels=2), label_1=[0.3] * 60)
    featurizer, blocks = replace(SMALL, surface=False).fit_transform_log(study.log)
    assert blocks.psi.shape[1] == 1
    assert [finding.check for finding in featurizer.findings] == ["labels"]
    assert "label_1 never varies" in featurizer.findings[0].message


def test_texts_beyond_the_limit_are_counted_in_a_finding():
    long = "word " * (MAX_TEXT // 5 + 1)
    study = with_log(make(n=8), output=["short"] * 6 + [long, long])
    (finding,) = truncation_findings(study)
    assert finding.verdict == "warn"
    assert finding.message.endswith("only up to there: 1 in the log.")


@pytest.mark.parametrize(
    ("source", "arguments", "advice"),
    [("text", {"features": 1, "text": False}, "--features columns"), ("columns", {}, "--features text")],
)
def test_asking_for_what_the_study_lacks_says_what_to_use_instead(source, arguments, advice):
    with pytest.raises(UsageError, match=advice):
        replace(SMALL, source=source).fit(make(**arguments).log)


@pytest.mark.parametrize(
    "wrong",
    [{"source": "words"}, {"components": 0}, {"buckets": 0}, {"buckets": 2**31}, {"label_penalty": float("nan")}],
)
def test_impossible_hyperparameters_are_refused(wrong):
    with pytest.raises(UsageError, match="must be"):
        replace(SMALL, **wrong)


def test_a_log_without_rows_is_too_little_evidence():
    study = make()
    with pytest.raises(EvidenceError, match="no rows"):
        SMALL.fit(replace(study.log, table=study.log.table.slice(0, 0)))


def test_tables_without_what_the_features_need_are_refused():
    featurizer = replace(SMALL, source="both").fit(make(features=1).log)
    row = {"context": ["a"], "output": ["b"], "feature_0": [1.0]}
    with pytest.raises(UsageError, match="output"):
        featurizer.blocks(pa.table({"context": ["a"], "feature_0": [1.0]}))
    with pytest.raises(DataError, match="row 1: there is no output"):
        featurizer.blocks(pa.table(row | {"output": pa.array([None], pa.string())}))
    with pytest.raises(DataError, match="row 1: feature_0 is not a finite number"):
        featurizer.blocks(pa.table(row | {"feature_0": [float("nan")]}))


def test_files_that_are_no_featurizer_are_refused_with_advice(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        Featurizer.load(tmp_path)
    SMALL.fit(make().log).save(tmp_path)
    good = json.loads((tmp_path / "featurizer.json").read_text())
    for wrong, message in (
        (good | {"schema": 99}, "schema is 99"),
        (good | {"surface": ["length"]}, "another version"),
        (good | {"spec": {"bucket": 1}}, "not a saved featurizer"),
        ([], "not a saved featurizer"),
    ):
        (tmp_path / "featurizer.json").write_text(json.dumps(wrong))
        with pytest.raises(DataError, match=message):
            Featurizer.load(tmp_path)
    (tmp_path / "featurizer.json").write_text(json.dumps(good))
    (tmp_path / "featurizer.npz").write_bytes(b"PK broken")
    with pytest.raises(DataError, match="not a saved featurizer"):
        Featurizer.load(tmp_path)
