"""Save a result in a folder and read it back: JSON for numbers and text, npz for coefficients, and the featurizer."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.decide.calibration import Calibration
from deconfound.decide.context_variance import ContextVariance
from deconfound.decide.recommendation import Policy, Recommendation
from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.features import Featurizer, load_featurizer, save_featurizer
from deconfound.findings import finding_from_document
from deconfound.linalg import Linear
from deconfound.report.document import (
    SCHEMA,
    VALUES,
    document,
    dump_json,
    read_attribution,
    read_efficient,
    read_log_bias,
    read_routing,
    read_values,
)
from deconfound.report.findings_text import details_types
from deconfound.result import FittedFamily, Result, StudyCounts, TableCounts
from deconfound.reward import Basis, Family, RewardFit, family_by_name
from deconfound.value import Values
from deconfound.value.efficient_summary import EfficientSummary
from deconfound.value.population import Population

COLUMN_MAP = "columns.json"


def save(result: Result, directory: Path) -> None:
    """Write the featurizer, reward.npz and result.json; the last one is missing after an interrupted save."""
    directory.mkdir(parents=True, exist_ok=True)
    for file in ("result.json", COLUMN_MAP):
        (directory / file).unlink(missing_ok=True)
    save_featurizer(result.featurizer, directory)
    policy = result.policy
    arrays = {**_arrays([policy.reward, *policy.bootstrap_fits]), **_calibration_arrays(policy.calibration)}
    if policy.cost is not None:
        arrays["cost"] = policy.cost
    np.savez(directory / "reward.npz", covariance=policy.covariance, **arrays)
    content = {**document(result), "not_finite": [list(entry) for entry in _not_finite(_stored_numbers(result))]}
    (directory / "result.json").write_text(dump_json(content), encoding="utf-8")


def load(directory: Path) -> Result:
    """Read a saved result; raise a ``DataError`` if it is missing or damaged."""
    where = directory / "result.json"
    if directory.exists() and not directory.is_dir():
        raise _unusable(directory, "this is a file, and a saved result is a folder")
    try:
        stored = json.loads(where.read_text(encoding="utf-8"))
        if stored["schema"] != SCHEMA:
            raise _unusable(where, f"it has schema {stored['schema']}, and this version reads schema {SCHEMA}")
        with (directory / "reward.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            coefficients = {name: arrays[name] for name in arrays.files}
        for path, number in stored["not_finite"]:
            _restore(stored, path, float(number))
        return _result(stored, coefficients, load_featurizer(directory))
    except FileNotFoundError as error:
        raise _unusable(Path(error.filename), "no such file") from error
    except (OSError, ValueError, LookupError, TypeError, AttributeError, UsageError, zipfile.BadZipFile) as error:
        raise _unusable(where, f"it is not a saved result ({type(error).__name__})") from error


def _stored_numbers(result: Result) -> dict[str, Any]:
    """The parts of the document that ``load`` reads back and that may contain NaN or infinity, before conversion."""
    return {
        **{name: _fields(getattr(result, name)) for name in VALUES},
        "recommendations": [asdict(row) for row in result.recommendations],
        "findings": [asdict(finding) for finding in result.findings],
        "routing": asdict(result.routing),
        "log_bias": asdict(result.log_bias),
        "efficient": None if result.efficient is None else _efficient_numbers(result.efficient),
    }


def _efficient_numbers(summary: EfficientSummary) -> dict[str, Any]:
    overlap, result = summary.overlap, summary.result
    numbers: dict[str, Any] = {}
    if result is not None:
        numbers = {"widening": result.widening, "exclusion": asdict(result.exclusion)}
        numbers |= {name: _fields(getattr(result, name)) for name in ("values", "doubly_robust")}
    return {"overlap": None if overlap is None else asdict(overlap), "result": numbers}


def _fields(values: Values) -> dict[str, Any]:
    return {field.name: getattr(values, field.name) for field in fields(values)}


def _not_finite(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[list[str | int], str]]:
    """Place and name of every number that JSON cannot express: "nan", "inf" or "-inf"."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        yield list(path), str(value)
    elif isinstance(value, dict | list | tuple):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _not_finite(part, (*path, key))


def _restore(stored: Any, path: Sequence[str | int], number: float) -> None:  # noqa: ANN401  (any JSON)
    """Put a number back at its place."""
    for key in path[:-1]:
        stored = stored[key]
    stored[path[-1]] = number


def save_column_map(columns: Mapping[str, str], directory: Path) -> None:
    """Store the user's column names beside a saved result, so that new tables can be read with them."""
    (directory / COLUMN_MAP).write_text(dump_json(dict(columns)), encoding="utf-8")


def load_column_map(directory: Path) -> dict[str, str]:
    """The column names that were stored with a result; empty if there are none."""
    where = directory / COLUMN_MAP
    if not where.exists():
        return {}
    try:
        columns = json.loads(where.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unusable(where, f"it cannot be read ({type(error).__name__})") from error
    if not (isinstance(columns, dict) and all(isinstance(column, str) for column in columns.values())):
        raise _unusable(where, "it is not an object of column names")
    return columns


def _unusable(where: Path, what: str) -> DataError:
    return DataError([Problem(str(where), what, "Run `deconfound evaluate ... -o DIR` and name that folder.")])


def _result(stored: dict[str, Any], arrays: dict[str, Any], featurizer: Featurizer) -> Result:
    models, fitted, (reward, *bootstrap_fits) = tuple(stored["models"]), stored["family"], _fits(arrays)
    return Result(
        **{name: read_values(stored[name], models) for name in VALUES},
        recommendations=tuple(Recommendation(**row) for row in stored["recommendations"]),
        findings=tuple(finding_from_document(each, details_types()) for each in stored["findings"]),
        family=FittedFamily(_family(fitted), fitted["mode"], fitted["surface_share"], fitted["psi_source"]),
        counts=StudyCounts(*(_counts(stored["counts"][table]) for table in ("log", "experiment", "replay"))),
        routing=read_routing(stored["routing"]),
        log_bias=read_log_bias(stored["log_bias"]),
        attribution=read_attribution(stored["attribution"]),
        population=Population(**stored["population"]),
        outcome_range=(float(stored["outcome_range"][0]), float(stored["outcome_range"][1])),
        efficient=read_efficient(stored["efficient"], models),
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
    if first.modifier_coef is not None:
        arrays["modifier_coef"] = np.stack([_require(fit.modifier_coef) for fit in fits])
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
    stored = {f"calibration_{each.name}": getattr(calibration, each.name) for each in fields(Calibration)}
    stored["calibration_context_variance"] = astuple(calibration.context_variance)
    return {name: np.asarray(value) for name, value in stored.items()}


def _read_calibration(arrays: dict[str, Any]) -> Calibration | None:
    if "calibration_slope" not in arrays:
        return None
    stored = {field.name: arrays[f"calibration_{field.name}"] for field in fields(Calibration)}
    values: dict[str, Any] = {name: float(array) if array.ndim == 0 else array for name, array in stored.items()}
    values["context_variance"] = ContextVariance(*(float(variance) for variance in values["context_variance"]))
    return Calibration(**values)
