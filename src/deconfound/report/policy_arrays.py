"""A policy as named arrays, for saving; npz, unlike JSON, stores infinities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from deconfound.decide.calibration import Calibration
from deconfound.decide.context_variance import ContextVariance
from deconfound.decide.recommendation import Policy
from deconfound.design import FloatArray
from deconfound.linalg import Linear
from deconfound.report.policy_checks import FeatureSizes, check_policy_arrays
from deconfound.reward import Basis, RewardFit


def policy_to_arrays(policy: Policy) -> dict[str, Any]:
    """Coefficients of all fits, calibration, covariance and costs."""
    arrays = {**_arrays([policy.reward, *policy.bootstrap_fits]), **_calibration_arrays(policy.calibration)}
    if policy.cost is not None:
        arrays["cost"] = policy.cost
    return {"covariance": policy.covariance, **arrays}


def policy_from_arrays(
    arrays: Mapping[str, Any], models: tuple[str, ...], surface_share: float, sizes: FeatureSizes
) -> Policy:
    """The inverse of ``policy_to_arrays``; a ``ValueError`` unless all arrays are what a policy can have."""
    check_policy_arrays(arrays, len(models), sizes)
    reward, *bootstrap_fits = _fits(arrays)
    return Policy(
        models,
        surface_share,
        reward,
        tuple(bootstrap_fits),
        arrays["covariance"],
        _read_calibration(arrays),
        arrays.get("cost"),
    )


def _arrays(fits: Sequence[RewardFit]) -> dict[str, Any]:
    """All fits side by side; coefficients of empty hash buckets are left out."""
    first = fits[0]
    arrays: dict[str, Any] = {
        "intercept": np.array([fit.intercept for fit in fits]),
        "baseline_weight": np.array([fit.baseline_weight for fit in fits]),
        "basis": np.array(first.basis),
    }
    if first.phi_coef is not None:
        arrays |= _to_sparse("phi", np.stack([_require(fit.phi_coef) for fit in fits]))
    if first.psi_coef is not None:
        arrays["psi"] = np.stack([_require(fit.psi_coef) for fit in fits])
    if first.model_effect is not None:
        arrays["model_effect"] = np.stack([_require(fit.model_effect) for fit in fits])
    if first.modifier_coef is not None:
        arrays["modifier_coef"] = np.stack([_require(fit.modifier_coef) for fit in fits])
    if first.baseline is not None:
        arrays |= _to_sparse("baseline", first.baseline.coef[None])
        arrays["baseline_intercept"] = np.array(first.baseline.intercept)
    return arrays


def _fits(arrays: Mapping[str, Any]) -> list[RewardFit]:
    baseline = None
    if "baseline_coef" in arrays:
        baseline = Linear(_from_sparse("baseline", arrays)[0], float(arrays["baseline_intercept"]))
    count = len(arrays["intercept"])
    phi: Any = _from_sparse("phi", arrays) if "phi_coef" in arrays else [None] * count
    psi = arrays.get("psi", [None] * count)
    effect, modifier = (arrays.get(name, [None] * count) for name in ("model_effect", "modifier_coef"))
    weight = arrays["baseline_weight"]
    basis: Basis = "quadratic" if str(arrays["basis"]) == "quadratic" else "linear"
    return [
        RewardFit(
            float(arrays["intercept"][i]), phi[i], psi[i], basis, baseline, float(weight[i]), effect[i], modifier[i]
        )
        for i in range(count)
    ]


def _to_sparse(name: str, coefs: FloatArray) -> dict[str, Any]:
    used = np.flatnonzero(coefs.any(axis=0))
    return {f"{name}_used": used, f"{name}_coef": coefs[:, used], f"{name}_size": np.array(coefs.shape[1])}


def _from_sparse(name: str, arrays: Mapping[str, Any]) -> FloatArray:
    coefs = np.zeros((len(arrays[f"{name}_coef"]), int(arrays[f"{name}_size"])))
    coefs[:, arrays[f"{name}_used"]] = arrays[f"{name}_coef"]
    return coefs


def _require(coef: FloatArray | None) -> FloatArray:
    if coef is None:
        raise ValueError("all fits of a family must have the same coefficients")
    return coef


def _calibration_arrays(calibration: Calibration | None) -> dict[str, Any]:
    if calibration is None:
        return {}
    stored = {f"calibration_{each.name}": getattr(calibration, each.name) for each in fields(Calibration)}
    between = calibration.context_variance
    stored["calibration_context_variance"] = [
        *between.by_model,
        *between.by_model_sd,
        between.common,
        between.estimated,
    ]
    return {name: np.asarray(value) for name, value in stored.items()}


def _read_calibration(arrays: Mapping[str, Any]) -> Calibration | None:
    if "calibration_slope" not in arrays:
        return None
    stored = {field.name: arrays[f"calibration_{field.name}"] for field in fields(Calibration)}
    values: dict[str, Any] = {name: float(array) if array.ndim == 0 else array for name, array in stored.items()}
    between, count = values["context_variance"], len(values["value"])
    values["context_variance"] = ContextVariance(
        between[:count], between[count:-2], common=float(between[-2]), estimated=bool(between[-1])
    )
    return Calibration(**values)
