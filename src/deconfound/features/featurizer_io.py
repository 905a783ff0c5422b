"""Save and load a featurizer: JSON for the settings that people read, npz for the arrays."""

from __future__ import annotations

import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.bundle import Bundle, BundlePath, arrays_from_bytes, arrays_to_bytes, load_bundle, save_bundle
from deconfound.features.blocks import Scaling
from deconfound.features.distinct_rows import BlockLayout
from deconfound.features.featurizer import FeatureSpec, Featurizer
from deconfound.features.proxy import ProxyMap
from deconfound.features.surface import SURFACE_STATISTICS
from deconfound.findings import finding_from_document, finding_to_document

SCHEMA = 3
ARRAYS = "arrays.npz"
_STATISTICS = [name for name, _ in SURFACE_STATISTICS]


def save_featurizer(featurizer: Featurizer, directory: Path | str, *, overwrite: bool = False) -> None:
    """Write ``featurizer.json`` and its arrays; the same featurizer gives the same bytes.

    A saved featurizer in the folder is replaced; another file of that name only with ``overwrite``.
    """
    save_bundle(_bundle_path(Path(directory)), featurizer_to_bundle(featurizer), overwrite=overwrite)


def load_featurizer(directory: Path | str) -> Featurizer:
    """Read what ``save_featurizer`` wrote; damaged files and those of another version raise."""
    path = _bundle_path(Path(directory))
    return featurizer_from_bundle(load_bundle(path), path)


def featurizer_to_bundle(featurizer: Featurizer) -> Bundle:
    """The settings as a document, and one part with the arrays."""
    document = {
        "schema": SCHEMA,
        "spec": asdict(featurizer.spec),
        "layout": asdict(featurizer.layout),
        "surface": _STATISTICS,
        "psi_source": featurizer.psi_source,
        "findings": [finding_to_document(finding) for finding in featurizer.findings],
    }
    return Bundle(document, {ARRAYS: arrays_to_bytes(_to_arrays(featurizer))})


def featurizer_from_bundle(bundle: Bundle, path: BundlePath) -> Featurizer:
    """The inverse of ``featurizer_to_bundle``; errors name the document of ``path``."""
    try:
        _check_version(bundle.document, path)
        featurizer = _from_arrays(bundle.document, arrays_from_bytes(bundle.parts[ARRAYS]))
        _check_shapes(featurizer)
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        what = f"it is not a saved featurizer ({type(error).__name__}: {error})"
        raise path.unusable(path.index, what) from error
    return featurizer


def _bundle_path(directory: Path) -> BundlePath:
    return BundlePath(directory, "featurizer", "Run evaluate again to create a new one.")


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


def _check_version(document: dict[str, Any], path: BundlePath) -> None:
    if document["schema"] != SCHEMA:
        raise path.unusable(path.index, f"its schema is {document['schema']}; this version reads {SCHEMA}")
    if document["layout"]["surface"] and document["surface"] != _STATISTICS:
        raise path.unusable(path.index, "its surface statistics are those of another version")


def _check_shapes(featurizer: Featurizer) -> None:
    layout, scaling, proxy = featurizer.layout, featurizer.scaling, featurizer.proxy
    dense = sum(layout.block_widths)
    scalings = [(featurizer.modifier_scaling, sum(layout.modifier_widths))]
    scalings += [] if scaling is None else [(scaling, dense)]
    for one, width in scalings:
        if not one.mean.shape == one.sd.shape == one.weight.shape == (width,):
            raise ValueError(f"a scaling of {width} columns has other shapes")
    if proxy is not None and proxy.coef.shape != (layout.buckets + dense, *proxy.intercept.shape):
        raise ValueError(f"the proxy map has the shape {proxy.coef.shape}")
