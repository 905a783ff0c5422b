"""A featurizer on disk: JSON for what a person may want to read, npz for the arrays."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.errors import DataError, Problem
from deconfound.features.featurizer import FeatureSpec, Featurizer
from deconfound.features.proxy import Proxy
from deconfound.features.raw import Shape
from deconfound.features.scaling import Scaling
from deconfound.features.surface import SURFACE
from deconfound.findings import finding_from_document, finding_to_document

SCHEMA = 1
_NAMES = [name for name, _ in SURFACE]


def save(featurizer: Featurizer, directory: Path) -> None:
    """Write both files; the same featurizer gives the same bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    document = {
        "schema": SCHEMA,
        "spec": asdict(featurizer.spec),
        "shape": asdict(featurizer.shape),
        "surface": _NAMES,
        "psi_source": featurizer.psi_source,
        "findings": [finding_to_document(finding) for finding in featurizer.findings],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    (directory / "featurizer.json").write_text(text, encoding="utf-8")
    np.savez(directory / "featurizer.npz", **_arrays(featurizer))


def load(directory: Path) -> Featurizer:
    """Read both files, or say why they cannot be used."""
    where = directory / "featurizer.json"
    try:
        document = json.loads(where.read_text(encoding="utf-8"))
        _check(document, where)
        with (directory / "featurizer.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return _featurizer(document, {name: arrays[name] for name in arrays.files})
    except FileNotFoundError as error:
        raise _unusable(Path(error.filename), "there is no such file") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise _unusable(where, f"it is not a saved featurizer ({type(error).__name__}: {error})") from error


def _arrays(featurizer: Featurizer) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    if featurizer.scaling is not None:
        scaling = featurizer.scaling
        arrays |= {"mean": scaling.mean, "spread": scaling.spread, "weight": scaling.weight}
    if featurizer.proxy is not None:
        coef = featurizer.proxy.coef
        # Buckets that the log never filled have no coefficient; most are of that kind.
        used = np.flatnonzero(coef.any(axis=1))
        arrays |= {"proxy_rows": used, "proxy_coef": coef[used], "proxy_intercept": featurizer.proxy.intercept}
        arrays |= {"proxy_size": np.array(len(coef))}
    return arrays


def _featurizer(document: dict[str, Any], arrays: dict[str, Any]) -> Featurizer:
    shape = document["shape"]
    scaling = Scaling(arrays["mean"], arrays["spread"], arrays["weight"]) if "mean" in arrays else None
    proxy = None
    if "proxy_coef" in arrays:
        coef = np.zeros((int(arrays["proxy_size"]), arrays["proxy_coef"].shape[1]))
        coef[arrays["proxy_rows"]] = arrays["proxy_coef"]
        proxy = Proxy(coef, arrays["proxy_intercept"])
    return Featurizer(
        spec=FeatureSpec(**document["spec"]),
        shape=Shape(shape["buckets"], shape["surface"], tuple(shape["columns"])),
        scaling=scaling,
        proxy=proxy,
        findings=tuple(finding_from_document(finding) for finding in document["findings"]),
    )


def _check(document: dict[str, Any], where: Path) -> None:
    if document["schema"] != SCHEMA:
        raise _unusable(where, f"its schema is {document['schema']} and this version reads {SCHEMA}")
    if document["shape"]["surface"] and document["surface"] != _NAMES:
        raise _unusable(where, "its surface statistics are those of another version")


def _unusable(where: Path, what: str) -> DataError:
    return DataError([Problem(str(where), what, "Run evaluate again to make a new one.")])
