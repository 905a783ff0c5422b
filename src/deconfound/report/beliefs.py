"""Routing, log bias, trust and calibration as JSON, and back."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from deconfound.decide.calibration import Calibration
from deconfound.decide.routing import RoutingGain
from deconfound.design import FloatArray
from deconfound.report.attribution_text import explain_log_weight
from deconfound.reward import Attribution, VarianceComponents
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES
from deconfound.value.log_bias import LogBias, ModelBias


def plain(value: Any) -> Any:  # noqa: ANN401  (any nesting of numbers, texts and arrays)
    """Numbers, lists and texts only; what is not finite is null."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def attribution_document(attribution: Attribution | None) -> dict[str, Any] | None:
    """Shares and their bootstrap standard deviations by source and view, and what they mean for the log."""
    if attribution is None:
        return None
    return {
        "shares": _by_source(attribution.shares),
        "bootstrap_sd": _by_source(attribution.bootstrap_sd),
        "variance_components": asdict(attribution.variance_components),
        "log_bias_sd": attribution.log_bias_sd,
        "explanation": explain_log_weight(attribution),
    }


def read_attribution(stored: dict[str, Any] | None) -> Attribution | None:
    """``attribution_document`` backwards."""
    if stored is None:
        return None
    shares, bootstrap_sd = (_table(stored[name]) for name in ("shares", "bootstrap_sd"))
    return Attribution(shares, bootstrap_sd, VarianceComponents(**stored["variance_components"]))


def _by_source(table: FloatArray) -> dict[str, dict[str, float | None]]:
    return {
        source: dict(zip(FEATURE_VIEWS, plain(row), strict=True)) for source, row in zip(SOURCES, table, strict=True)
    }


def _table(stored: dict[str, dict[str, float | None]]) -> Any:  # noqa: ANN401
    return np.array([[_number(stored[source][view]) for view in FEATURE_VIEWS] for source in SOURCES])


def routing_document(routing: RoutingGain) -> dict[str, Any]:
    """Every field."""
    found: dict[str, Any] = plain(asdict(routing))
    return found


def read_routing(stored: dict[str, Any]) -> RoutingGain:
    """``routing_document`` backwards."""
    known: dict[str, Any] = {field.name: _read(stored[field.name]) for field in fields(RoutingGain)}
    return RoutingGain(**known)


def log_bias_document(log_bias: LogBias) -> dict[str, Any]:
    """Every field."""
    found: dict[str, Any] = plain(asdict(log_bias))
    return found


def read_log_bias(stored: dict[str, Any]) -> LogBias:
    """``log_bias_document`` backwards."""
    known: dict[str, Any] = {
        field.name: _read(stored[field.name]) for field in fields(LogBias) if field.name != "biases"
    }
    rows = stored["biases"]
    return LogBias(
        biases=tuple(ModelBias(**{name: _read(part) for name, part in row.items()}) for row in rows), **known
    )


def _read(value: Any) -> Any:  # noqa: ANN401
    """``plain`` backwards, where null was a number."""
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    return math.nan if value is None else value


def calibration_arrays(calibration: Calibration | None) -> dict[str, Any]:
    """For the file of arrays, which keeps infinities."""
    if calibration is None:
        return {}
    return {f"calibration_{field.name}": np.asarray(getattr(calibration, field.name)) for field in fields(Calibration)}


def read_calibration(arrays: dict[str, Any]) -> Calibration | None:
    """``calibration_arrays`` backwards."""
    if "calibration_slope" not in arrays:
        return None
    stored = {field.name: arrays[f"calibration_{field.name}"] for field in fields(Calibration)}
    known: dict[str, Any] = {name: float(x) if x.ndim == 0 else x for name, x in stored.items()}
    return Calibration(**known)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
