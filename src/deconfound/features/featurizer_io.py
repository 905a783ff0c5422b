"""Save and load a featurizer: JSON for the settings that people read, npz for the arrays."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.array_archive import arrays_from_bytes, arrays_to_bytes
from deconfound.bundle import Bundle, BundlePath, load_bundle, save_bundle
from deconfound.errors import UsageError
from deconfound.features.blocks import Scaling
from deconfound.features.distinct_rows import BlockLayout
from deconfound.features.featurizer import FeatureSpec, Featurizer
from deconfound.features.proxy import ProxyMap
from deconfound.features.surface import SURFACE_STATISTICS
from deconfound.findings import finding_from_document, finding_to_document

SCHEMA = 3
ARRAYS = "arrays.npz"
KNOWN_ARRAYS = (
    *(f"{prefix}{name}" for prefix in ("", "modifier_") for name in ("mean", "sd", "weight")),
    *(f"proxy_{name}" for name in ("rows", "coef", "intercept", "size")),
)
MAX_GB = 4.0  # of a proxy map in memory
_STATISTICS = [name for name, _ in SURFACE_STATISTICS]


def save_featurizer(featurizer: Featurizer, directory: Path | str, *, overwrite: bool = False) -> None:
    """Write ``featurizer.json`` and its arrays; the same featurizer gives the same bytes.

    A saved featurizer in the folder is replaced; another file of that name only with ``overwrite``.
    """
    save_bundle(_bundle_path(Path(directory)), featurizer_to_bundle(featurizer), overwrite=overwrite)


def load_featurizer(directory: Path | str) -> Featurizer:
    """Read what ``save_featurizer`` wrote; damaged files and those of another version raise."""
    path = _bundle_path(Path(directory))
    return featurizer_from_bundle(load_bundle(path, (ARRAYS,)), path)


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
        featurizer = _from_arrays(bundle.document, arrays_from_bytes(bundle.parts[ARRAYS], KNOWN_ARRAYS))
        _check_shapes(featurizer)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, UsageError) as error:
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
    for name, array in arrays.items():
        is_index = name in ("proxy_rows", "proxy_size")
        if array.dtype.kind not in ("iu" if is_index else "f") or not np.isfinite(array).all():
            raise ValueError(f"{name} has other entries than finite numbers")
    spec, layout = FeatureSpec(**document["spec"]), _read_layout(document["layout"])
    if layout.buckets not in (0, spec.buckets):
        raise ValueError(f"layout has {layout.buckets} buckets")
    return Featurizer(
        spec=spec,
        layout=layout,
        scaling=Scaling(arrays["mean"], arrays["sd"], arrays["weight"]) if "mean" in arrays else None,
        modifier_scaling=Scaling(arrays["modifier_mean"], arrays["modifier_sd"], arrays["modifier_weight"]),
        proxy=_read_proxy(arrays, layout.buckets + sum(layout.block_widths)) if "proxy_coef" in arrays else None,
        findings=tuple(finding_from_document(finding) for finding in document["findings"]),
    )


def _read_layout(stored: dict[str, Any]) -> BlockLayout:
    layout = BlockLayout(stored["buckets"], stored["surface"], tuple(stored["columns"]))
    if type(layout.buckets) is not int or type(layout.surface) is not bool:
        raise TypeError("layout has other types")
    if not all(isinstance(name, str) for name in layout.columns):
        raise TypeError("a column's name is no text")
    return layout


def _read_proxy(arrays: dict[str, Any], size: int) -> ProxyMap:
    """The map for this number of features; they are compared before memory is taken for it."""
    rows, used = arrays["proxy_rows"], arrays["proxy_coef"]
    if used.ndim != 2 or rows.shape != used.shape[:1] or int(arrays["proxy_size"]) != size:
        raise ValueError(f"the proxy map has the shape {used.shape} for {size} features")
    if 8 * size * used.shape[1] > MAX_GB * 1e9:
        raise ValueError(f"the proxy map needs more than {MAX_GB:g} GB")
    if len(rows) and not (rows.min() >= 0 and rows.max() < size and len(np.unique(rows)) == len(rows)):
        raise ValueError("rows of the proxy map are out of order")
    coef = np.zeros((size, used.shape[1]))
    coef[rows] = used
    return ProxyMap(coef, arrays["proxy_intercept"])


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
        if (one.sd < 0).any() or (one.weight < 0).any():
            raise ValueError("a scaling is negative")
    if proxy is not None and proxy.coef.shape != (layout.buckets + dense, *proxy.intercept.shape):
        raise ValueError(f"the proxy map has the shape {proxy.coef.shape}")
