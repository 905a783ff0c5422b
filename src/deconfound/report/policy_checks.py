"""Check the arrays of a saved policy before a policy is made of them: kinds, shapes, memory and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_args

import numpy as np

from deconfound.decide.calibration import Calibration
from deconfound.report.plausibility import check_covariance, require_within
from deconfound.reward import Basis

SPARSE = ("phi", "baseline")  # stored as the places and values of their entries
PER_FIT = ("intercept", "baseline_weight", "psi", "model_effect", "modifier_coef", "phi_coef")
CALIBRATION = tuple(f"calibration_{field.name}" for field in fields(Calibration))
INDICES = tuple(f"{name}_{part}" for name in SPARSE for part in ("used", "size"))
POLICY_ARRAYS = frozenset(
    (*PER_FIT, *CALIBRATION, *INDICES, "baseline_coef", "baseline_intercept", "basis", "covariance", "cost")
)
MAYBE_INFINITE = ("covariance", "calibration_slope_standard_error", "calibration_df")
MAX_COEFFICIENT = 1e9  # outcomes lie in [0, 1] and features have about unit length
MAX_GB = 4.0  # of all coefficients in memory


@dataclass(frozen=True, slots=True)
class FeatureSizes:
    """Numbers of features of a fit."""

    phi: int
    psi: int
    modifiers: int


def check_policy_arrays(arrays: Mapping[str, Any], models: int, sizes: FeatureSizes) -> None:
    """Raise a ``ValueError`` at the first array that does not fit the models, the features or the others."""
    _check_entries(arrays)
    count = len(np.atleast_1d(arrays["intercept"]))
    _check_shapes(arrays, count, models, sizes)
    for name, rows in (("phi", count), ("baseline", 1)):
        if f"{name}_coef" in arrays:
            _check_sparse(arrays, name, rows, sizes.phi)
    check_covariance(arrays["covariance"], "covariance")
    if CALIBRATION[0] in arrays:
        _check_calibration(arrays, models)


def _check_entries(arrays: Mapping[str, Any]) -> None:
    """The kind of every array, and its range."""
    for name, array in arrays.items():
        if name == "basis":
            if array.shape != () or str(array) not in get_args(Basis):
                raise ValueError("basis is unknown")
        elif array.dtype.kind not in ("iu" if name in INDICES else "f"):
            raise ValueError(f"{name} has the type {array.dtype}")
        elif name not in (*MAYBE_INFINITE, *INDICES):
            require_within(array, -MAX_COEFFICIENT, MAX_COEFFICIENT, name)


def _check_shapes(arrays: Mapping[str, Any], count: int, models: int, sizes: FeatureSizes) -> None:
    psi = (2 if str(arrays["basis"]) == "quadratic" else 1) * sizes.psi
    expected: dict[str, tuple[int, ...]] = {
        "intercept": (count,),
        "baseline_weight": (count,),
        "baseline_intercept": (),
        "psi": (count, psi),
        "model_effect": (count, models),
        "modifier_coef": (count, models, sizes.modifiers),
        "covariance": (models, models),
        "cost": (models,),
    }
    for name, shape in expected.items():
        if name in arrays and arrays[name].shape != shape:
            raise ValueError(f"{name} has the shape {arrays[name].shape} instead of {shape}")


def _check_sparse(arrays: Mapping[str, Any], name: str, rows: int, size: int) -> None:
    used, coef = arrays[f"{name}_used"], arrays[f"{name}_coef"]
    if int(arrays[f"{name}_size"]) != size or used.ndim != 1 or coef.shape != (rows, len(used)):
        raise ValueError(f"{name} has the shape {coef.shape} for {size} features")
    if len(used) and not (used[0] >= 0 and used[-1] < size and (np.diff(used) > 0).all()):
        raise ValueError(f"places of {name} are out of order")
    if 8.0 * rows * size > MAX_GB * 1e9:
        raise ValueError(f"{name} needs more than {MAX_GB:g} GB")


def _check_calibration(arrays: Mapping[str, Any], models: int) -> None:
    stored = {name: arrays[f"calibration_{name}"] for name in (field.name for field in fields(Calibration))}
    for name, array in stored.items():
        shape = (models,) if name in ("value", "mean_q", "draw_variance", "df") else ()
        if array.shape != ((2 * models + 2,) if name == "context_variance" else shape):
            raise ValueError(f"calibration_{name} has the shape {array.shape}")
    for name in ("slope", "common_slope"):
        require_within(stored[name], 0.0, 1.0, f"calibration_{name}")
    if any((stored[name] < 0).any() for name in ("draw_variance", "context_variance")):
        raise ValueError("a variance of the calibration is negative")
    if not (stored["slope_standard_error"] >= 0 and (stored["df"] > 0).all()):
        raise ValueError("the precision of the calibration is negative")
