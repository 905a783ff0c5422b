"""A result on disk: JSON for people and programs, npz for coefficients, the featurizer beside them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.decide.recommendation import Policy, Recommendation
from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem
from deconfound.features import Featurizer
from deconfound.findings import finding_from_document
from deconfound.linalg import Linear
from deconfound.report.beliefs import (
    calibration_arrays,
    read_alarm,
    read_calibration,
    read_routing,
    read_trust,
)
from deconfound.report.document import SCHEMA, read_values, write_json
from deconfound.report.findings_text import details_types
from deconfound.report.text import VALUES
from deconfound.result import FittedFamily, Result, TableCounts
from deconfound.reward import EVERY, Auto, Basis, Family, RewardFit, VarianceComponents


def save(result: Result, directory: Path) -> None:
    """Write result.json, reward.npz and the featurizer; result.json last, so that a cut-off save shows."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "result.json").unlink(missing_ok=True)
    result.featurizer.save(directory)
    policy = result.policy
    arrays = {**_arrays([policy.reward, *policy.bootstrap_fits]), **calibration_arrays(policy.calibration)}
    if policy.cost is not None:
        arrays["cost"] = policy.cost
    np.savez(directory / "reward.npz", covariance=policy.covariance, **arrays)
    write_json(result, directory / "result.json")


def load(directory: Path) -> Result:
    """Read a saved result, or say what is wrong with it."""
    where = directory / "result.json"
    try:
        stored = json.loads(where.read_text(encoding="utf-8"))
        if stored["schema"] != SCHEMA:
            raise _unusable(where, f"its schema is {stored['schema']} and this version reads {SCHEMA}")
        with (directory / "reward.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            known = {name: arrays[name] for name in arrays.files}
        return _result(stored, known, Featurizer.load(directory))
    except FileNotFoundError as error:
        raise _unusable(Path(error.filename), "there is no such file") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, zipfile.BadZipFile) as error:
        raise _unusable(where, f"it is not a saved result ({type(error).__name__})") from error


def _unusable(where: Path, what: str) -> DataError:
    return DataError([Problem(str(where), what, "Run `deconfound evaluate ... -o DIR` again to make a new one.")])


def _result(stored: dict[str, Any], arrays: dict[str, Any], featurizer: Featurizer) -> Result:
    models, choice, (reward, *bootstrap_fits) = tuple(stored["models"]), stored["choice"], _fits(arrays)
    return Result(
        **{name: read_values(stored[name], models) for name in VALUES},
        recommendations=tuple(Recommendation(**row) for row in stored["recommendations"]),
        findings=tuple(finding_from_document(each, details_types()) for each in stored["findings"]),
        choice=FittedFamily(_family(choice), choice["mode"], choice["surface_share"], choice["psi_source"]),
        counts={name: _counts(row) for name, row in stored["counts"].items()},
        routing=read_routing(stored["routing"]),
        alarm=read_alarm(stored["alarm"]),
        trust=read_trust(stored["trust"]),
        policy=Policy(
            models,
            choice["surface_share"],
            reward,
            tuple(bootstrap_fits),
            arrays["covariance"],
            read_calibration(arrays),
            arrays.get("cost"),
        ),
        featurizer=featurizer,
        level=stored["level"],
        seed=stored["seed"],
    )


def _family(choice: dict[str, Any]) -> Family:
    if choice["family"] == Auto.name:
        return Auto(VarianceComponents(**choice["hyperparameters"]["parts"]))
    known: dict[str, Any] = {family.name: family for family in EVERY}
    family: Family = known[choice["family"]](**choice["hyperparameters"])
    return family


def _counts(row: dict[str, Any]) -> TableCounts:
    return TableCounts(row["source"], row["rows"], row["contexts"], tuple(row["rows_per_model"]), tuple(row["ignored"]))


def _arrays(fits: Sequence[RewardFit]) -> dict[str, Any]:
    """All fits side by side, coefficients of hashed buckets that nothing fills left out."""
    first = fits[0]
    arrays: dict[str, Any] = {
        "intercept": np.array([fit.intercept for fit in fits]),
        "baseline_weight": np.array([fit.baseline_weight for fit in fits]),
        "basis": np.array(first.basis),
    }
    if first.phi_coef is not None:
        arrays |= _packed("phi", np.stack([_known(fit.phi_coef) for fit in fits]))
    if first.psi_coef is not None:
        arrays["psi"] = np.stack([_known(fit.psi_coef) for fit in fits])
    if first.model_effect is not None:
        arrays["by_model"] = np.stack([_known(fit.model_effect) for fit in fits])
    if first.baseline is not None:
        arrays |= _packed("baseline", first.baseline.coef[None])
        arrays["baseline_intercept"] = np.array(first.baseline.intercept)
    return arrays


def _fits(arrays: dict[str, Any]) -> list[RewardFit]:
    baseline = None
    if "baseline_coef" in arrays:
        baseline = Linear(_unpacked("baseline", arrays)[0], float(arrays["baseline_intercept"]))
    count = len(arrays["intercept"])
    phi: Any = _unpacked("phi", arrays) if "phi_coef" in arrays else [None] * count
    psi = arrays.get("psi", [None] * count)
    model_effect = arrays.get("by_model", [None] * count)
    weight = arrays["baseline_weight"]
    basis: Basis = "quadratic" if str(arrays["basis"]) == "quadratic" else "linear"
    return [
        RewardFit(float(arrays["intercept"][i]), phi[i], psi[i], basis, baseline, float(weight[i]), model_effect[i])
        for i in range(count)
    ]


def _packed(name: str, coefs: FloatArray) -> dict[str, Any]:
    used = np.flatnonzero(coefs.any(axis=0))
    return {f"{name}_used": used, f"{name}_coef": coefs[:, used], f"{name}_size": np.array(coefs.shape[1])}


def _unpacked(name: str, arrays: dict[str, Any]) -> FloatArray:
    coefs = np.zeros((len(arrays[f"{name}_coef"]), int(arrays[f"{name}_size"])))
    coefs[:, arrays[f"{name}_used"]] = arrays[f"{name}_coef"]
    return coefs


def _known(coef: FloatArray | None) -> FloatArray:
    if coef is None:
        raise ValueError("refits of one family have the same parts")
    return coef
