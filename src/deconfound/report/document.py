"""A result as one JSON document, and back."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deconfound import __version__
from deconfound.design import FloatArray
from deconfound.findings import finding_to_document
from deconfound.report.beliefs import alarm_document, routing_document, trust_document
from deconfound.result import Result
from deconfound.value import Values

SCHEMA = 2


def document(result: Result) -> dict[str, Any]:
    """Every number of the result that is not a coefficient; what cannot be known is null."""
    choice = result.choice
    return {
        "schema": SCHEMA,
        "version": __version__,
        "best": result.values.ranking()[0],
        "level": result.level,
        "seed": result.seed,
        "models": list(result.models),
        "values": values_document(result.values, result.level),
        "direct": values_document(result.direct, result.level),
        "experiment": values_document(result.experiment, result.level),
        "raw_log": values_document(result.raw_log, result.level),
        "best_set": list(result.values.best_set(result.level)),
        "together": [[number(x) for x in row] for row in result.values.interval(result.level, simultaneous=True)],
        "contrasts": [{**finite(asdict(c)), "told_apart": c.significant} for c in result.contrasts()],
        "choice": {
            "family": choice.estimator.name,
            "hyperparameters": asdict(choice.estimator),  # type: ignore[call-overload]
            "mode": choice.mode,
            "surface_share": choice.surface_share,
            "psi_source": choice.psi_source,
        },
        "trust": trust_document(result.trust),
        "routing": routing_document(result.routing),
        "alarm": alarm_document(result.alarm),
        "counts": {name: asdict(counts) for name, counts in result.counts.items()},
        "findings": [finding_to_document(finding) for finding in result.findings],
        "recommended": recommended(result),
        "recommendations": [finite(asdict(row)) for row in result.recommendations],
    }


def recommended(result: Result) -> dict[str, Any]:
    """How often each model is recommended, and on how many contexts the data cannot tell."""
    clear = [row for row in result.recommendations if row.verdict == "clear"]
    return {
        "contexts": len(result.recommendations),
        "cannot_tell": len(result.recommendations) - len(clear),
        "clear": dict(sorted(Counter(row.model for row in clear).items())),
        "best_guess": dict(sorted(Counter(row.model for row in result.recommendations).items())),
    }


def values_document(values: Values, level: float) -> dict[str, Any]:
    """Values with their table for people and their covariance for programs."""
    return {
        "method": values.method,
        "table": [finite(row) for row in values.table(level)],
        "estimate": [number(x) for x in values.estimate],
        "covariance": [[number(x) for x in row] for row in values.covariance],
        "df": _numbers(values.df),
        "centre": _numbers(values.centre),
        "power": _numbers(values.power),
        "moved": values.moved,
    }


def _numbers(values: FloatArray | None) -> list[float | None] | None:
    return None if values is None else [number(x) for x in values]


def read_values(stored: dict[str, Any], models: tuple[str, ...]) -> Values:
    """``values_document`` backwards."""
    estimate = np.array([np.nan if x is None else x for x in stored["estimate"]])
    covariance = np.array([[np.inf if x is None else x for x in row] for row in stored["covariance"]])
    return Values(
        models,
        estimate,
        covariance,
        stored["method"],
        df=_array(stored["df"], np.inf),
        centre=_array(stored["centre"], np.nan),
        power=_array(stored["power"], np.nan),
        moved=stored["moved"],
    )


def _array(stored: list[float | None] | None, unknown: float) -> FloatArray | None:
    return None if stored is None else np.array([unknown if x is None else x for x in stored])


def write_json(result: Result, path: Path) -> None:
    """The document as a file."""
    path.write_text(to_text(document(result)), encoding="utf-8")


def to_text(content: dict[str, Any]) -> str:
    """JSON that any parser accepts: no NaN, no infinity, a newline at the end."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """A flat record with null for what is not a finite number."""
    return {key: number(value) if isinstance(value, float) else value for key, value in row.items()}


def number(value: float) -> float | None:
    """A finite number, or null."""
    return float(value) if math.isfinite(value) else None
