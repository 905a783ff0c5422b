"""Saved results of someone who knows the format and its checksums: refused as damaged, at once and without numbers."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

import deconfound as dc
from deconfound.array_archive import arrays_from_bytes, arrays_to_bytes
from deconfound.bundle import Bundle, _document_digest, load_bundle, save_bundle
from deconfound.cli import main
from deconfound.features.featurizer_io import KNOWN_ARRAYS
from deconfound.report.persistence import FEATURIZER, REWARD, result_path
from deconfound.report.policy_checks import PER_FIT, POLICY_ARRAYS
from tests.support.results import demo_result

Arrays = dict[str, Any]
HUGE = 10**400


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """What is saved of a result of `auto`, with labels and calibration."""
    folder = tmp_path_factory.mktemp("auto")
    demo_result().save(folder)
    return load_bundle(result_path(folder), (REWARD, FEATURIZER))


def is_refused(bundle: Bundle, folder: Path) -> str:
    """The message; the refusal takes less than ten seconds on any machine."""
    save_bundle(result_path(folder), bundle)
    start = time.monotonic()
    with pytest.raises(dc.DataError) as refusal:
        dc.Result.load(folder)
    assert time.monotonic() - start < 10
    return str(refusal.value)


def put(document: dict[str, Any], place: str, value: object) -> None:
    *above, last = place.split(".")
    at: Any = document
    for key in above:
        at = at[int(key) if key.isdecimal() else key]
    at[int(last) if last.isdecimal() else last] = value


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("reading", None),
        ("reading", {"columns": {}}),
        ("reading.where", []),
        ("reading.columns", [1, 2]),
        ("reading.columns", None),
        ("reading.columns", {"context": 7}),
        ("reading.columns", {"context": ["x"]}),
        ("reading.columns", {"context": ""}),
        ("reading.columns", {"nonsense": "context"}),
        ("reading.rename_models", ["oak"]),
        ("reading.rename_models", {"oak": 7}),
        ("reading.rename_models", {"oak": ""}),
        ("reading.rename_models", {"oak": None}),
        ("reading.ignore", "time"),
        ("reading.ignore", [7]),
        ("reading.ignore", [""]),
        ("reading.normalize_contexts", 1),
        ("reading.ignore", ["replay.model"]),
        ("reading.ignore", ["time"] * 100_001),
        ("level", 5),
        ("level", -1.0),
        ("level", HUGE),
        ("level", True),
        ("seed", -5),
        ("seed", HUGE),
        ("models", ["oak"] * 8),
        ("models.0", ""),
        ("values.estimate.0", 7.0),
        ("values.estimate.0", -3.0),
        ("values.estimate.0", HUGE),
        ("values.estimate.0", "0.5"),
        ("values.estimate.0", True),
        ("values.estimate.0", None),
        ("direct.estimate", []),
        ("experiment.covariance.0.0", -1.0),
        ("values.covariance.0.1", 9.0),
        ("values.covariance.0.1", None),
        ("values.covariance.0", [0.1]),
        ("values.df.0", -1.0),
        ("values.df.0", 1e308),
        ("values.covariance.0.0", 1e308),
        ("counts.log.rows", 10**19),
        ("values.difference_df_limit", HUGE),
        ("counts.log.rows", -4),
        ("counts.log.rows", HUGE),
        ("counts.log.rows", "4"),
        ("outcome_range", [-1.7e308, 1.7e308]),
        ("outcome_range", [0, HUGE]),
        ("outcome_range", ["0", "1"]),
        ("outcome_range", [0, True]),
        ("outcome_range", [1, 1]),
        ("outcome_unit", 7),
        ("outcome_unit", "x" * 1_000),
        ("not_finite", [[["values", "estimate", 0], "nan"]]),
        ("not_finite", [[["level"], "nan"]]),
        ("not_finite", [[[], "inf"]]),
        ("not_finite", [[["values", "estimate", 0], "1e5"]]),
        ("family.surface_share", 7.0),
        ("family.surface_share", "x"),
        ("recommendations.0.q", 3.0),
        ("recommendations.0.q", True),
        ("recommendations.0.model", "nobody"),
        ("recommendations.0.margin", HUGE),
        ("recommendations.0.error_probability_bound", -0.5),
        ("featurizer.layout.buckets", 2**40),
        ("featurizer.layout.buckets", 2**30),
        ("featurizer.layout.surface", "yes"),
        ("featurizer.layout.columns", [3]),
        ("featurizer.spec.buckets", 2**40),
        ("findings.0.details", {"type": "Notice", "message": 4}),
    ],
)
def test_a_document_that_no_evaluation_writes_is_damaged(original, tmp_path, place, value):
    document = json.loads(json.dumps(original.document))
    put(document, place, value)
    assert "it is not a saved" in is_refused(Bundle(document, original.parts), tmp_path)


def test_many_copies_of_findings_are_refused_at_once(original, tmp_path):
    copies = {**original.document, "findings": original.document["findings"] * 1_000}
    assert "findings" in is_refused(Bundle(copies, original.parts), tmp_path)


def change(name: str, how: Callable[[Any], Any]) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.__setitem__(name, how(arrays[name]))


REWARD_CHANGES: dict[str, Callable[[Arrays], None]] = {
    "nan": change("phi_coef", lambda a: a * np.nan),
    "huge": change("phi_coef", lambda a: a + 1e300),
    "complex": change("psi", lambda a: a + 1j),
    "text": change("psi", lambda a: a.astype("U")),
    "infinite intercept": change("intercept", lambda a: a + np.inf),
    "negative covariance": change("covariance", lambda a: -a),
    "nan covariance": change("covariance", lambda a: a * np.nan),
    "infinite covariance": change("covariance", lambda a: a + np.inf),
    "negative variance": change("calibration_draw_variance", lambda a: -1 - a),
    "no df": change("calibration_df", lambda a: 0 * a),
    "slope": change("calibration_slope", lambda a: a + 5),
    "no fits": lambda arrays: arrays.update({name: arrays[name][:0] for name in PER_FIT if name in arrays}),
    "out of bounds": change("phi_used", lambda a: a + 2**20),
    "negative places": change("phi_used", lambda a: -1 - a),
    "repeated places": change("phi_used", lambda a: 0 * a),
    "absurd size": change("phi_size", lambda _: np.array(2**45)),
    "negative size": change("phi_size", lambda _: np.array(-1)),
    "another size": change("phi_size", lambda _: np.array(2**26)),
    "nan cost": lambda arrays: arrays.update(cost=np.full(len(arrays["covariance"]), np.nan)),
    "basis": change("basis", lambda _: np.array("evil")),
    "five variances": change("calibration_context_variance", lambda _: np.zeros(5)),
    "unknown array": lambda arrays: arrays.update(junk=np.zeros(3)),
    "missing array": lambda arrays: arrays.__delitem__("covariance"),
}
FEATURIZER_CHANGES: dict[str, Callable[[Arrays], None]] = {
    "nan mean": change("mean", lambda a: a * np.nan),
    "negative sd": change("sd", lambda a: -1 - a),
    "text": change("modifier_mean", lambda a: a.astype("U")),
    "absurd proxy": lambda arrays: arrays.update(
        proxy_coef=np.zeros((1, 1)), proxy_rows=np.array([0]), proxy_intercept=np.zeros(1), proxy_size=np.array(2**33)
    ),
    "unknown array": lambda arrays: arrays.update(junk=np.zeros(3)),
}


@pytest.mark.parametrize(
    ("part", "kind"), [*((REWARD, kind) for kind in REWARD_CHANGES), *((FEATURIZER, k) for k in FEATURIZER_CHANGES)]
)
def test_arrays_that_no_evaluation_writes_are_damage(original, tmp_path, part, kind):
    known, changes = (POLICY_ARRAYS, REWARD_CHANGES) if part == REWARD else (KNOWN_ARRAYS, FEATURIZER_CHANGES)
    arrays = arrays_from_bytes(original.parts[part], known)
    changes[kind](arrays)
    parts = {**original.parts, part: arrays_to_bytes(arrays)}
    assert "it is not a saved" in is_refused(Bundle(original.document, parts), tmp_path)


def header(shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["compressed", "false header", "object"])
def test_arrays_that_would_grow_are_not_read(original, tmp_path, kind):
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(original.parts[REWARD])) as source, zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            if name != "intercept.npy":
                target.writestr(name, source.read(name))
        if kind == "compressed":
            content = header((10_000_000,)) + bytes(80_000_000)
            target.writestr("intercept.npy", content, compress_type=zipfile.ZIP_DEFLATED)
        elif kind == "false header":
            target.writestr("intercept.npy", header((2**40,)) + bytes(8))
        else:
            array = io.BytesIO()
            np.save(array, np.array([None]), allow_pickle=True)
            target.writestr("intercept.npy", array.getvalue())
    assert "not a saved result" in is_refused(
        Bundle(original.document, {**original.parts, REWARD: stream.getvalue()}), tmp_path
    )


@pytest.mark.parametrize("entry", [{"file": "a\0b", "sha256": ""}, {"file": 3}, 7, None])
@pytest.mark.parametrize("name", [REWARD, "x", "a.b.c"])
def test_names_of_parts_that_cannot_be_are_damage(saved, study, capsys, entry, name):
    index = saved / "result.json"
    stored = json.loads(index.read_text())
    del stored["sha256"]
    stored["parts"][name] = entry
    index.write_text(json.dumps({**stored, "sha256": _document_digest(stored)}))
    assert main(["recommend", str(saved), "--replay", str(study / "replay.parquet")]) == 1
    assert "result.json: it " in capsys.readouterr().err
    demo_result("exp-only").save(saved)  # it is ours, so it is replaced
    assert dc.Result.load(saved).models


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_damage(saved, number):
    index = saved / "result.json"
    stored = json.loads(index.read_text())
    del stored["sha256"]
    stored["level"] = float(number.replace("1e999", "inf"))
    text = json.dumps({**stored, "sha256": _document_digest(stored)})
    index.write_text(text.replace('"level": Infinity', f'"level": {number}', 1))
    with pytest.raises(dc.DataError, match="damaged"):
        dc.Result.load(saved)
