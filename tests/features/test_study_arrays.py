"""Tables become arrays: equal log rows merged, the experiment in a fixed order, the replay by cell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.design import UNKNOWN_MODEL
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import ReplayArrays, StudyArrays
from deconfound.words.word_splitting import MAX_CHARACTERS

SPEC = FeatureSpec(buckets=64)


def table(rows: list[tuple[str, str, str]], outcome: list[float] | None = None, **more: list[object]) -> pa.Table:
    columns = dict(zip(("context", "model", "output"), map(list, zip(*rows, strict=True)), strict=True))
    columns["context_id"] = columns["context"]
    return pa.table({**columns, **({} if outcome is None else {"outcome": outcome}), **more})


LOG = [("c1", "a", "x"), ("c1", "a", "x"), ("c1", "b", "x"), ("c2", "b", "y"), ("c2", "z", "w")]
EXPERIMENT = [("c1", "a", "p"), ("c2", "b", "q"), ("c1", "b", "r"), ("c2", "a", "s")]
REPLAY = [("c1", "a", "p"), ("c1", "a", "p2"), ("c1", "b", "r"), ("c2", "a", "s"), ("c2", "b", "q"), ("c3", "b", "q")]


def load(experiment: pa.Table | None = None, **changes: object) -> dc.Study:
    tables = {
        "log": table(LOG, [1.0, 0.0, 0.5, 0.2, 0.3]),
        "experiment": table(EXPERIMENT, [0.1, 0.2, 0.3, 0.4]) if experiment is None else experiment,
        "replay": table(REPLAY),
    }
    return dc.load(**{**tables, **changes})


def arrays(study: dc.Study) -> StudyArrays:
    return StudyArrays.from_study(study, SPEC)


def test_equal_log_rows_are_merged_and_lose_their_model_where_it_differs() -> None:
    log = arrays(load()).log
    np.testing.assert_allclose(log.weight, [3, 1, 1])
    np.testing.assert_allclose(log.outcome, [0.5, 0.2, 0.3])
    assert log.model.tolist() == [UNKNOWN_MODEL, 1, 2]
    assert log.context[1] == log.context[2] != log.context[0]


def test_rows_at_a_share_have_the_columns_of_the_arrays() -> None:
    study = arrays(load())
    log, experiment = study.log_rows(0.5), study.experiment_rows(0.5)
    assert len(log) == 3
    np.testing.assert_array_equal(log.weight_or_ones, study.log.weight)
    np.testing.assert_array_equal(experiment.require_outcome(), study.experiment.outcome)
    assert experiment.phi.shape == (4, log.phi.shape[1])
    assert study.has_surface_share
    assert not StudyArrays.from_study(load(), FeatureSpec(buckets=64, surface=False)).has_surface_share


def test_neither_the_order_of_the_file_nor_the_names_of_models_change_the_experiment() -> None:
    before = arrays(load().in_content_order())
    order = [2, 0, 3, 1]
    shuffled = table([EXPERIMENT[i] for i in order], [[0.1, 0.2, 0.3, 0.4][i] for i in order])
    after = arrays(load(shuffled).in_content_order())
    for name in ("outcome", "model", "context", "cluster", "propensity", "fold_group"):
        np.testing.assert_array_equal(getattr(before.experiment, name), getattr(after.experiment, name))
    phi = [study.experiment_rows(0.5).phi for study in (before, after)]
    np.testing.assert_array_equal(phi[0].toarray(), phi[1].toarray())


def test_without_declared_propensities_every_model_that_occurs_is_equally_likely() -> None:
    np.testing.assert_allclose(arrays(load()).experiment.propensity, 1 / 2)
    third = table([*EXPERIMENT, ("c1", "z", "t")], [0.1, 0.2, 0.3, 0.4, 0.5])
    np.testing.assert_allclose(arrays(load(third, models=["a", "b"])).experiment.propensity, 1 / 3)
    declared = table(EXPERIMENT, [0.1, 0.2, 0.3, 0.4], propensity=[0.5, 0.4, 0.5, 0.6])
    assert sorted(arrays(load(declared)).experiment.propensity) == [0.4, 0.5, 0.5, 0.6]


def test_rows_of_one_person_or_one_context_are_one_fold_group() -> None:
    people = table(EXPERIMENT, [0.1, 0.2, 0.3, 0.4], cluster=["u", "v", "w", "x"])
    experiment = arrays(load(people)).experiment
    assert len(set(experiment.cluster)) == 4
    np.testing.assert_array_equal(
        experiment.fold_group[:, None] == experiment.fold_group, experiment.context[:, None] == experiment.context
    )


def test_the_replay_counts_draws_by_context_and_model() -> None:
    study = arrays(load())
    replay = study.replay
    assert replay.rows(0.5) is replay.rows(0.5)
    assert replay.contexts == ("c1", "c2", "c3")
    np.testing.assert_array_equal(replay.rows(0.5).draw_counts(), [[2, 1], [1, 1], [0, 1]])


def test_a_later_replay_is_encoded_with_the_studys_models() -> None:
    study = load()
    later = dc.Replay(study.replay.arrow, "later")
    only_b = ReplayArrays.from_replay(later, ("b",), arrays(study).featurizer)
    assert only_b.n_models == 1
    assert only_b.rows(0.0).draw_counts().tolist() == [[1.0]] * 3


def test_texts_longer_than_what_is_read_are_a_finding_of_the_study() -> None:
    long = "word " * (MAX_CHARACTERS // 5 + 1)
    study = load(replay=table([*REPLAY[:-1], ("c3", "b", long)]))
    (finding,) = arrays(study).featurizer.findings
    assert finding.check == "long texts"
    assert finding.verdict == "warn"
    assert arrays(load()).featurizer.findings == ()


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_outside_the_unit_interval_is_rejected(share: float) -> None:
    with pytest.raises(dc.UsageError, match="surface_share"):
        arrays(load()).log_rows(share)
