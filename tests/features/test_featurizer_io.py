"""Saved featurizers: the same bits after loading, the same bytes on disk, advice for files that cannot be used."""

from __future__ import annotations

import json

import pytest

from deconfound.errors import DataError
from deconfound.features import load_featurizer, save_featurizer
from tests.support.feature_studies import KINDS, SMALL, assert_same_bits, make_log, make_study


@pytest.mark.parametrize("name", KINDS)
def test_a_reloaded_featurizer_gives_the_same_bits(name, tmp_path):
    spec, arguments = KINDS[name]
    study = make_study(**arguments)
    featurizer = spec.fit(study.log)
    save_featurizer(featurizer, tmp_path / "new" / "folder")
    loaded = load_featurizer(tmp_path / "new" / "folder")
    assert_same_bits(featurizer.blocks(study.replay.arrow), loaded.blocks(study.replay.arrow))
    assert loaded.psi_source == featurizer.psi_source
    assert loaded.findings == featurizer.findings
    assert (loaded.spec, loaded.layout) == (featurizer.spec, featurizer.layout)


def test_saving_twice_writes_the_same_bytes(tmp_path):
    log = make_log(labels=3)
    for name in ("one", "two"):
        save_featurizer(SMALL.fit(log), tmp_path / name)
    for file in ("featurizer.json", "featurizer.npz"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_files_that_are_not_a_featurizer_are_refused_with_advice(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        load_featurizer(tmp_path)
    save_featurizer(SMALL.fit(make_log()), tmp_path)
    good = json.loads((tmp_path / "featurizer.json").read_text())
    for wrong, message in (
        (good | {"schema": 99}, "schema is 99"),
        (good | {"surface": ["length"]}, "another version"),
        (good | {"spec": {"bucket": 1}}, "not a saved featurizer"),
        ([], "not a saved featurizer"),
    ):
        (tmp_path / "featurizer.json").write_text(json.dumps(wrong))
        with pytest.raises(DataError, match=message):
            load_featurizer(tmp_path)
    (tmp_path / "featurizer.json").write_text(json.dumps(good))
    (tmp_path / "featurizer.npz").write_bytes(b"PK broken")
    with pytest.raises(DataError, match="not a saved featurizer"):
        load_featurizer(tmp_path)
