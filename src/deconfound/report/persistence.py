"""Save a result in a folder and read it back: JSON for numbers and text, npz for coefficients, and the featurizer."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.decide.calibration import Calibration
from deconfound.decide.recommendation import Policy, Recommendation
from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.features import Featurizer, load_featurizer, save_featurizer
from deconfound.findings import finding_from_document
from deconfound.linalg import Linear
from deconfound.report.document import (
    SCHEMA,
    VALUES,
    read_attribution,
    read_log_bias,
    read_routing,
    read_values,
    write_json,
)
from deconfound.report.findings_text import details_types
from deconfound.result import FittedFamily, Result, TableCounts
from deconfound.reward import Basis, Family, RewardFit, family_by_name


def save(result: Result, directory: Path) -> None:
    """Write the featurizer, reward.npz and result.json; the last one is missing after an interrupted save."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "result.json").unlink(missing_ok=True)
    save_featurizer(result.featurizer, directory)
    policy = result.policy
    arrays = {**_arrays([policy.reward, *policy.bootstrap_fits]), **_calibration_arrays(policy.calibration)}
    if policy.cost is not None:
        arrays["cost"] = policy.cost
    np.savez(directory / "reward.npz", covariance=policy.covariance, **arrays)
    write_json(result, directory / "result.json")


def load(directory: Path) -> Result:
    """Read a saved result; raise a ``DataError`` if it is missing or damaged."""
    where = directory / "result.json"
    try:
        stored = json.loads(where.read_text(encoding="utf-8"))
        if stored["schema"] != SCHEMA:
            raise _unusable(where, f"it has schema {stored['schema']}, and this version reads schema {SCHEMA}")
        with (directory / "reward.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            coefficients = {name: arrays[name] for name in arrays.files}
        return _result(stored, coefficients, load_featurizer(directory))
    except FileNotFoundError as error:
        raise _unusable(Path(error.filename), "no such file") from error
    except (OSError, ValueError, LookupError, TypeError, AttributeError, UsageError, zipfile.BadZipFile) as error:
        raise _unusable(where, f"it is not a saved result ({type(error).__name__})") from error


def _unusable(where: Path, what: str) -> DataError:
    return DataError([Problem(str(where), what, "Run `deconfound evaluate ... -o DIR` again.")])


def _result(stored: dict[str, Any], arrays: dict[str, Any], featurizer: Featurizer) -> Result:
    models, fitted, (reward, *bootstrap_fits) = tuple(stored["models"]), stored["family"], _fits(arrays)
    return Result(
        **{name: read_values(stored[name], models) for name in VALUES},
        recommendations=tuple(Recommendation(**row) for row in stored["recommendations"]),
        findings=tuple(finding_from_document(each, details_types()) for each in stored["findings"]),
        family=FittedFamily(_family(fitted), fitted["mode"], fitted["surface_share"], fitted["psi_source"]),
        counts={name: _counts(row) for name, row in stored["counts"].items()},
        routing=read_routing(stored["routing"]),
        log_bias=read_log_bias(stored["log_bias"]),
        attribution=read_attribution(stored["attribution"]),
        policy=Policy(
            models,
            fitted["surface_share"],
            reward,
            tuple(bootstrap_fits),
            arrays["covariance"],
            _read_calibration(arrays),
            arrays.get("cost"),
        ),
        featurizer=featurizer,
        level=stored["level"],
        seed=stored["seed"],
    )


def _family(stored: dict[str, Any]) -> Family:
    return family_by_name(stored["name"]).from_document(stored["hyperparameters"])


def _counts(row: dict[str, Any]) -> TableCounts:
    rows_per_model, unused_columns = tuple(row["rows_per_model"]), tuple(row["unused_columns"])
    return TableCounts(row["source"], row["rows"], row["contexts"], rows_per_model, unused_columns)


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
    if first.baseline is not None:
        arrays |= _to_sparse("baseline", first.baseline.coef[None])
        arrays["baseline_intercept"] = np.array(first.baseline.intercept)
    return arrays


def _fits(arrays: dict[str, Any]) -> list[RewardFit]:
    baseline = None
    if "baseline_coef" in arrays:
        baseline = Linear(_from_sparse("baseline", arrays)[0], float(arrays["baseline_intercept"]))
    count = len(arrays["intercept"])
    phi: Any = _from_sparse("phi", arrays) if "phi_coef" in arrays else [None] * count
    psi = arrays.get("psi", [None] * count)
    model_effect = arrays.get("model_effect", [None] * count)
    weight = arrays["baseline_weight"]
    basis: Basis = "quadratic" if str(arrays["basis"]) == "quadratic" else "linear"
    return [
        RewardFit(float(arrays["intercept"][i]), phi[i], psi[i], basis, baseline, float(weight[i]), model_effect[i])
        for i in range(count)
    ]


def _to_sparse(name: str, coefs: FloatArray) -> dict[str, Any]:
    used = np.flatnonzero(coefs.any(axis=0))
    return {f"{name}_used": used, f"{name}_coef": coefs[:, used], f"{name}_size": np.array(coefs.shape[1])}


def _from_sparse(name: str, arrays: dict[str, Any]) -> FloatArray:
    coefs = np.zeros((len(arrays[f"{name}_coef"]), int(arrays[f"{name}_size"])))
    coefs[:, arrays[f"{name}_used"]] = arrays[f"{name}_coef"]
    return coefs


def _require(coef: FloatArray | None) -> FloatArray:
    if coef is None:
        raise ValueError("all fits of a family must have the same coefficients")
    return coef


def _calibration_arrays(calibration: Calibration | None) -> dict[str, Any]:
    """Fields of the calibration; npz, unlike JSON, stores infinities."""
    if calibration is None:
        return {}
    return {f"calibration_{field.name}": np.asarray(getattr(calibration, field.name)) for field in fields(Calibration)}


def _read_calibration(arrays: dict[str, Any]) -> Calibration | None:
    if "calibration_slope" not in arrays:
        return None
    stored = {field.name: arrays[f"calibration_{field.name}"] for field in fields(Calibration)}
    values: dict[str, Any] = {name: float(array) if array.ndim == 0 else array for name, array in stored.items()}
    return Calibration(**values)
