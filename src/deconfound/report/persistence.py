"""Save a result in a folder and read it back: JSON for numbers and text, npz for coefficients and the featurizer."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.array_archive import arrays_from_bytes, arrays_to_bytes
from deconfound.bundle import Bundle, BundlePath, is_part_of_bundle, load_bundle, save_bundle
from deconfound.data import ReadingChoices
from deconfound.decide.recommendation import MANY, Recommendation
from deconfound.errors import DataError, Problem, UsageError
from deconfound.features import Featurizer
from deconfound.features.featurizer_io import ARRAYS, featurizer_from_bundle, featurizer_to_bundle
from deconfound.findings import finding_from_document
from deconfound.formatting import to_jsonable
from deconfound.frames import Records
from deconfound.report.document import (
    SCHEMA,
    VALUES,
    document,
    read_attribution,
    read_efficient,
    read_log_bias,
    read_missing,
    read_routing,
    read_sensitivity,
)
from deconfound.report.field_types import check_fields
from deconfound.report.findings_text import details_types
from deconfound.report.plausibility import MAX_FINDINGS, check_reading, check_result
from deconfound.report.policy_arrays import policy_from_arrays, policy_to_arrays
from deconfound.report.policy_checks import POLICY_ARRAYS, FeatureSizes
from deconfound.report.segment_document import read_segments
from deconfound.report.values_document import read_values
from deconfound.result import FittedFamily, Result, StudyCounts, TableCounts
from deconfound.reward import Family, family_by_name
from deconfound.value import Values
from deconfound.value.efficient_summary import EfficientSummary
from deconfound.value.population import Population
from deconfound.value.segments import SegmentedColumns
from deconfound.value.unrated_rows import MissingOutcomes

REWARD, FEATURIZER = "reward.npz", "featurizer.npz"  # parts of a saved result
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def result_path(directory: Path) -> BundlePath:
    """The files of a saved result."""
    return BundlePath(directory, "result", "Run `deconfound evaluate ... -o DIR` and name that folder.")


def save(result: Result, directory: Path, *, overwrite: bool = False) -> None:
    """Save a result in a folder, or replace the one that is there; see ``bundle``."""
    featurizer = featurizer_to_bundle(result.featurizer)
    content = {
        **document(result),
        "not_finite": list(_not_finite(_stored_numbers(result))),
        "command": result.command,
        "reading": {**asdict(result.reading), "ignore": list(result.reading.ignore)},
        "featurizer": featurizer.document,
    }
    parts = {REWARD: arrays_to_bytes(policy_to_arrays(result.policy)), FEATURIZER: featurizer.parts[ARRAYS]}
    save_bundle(result_path(directory), Bundle(to_jsonable(content), parts), overwrite=overwrite)


def load(directory: Path) -> Result:
    """Read a saved result; raise a ``DataError`` if it is missing, damaged, or mixed from several results."""
    path = result_path(directory)
    _require_folder(directory, path)
    bundle = load_bundle(path, (REWARD, FEATURIZER))
    schema = bundle.document.get("schema")
    if schema != SCHEMA:
        raise path.unusable(path.index, f"it has schema {schema}, and this version reads schema {SCHEMA}")
    try:
        return _saved_result(bundle, path)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, UsageError) as error:
        raise path.unusable(path.index, f"it is not a saved result ({type(error).__name__}: {error})") from error


def _require_folder(directory: Path, path: BundlePath) -> None:
    """A saved result is a folder that can be read."""
    try:
        os.scandir(directory).close()
    except NotADirectoryError as error:
        what = "this is a file, and a saved result is a folder"
        fix = f"Name its folder: {directory.parent}" if is_part_of_bundle(directory) else path.fix
        raise DataError([Problem(str(directory), what, fix)]) from error
    except (FileNotFoundError, ValueError) as error:
        raise path.unusable(directory, "there is no such folder") from error
    except OSError as error:
        what = f"the folder cannot be read ({error.strerror})"
        raise DataError([Problem(str(directory), what, "Check its permissions.")]) from error


def _saved_result(bundle: Bundle, path: BundlePath) -> Result:
    stored = bundle.document
    if len(stored["findings"]) > MAX_FINDINGS:
        raise ValueError(f"it has {len(stored['findings']):,} findings")
    check_reading(stored["reading"])
    for place, number in stored["not_finite"]:
        _restore(stored, place, NOT_FINITE[number])
    featurizer = featurizer_from_bundle(Bundle(stored["featurizer"], {ARRAYS: bundle.parts[FEATURIZER]}), path)
    result = _result(stored, arrays_from_bytes(bundle.parts[REWARD], POLICY_ARRAYS), featurizer)
    check_fields(result, "result")
    check_result(result)
    return result


def _feature_sizes(featurizer: Featurizer, surface_share: float) -> FeatureSizes:
    layout, proxy = featurizer.layout, featurizer.proxy
    dense = sum(layout.block_widths)
    # As in ``features.blocks.combine_blocks``: a block without weight is left out.
    text_in_phi, dense_in_phi = surface_share < 1.0 or not dense, surface_share > 0.0 or not layout.buckets
    phi = layout.buckets * text_in_phi + dense * dense_in_phi
    psi = dense + (0 if proxy is None else len(proxy.intercept))
    return FeatureSizes(phi, psi, sum(layout.modifier_widths))


def _stored_numbers(result: Result) -> dict[str, Any]:
    """The parts of the document that ``load`` reads back and that may contain NaN or infinity, before conversion."""
    return {
        **{name: _fields(getattr(result, name)) for name in VALUES},
        "recommendations": [asdict(row) for row in result.recommendations],
        "findings": [asdict(finding) for finding in result.findings],
        "routing": asdict(result.routing),
        "log_bias": asdict(result.log_bias),
        "sensitivity": [asdict(one) for one in result.sensitivity],
        "efficient": None if result.efficient is None else _efficient_numbers(result.efficient),
        "missing_outcomes": None if result.missing is None else _missing_numbers(result.missing),
        "segments": [
            {"segments": [{"values": _fields(part.values)} for part in one.segments]} for one in result.segments
        ],
    }


def _missing_numbers(missing: MissingOutcomes) -> dict[str, Any]:
    weighted = None if missing.weighted is None else _fields(missing.weighted)
    return {"lowest": _fields(missing.lowest), "highest": _fields(missing.highest), "weighted": weighted}


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
    """Put a number back at its place, where JSON has null."""
    for key in path[:-1]:
        stored = stored[key]
    if stored[path[-1]] is not None:
        raise ValueError("a number is stored twice")
    stored[path[-1]] = number


def _result(stored: dict[str, Any], arrays: dict[str, Any], featurizer: Featurizer) -> Result:
    models, fitted = tuple(stored["models"]), stored["family"]
    return Result(
        values=read_values(stored["values"], models),
        direct=read_values(stored["direct"], models),
        experiment=read_values(stored["experiment"], models),
        raw_log=read_values(stored["raw_log"], models),
        recommendations=Records(map(_recommendation, stored["recommendations"])),
        findings=Records(finding_from_document(each, details_types()) for each in stored["findings"]),
        family=FittedFamily(_family(fitted), fitted["mode"], fitted["surface_share"], fitted["psi_source"]),
        counts=StudyCounts(*(_counts(stored["counts"][table]) for table in ("log", "experiment", "replay"))),
        routing=read_routing(stored["routing"]),
        log_bias=read_log_bias(stored["log_bias"]),
        attribution=read_attribution(stored["attribution"]),
        population=Population(**stored["population"]),
        outcome_range=tuple(stored["outcome_range"]),
        outcome_unit=stored["outcome_unit"],
        efficient=read_efficient(stored["efficient"], models),
        missing=read_missing(stored["missing_outcomes"], models),
        segments=SegmentedColumns(read_segments(one, models) for one in stored["segments"]),
        sensitivity=read_sensitivity(stored["sensitivity"]),
        policy=policy_from_arrays(
            arrays, models, fitted["surface_share"], _feature_sizes(featurizer, fitted["surface_share"])
        ),
        featurizer=featurizer,
        level=stored["level"],
        seed=stored["seed"],
        reading=_reading(stored["reading"]),
        command=stored["command"],
        version=stored["version"],
    )


def _recommendation(row: dict[str, Any]) -> Recommendation:
    return Recommendation(**{**row, **{name: tuple(row[name]) for name in MANY}})


def _reading(stored: dict[str, Any]) -> ReadingChoices:
    return ReadingChoices(
        stored["columns"], stored["rename_models"], tuple(stored["ignore"]), stored["normalize_contexts"]
    )


def _family(stored: dict[str, Any]) -> Family:
    return family_by_name(stored["name"]).from_document(stored["hyperparameters"])


def _counts(row: dict[str, Any]) -> TableCounts:
    rows_per_model, unused_columns = tuple(row["rows_per_model"]), tuple(row["unused_columns"])
    return TableCounts(row["source"], row["rows"], row["contexts"], rows_per_model, unused_columns, row["fingerprint"])
