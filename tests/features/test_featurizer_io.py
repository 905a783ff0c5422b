"""Saved featurizers: the same bits after loading, the same bytes on disk, advice for files that cannot be used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deconfound.bundle import BundlePath, load_bundle, save_bundle
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
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    assert len(one) == 2


def test_files_that_are_not_a_featurizer_are_refused_with_advice(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        load_featurizer(tmp_path)
    save_featurizer(SMALL.fit(make_log()), tmp_path)
    path = BundlePath(tmp_path, "featurizer", "Run evaluate again.")
    good = load_bundle(path, ("arrays.npz",))
    for wrong, message in (
        ({"schema": 99}, "schema is 99"),
        ({"surface": ["length"]}, "another version"),
        ({"spec": {"bucket": 1}}, "not a saved featurizer"),
        ({"layout": {"buckets": 4, "surface": False, "columns": []}}, "not a saved featurizer .*buckets"),
    ):
        save_bundle(path, replace(good, document=good.document | wrong))
        with pytest.raises(DataError, match=message):
            load_featurizer(tmp_path)
    save_bundle(path, replace(good, parts={"arrays.npz": b"PK broken"}))
    with pytest.raises(DataError, match="not a saved featurizer"):
        load_featurizer(tmp_path)


def test_changed_files_are_refused(tmp_path):
    save_featurizer(SMALL.fit(make_log()), tmp_path)
    index = tmp_path / "featurizer.json"
    good = index.read_bytes()
    for wrong, message in (
        (b"[]", "not a file that deconfound saved"),
        (good[:-30], "damaged"),
        (good.replace(b'"schema": 3', b'"schema": 4'), "changed after"),
        (b"{}", "has no checksums"),
    ):
        index.write_bytes(wrong)
        with pytest.raises(DataError, match=message):
            load_featurizer(tmp_path)
    index.write_bytes(good)
    (arrays,) = tmp_path.glob("*.npz")
    arrays.write_bytes(arrays.read_bytes().replace(b"\x00", b"\x01", 1))
    with pytest.raises(DataError, match=r"not the file that featurizer\.json was saved with"):
        load_featurizer(tmp_path)
