"""A result as one JSON document, and the parts of it that a saved result reads back."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from deconfound.atomic import write_text
from deconfound.decide.routing import RoutingGain
from deconfound.design import FloatArray
from deconfound.formatting import to_jsonable
from deconfound.report.answer import Answer
from deconfound.report.attribution_text import explain_log_weight
from deconfound.report.decision_text import log_bias_text, routing_text
from deconfound.report.json_text import dump_json
from deconfound.report.recommendation_counts import recommendation_counts
from deconfound.report.reproduction import Reproduction
from deconfound.report.scale import UNIT_RANGE, Scale
from deconfound.report.segment_document import segments_document
from deconfound.report.sensitivity_text import sensitivity_text
from deconfound.report.text import sections, value_rows
from deconfound.report.values_document import number_array, read_values, values_document
from deconfound.result import Result
from deconfound.reward import Attribution, VarianceComponents
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES
from deconfound.value.efficient import EfficientValues, ExclusionTest
from deconfound.value.efficient_summary import EfficientSummary
from deconfound.value.log_bias import LogBias, ModelBias
from deconfound.value.output_overlap import OutputOverlap
from deconfound.value.sensitivity import Sensitivity
from deconfound.value.unrated_rows import MissingOutcomes

SCHEMA = 9
MAX_SHARE = 1e9  # of an estimated difference; shares of tiny differences can be large
VALUES = ("values", "direct", "experiment", "raw_log")


def document(result: Result) -> dict[str, Any]:
    """Every number of the result that is not a coefficient; a number that cannot be estimated is null.

    Numbers are on a scale from 0 to 1; ``outcome_range`` is what 0 and 1 were in the tables. Sentences are on that
    scale.
    """
    fitted, scale = result.family, Scale.of(result)
    has_cost, has_target = result.values.cost is not None, result.population.kind == "target"
    log_bias = log_bias_text(result.log_bias, scale, before_cost=has_cost, has_target=has_target)
    return {
        "schema": SCHEMA,
        "version": result.version,
        "reproduction": to_jsonable(asdict(Reproduction.from_result(result))),
        "answer": to_jsonable(asdict(Answer.from_result(result))),
        "sections": [section.document() for section in sections(result, verbose=True)[1:]],
        "value_table": [list(row) for row in value_rows(result)],
        "best": result.values.ranking()[0],
        "level": result.level,
        "seed": result.seed,
        "models": list(result.models),
        "scale": UNIT_RANGE,
        "outcome_range": list(result.outcome_range),
        "outcome_unit": result.outcome_unit,
        "population": to_jsonable(asdict(result.population)),
        **{name: values_document(getattr(result, name), result.level) for name in VALUES},
        "net_raw_log": None
        if result.values.cost is None
        else to_jsonable(result.raw_log.estimate - result.values.cost),
        "best_set": list(result.values.best_set(result.level)),
        "lead_bound": result.values.lead_bound(result.level),
        "simultaneous_intervals": to_jsonable(result.values.interval(result.level, simultaneous=True)),
        "contrasts": [{**to_jsonable(asdict(c)), "significant": c.significant} for c in result.contrasts()],
        "family": {
            "name": fitted.estimator.name,
            "hyperparameters": fitted.estimator.to_document(),
            "mode": fitted.mode,
            "surface_share": fitted.surface_share,
            "psi_source": fitted.psi_source,
        },
        "attribution": attribution_document(result.attribution, scale),
        "efficient": efficient_document(result.efficient, result.level),
        "missing_outcomes": missing_document(result.missing, result.level),
        "segments": [segments_document(one, result) for one in result.segments],
        "routing": {**to_jsonable(asdict(result.routing)), "summary": routing_text(result.routing, scale)},
        "log_bias": {**to_jsonable(asdict(result.log_bias)), "summary": log_bias},
        "sensitivity": [
            {**to_jsonable(asdict(one)), "explanation": sensitivity_text(one, result.level, scale)}
            for one in result.sensitivity
        ],
        "counts": to_jsonable(asdict(result.counts)),
        "findings": [scale.finding_document(finding) for finding in result.findings],
        "recommendation_counts": recommendation_counts(result),
        "recommendations": [to_jsonable(asdict(row)) for row in result.recommendations],
    }


def attribution_document(attribution: Attribution | None, scale: Scale) -> dict[str, Any] | None:
    """Shares with their bootstrap standard deviations by source and view, and what they mean for the log."""
    if attribution is None:
        return None
    return {
        "shares": _by_source(attribution.shares),
        "bootstrap_sd": _by_source(attribution.bootstrap_sd),
        "variance_components": asdict(attribution.variance_components),
        "log_bias_sd": attribution.log_bias_sd,
        "explanation": explain_log_weight(attribution, scale),
    }


def read_attribution(stored: dict[str, Any] | None) -> Attribution | None:
    """The inverse of ``attribution_document``."""
    if stored is None:
        return None
    shares, bootstrap_sd = (
        number_array([[stored[name][source][view] for view in FEATURE_VIEWS] for source in SOURCES], np.nan)
        for name in ("shares", "bootstrap_sd")
    )
    if not (np.abs(shares) <= MAX_SHARE).all():
        raise ValueError("a share of the attribution is missing, or cannot be")
    return Attribution(shares, bootstrap_sd, VarianceComponents(**stored["variance_components"]))


def efficient_document(summary: EfficientSummary | None, level: float) -> dict[str, Any] | None:
    """Overlap, exclusion test and both kinds of values; null where nothing was estimated."""
    if summary is None:
        return None
    content: dict[str, Any] = {
        "requested": summary.requested,
        "used": summary.used,
        "obstacle": summary.obstacle,
        "narrowing": summary.narrowing(level),
        "overlap": None if summary.overlap is None else to_jsonable(asdict(summary.overlap)),
        "result": None,
    }
    if summary.result is not None:
        result = summary.result
        content["result"] = {
            "uses_shared_outputs": result.uses_shared_outputs.tolist(),
            "widening": to_jsonable(result.widening),
            "exclusion": to_jsonable(asdict(result.exclusion)),
            "values": values_document(result.values, level),
            "doubly_robust": values_document(result.doubly_robust, level),
        }
    return content


def read_efficient(stored: dict[str, Any] | None, models: tuple[str, ...]) -> EfficientSummary | None:
    """The inverse of ``efficient_document``."""
    if stored is None:
        return None
    overlap, result = stored["overlap"], stored["result"]
    return EfficientSummary(
        requested=stored["requested"],
        obstacle=stored["obstacle"],
        overlap=None if overlap is None else OutputOverlap(**_with_arrays(overlap)),
        result=None
        if result is None
        else EfficientValues(
            values=read_values(result["values"], models),
            doubly_robust=read_values(result["doubly_robust"], models),
            uses_shared_outputs=np.array(result["uses_shared_outputs"], dtype=np.bool_),
            widening=number_array(result["widening"], np.nan),
            exclusion=ExclusionTest(**_with_arrays(result["exclusion"])),
        ),
    )


def missing_document(missing: MissingOutcomes | None, level: float) -> dict[str, Any] | None:
    """Rows and missing outcomes per model, bounds and weighted values; null where no outcome is missing."""
    if missing is None:
        return None
    return {
        "models": list(missing.models),
        "rows": list(missing.rows),
        "missing": list(missing.missing),
        "bounds": missing.bounds(level).tolist(),
        "lowest": values_document(missing.lowest, level),
        "highest": values_document(missing.highest, level),
        "weighted": None if missing.weighted is None else values_document(missing.weighted, level),
        "effective_share": missing.effective_share,
        "imbalance": missing.imbalance,
    }


def read_missing(stored: dict[str, Any] | None, models: tuple[str, ...]) -> MissingOutcomes | None:
    """The inverse of ``missing_document``."""
    if stored is None:
        return None
    return MissingOutcomes(
        models,
        rows=tuple(stored["rows"]),
        missing=tuple(stored["missing"]),
        lowest=read_values(stored["lowest"], models),
        highest=read_values(stored["highest"], models),
        weighted=None if stored["weighted"] is None else read_values(stored["weighted"], models),
        effective_share=stored["effective_share"],
        imbalance=stored["imbalance"],
    )


def read_routing(stored: dict[str, Any]) -> RoutingGain:
    """A routing gain from its JSON form."""
    values: dict[str, Any] = {field.name: _from_json(stored[field.name]) for field in fields(RoutingGain)}
    return RoutingGain(**values)


def read_log_bias(stored: dict[str, Any]) -> LogBias:
    """A log bias from its JSON form."""
    values: dict[str, Any] = {field.name: _from_json(stored[field.name]) for field in fields(LogBias)}
    biases = (ModelBias(**{name: _from_json(part) for name, part in row.items()}) for row in stored["biases"])
    return LogBias(**{**values, "biases": tuple(biases)})


def read_sensitivity(stored: list[dict[str, Any]]) -> tuple[Sensitivity, ...]:
    """Sensitivities from their JSON form."""
    names = [field.name for field in fields(Sensitivity)]
    return tuple(Sensitivity(**{name: _from_json(one[name]) for name in names}) for one in stored)


def write_json(result: Result, path: Path) -> None:
    """Write the document to a file."""
    write_text(path, dump_json(document(result)))


def _by_source(table: FloatArray) -> dict[str, dict[str, float | None]]:
    rows = to_jsonable(table)
    return {source: dict(zip(FEATURE_VIEWS, row, strict=True)) for source, row in zip(SOURCES, rows, strict=True)}


def _with_arrays(stored: dict[str, Any]) -> dict[str, Any]:
    """Lists become arrays, and null becomes NaN."""
    return {
        name: number_array(value, np.nan) if isinstance(value, list) else _from_json(value)
        for name, value in stored.items()
    }


def _from_json(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """Lists become tuples, and null, which is a number that could not be estimated, becomes NaN."""
    if isinstance(value, list):
        return tuple(_from_json(part) for part in value)
    return math.nan if value is None else value
