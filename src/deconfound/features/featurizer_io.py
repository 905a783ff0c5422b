"""Save and load a featurizer: JSON for the settings that people read, npz for the arrays."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.errors import DataError, Problem
from deconfound.escaping import escape_json
from deconfound.features.blocks import Scaling
from deconfound.features.distinct_rows import BlockLayout
from deconfound.features.featurizer import FeatureSpec, Featurizer
from deconfound.features.proxy import ProxyMap
from deconfound.features.surface import SURFACE_STATISTICS
from deconfound.findings import finding_from_document, finding_to_document

SCHEMA = 3
_STATISTICS = [name for name, _ in SURFACE_STATISTICS]


def save_featurizer(featurizer: Featurizer, directory: Path | str) -> None:
    """Write ``featurizer.json`` and ``featurizer.npz``; the same featurizer gives the same bytes."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    document = {
        "schema": SCHEMA,
        "spec": asdict(featurizer.spec),
        "layout": asdict(featurizer.layout),
        "surface": _STATISTICS,
        "psi_source": featurizer.psi_source,
        "findings": [finding_to_document(finding) for finding in featurizer.findings],
    }
    text = escape_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
    (directory / "featurizer.json").write_text(text, encoding="utf-8")
    np.savez(directory / "featurizer.npz", **_to_arrays(featurizer))


def load_featurizer(directory: Path | str) -> Featurizer:
    """Read what ``save_featurizer`` wrote; damaged files and those of another version raise."""
    where = Path(directory) / "featurizer.json"
    try:
        document = json.loads(where.read_text(encoding="utf-8"))
        _check_version(document, where)
        with (where.parent / "featurizer.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return _from_arrays(document, {name: arrays[name] for name in arrays.files})
    except FileNotFoundError as error:
        raise _unusable(Path(error.filename), "no such file") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise _unusable(where, f"it is not a saved featurizer ({type(error).__name__}: {error})") from error


def _to_arrays(featurizer: Featurizer) -> dict[str, Any]:
    arrays: dict[str, Any] = _scaling_arrays("modifier_", featurizer.modifier_scaling)
    if featurizer.scaling is not None:
        arrays |= _scaling_arrays("", featurizer.scaling)
    if featurizer.proxy is not None:
        coef = featurizer.proxy.coef
        # Most buckets are empty in the log and have no coefficient.
        used = np.flatnonzero(coef.any(axis=1))
        arrays |= {"proxy_rows": used, "proxy_coef": coef[used], "proxy_intercept": featurizer.proxy.intercept}
        arrays |= {"proxy_size": np.array(len(coef))}
    return arrays


def _scaling_arrays(prefix: str, scaling: Scaling) -> dict[str, Any]:
    return {f"{prefix}mean": scaling.mean, f"{prefix}sd": scaling.sd, f"{prefix}weight": scaling.weight}


def _from_arrays(document: dict[str, Any], arrays: dict[str, Any]) -> Featurizer:
    layout = document["layout"]
    scaling = Scaling(arrays["mean"], arrays["sd"], arrays["weight"]) if "mean" in arrays else None
    proxy = None
    if "proxy_coef" in arrays:
        coef = np.zeros((int(arrays["proxy_size"]), arrays["proxy_coef"].shape[1]))
        coef[arrays["proxy_rows"]] = arrays["proxy_coef"]
        proxy = ProxyMap(coef, arrays["proxy_intercept"])
    return Featurizer(
        spec=FeatureSpec(**document["spec"]),
        layout=BlockLayout(layout["buckets"], layout["surface"], tuple(layout["columns"])),
        scaling=scaling,
        modifier_scaling=Scaling(arrays["modifier_mean"], arrays["modifier_sd"], arrays["modifier_weight"]),
        proxy=proxy,
        findings=tuple(finding_from_document(finding) for finding in document["findings"]),
    )


def _check_version(document: dict[str, Any], where: Path) -> None:
    if document["schema"] != SCHEMA:
        raise _unusable(where, f"its schema is {document['schema']}; this version reads {SCHEMA}")
    if document["layout"]["surface"] and document["surface"] != _STATISTICS:
        raise _unusable(where, "its surface statistics are those of another version")


def _unusable(where: Path, what: str) -> DataError:
    return DataError([Problem(str(where), what, "Run evaluate again to create a new one.")])
