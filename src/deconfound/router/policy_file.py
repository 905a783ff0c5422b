"""A policy as a JSON file: small, readable, without code in it, and refused with a reason if it is damaged."""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from deconfound.assignment.json_file import read_json
from deconfound.atomic import write_text
from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import escape_json, readable_path
from deconfound.formatting import to_jsonable
from deconfound.router.policy import Kind, PolicyEvidence, RoutingPolicy, SegmentScores
from deconfound.router.prompt_scores import PromptScores, StyleScale
from deconfound.words.prompt_style import STATISTICS

FORMAT = "deconfound policy"
SCHEMA = 1
FIX = "Name a file that `deconfound route -o FILE.json` has written."
MAX_BUCKETS = 2**20
FLOAT = np.dtype("<f4")


def write_policy(policy: RoutingPolicy, path: Path, *, overwrite: bool = False) -> None:
    """Write the file; the same policy gives the same bytes."""
    if path.exists() and not overwrite:
        raise UsageError(f"{readable_path(path)} exists; choose another name, or overwrite it.")
    write_text(path, policy_json(policy))


def read_policy(path: str | os.PathLike[str]) -> RoutingPolicy:
    """Read and check a file."""
    return policy_from_document(read_json(path, FIX), readable_path(path))


def policy_json(policy: RoutingPolicy) -> str:
    """The content of the file."""
    text = json.dumps(to_jsonable(policy_document(policy)), indent=1, ensure_ascii=False, allow_nan=False)
    return escape_json(text) + "\n"


def policy_document(policy: RoutingPolicy) -> dict[str, Any]:
    """The policy as an object of JSON."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "schema": SCHEMA,
        "kind": policy.kind,
        "models": list(policy.models),
        "default": policy.default,
        "scores": policy.scores.tolist(),
        "evidence": asdict(policy.evidence),
    }
    rule = policy.rule
    if isinstance(rule, SegmentScores):
        scores = {name: values.tolist() for name, values in rule.by_segment.items()}
        chosen = {name: policy.choose("", name) for name in scores}
        document["segments"] = {"column": rule.column, "models": chosen, "scores": scores}
    elif isinstance(rule, PromptScores):
        document["prompt"] = {
            "buckets": len(rule.word_weight),
            "base": rule.base.tolist(),
            "style_mean": rule.style_scale.mean.tolist(),
            "style_sd": rule.style_scale.sd.tolist(),
            "style_weight": rule.style_weight.tolist(),
            "word_weight": base64.b64encode(rule.word_weight.astype(FLOAT).tobytes()).decode("ascii"),
        }
    return document


def policy_from_document(document: object, source: str) -> RoutingPolicy:
    """The inverse of ``policy_document``; errors name the source."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError([Problem(source, "this is no policy of deconfound", FIX)])
    if document.get("schema") != SCHEMA:
        what = f"the policy has schema {document.get('schema')!r}, and this version reads {SCHEMA}"
        raise DataError([Problem(source, what, "Run `deconfound route` again with this version.")])
    try:
        return _policy(document)
    except (ValueError, OverflowError, LookupError, TypeError, AttributeError, binascii.Error) as error:
        what = f"the policy is damaged ({error})"
        raise DataError([Problem(source, what, "Run `deconfound route` again.")]) from error


def _policy(document: Mapping[str, Any]) -> RoutingPolicy:
    models = tuple(_text(name, "a model") for name in document["models"])
    if len(set(models)) < len(models) or not models:
        raise ValueError("models are missing or named twice")
    default = _text(document["default"], "default")
    if default not in models:
        raise ValueError("its default is none of its models")
    kind = document["kind"]
    if kind not in get_args(Kind):
        raise ValueError("its kind is unknown")
    rule: SegmentScores | PromptScores | None = None
    if kind == "segments":
        rule = _segments(document["segments"], len(models))
    elif kind == "context":
        rule = _prompt_scores(document["prompt"], len(models))
    scores = _numbers(document["scores"], (len(models),), "scores")
    return RoutingPolicy(models, default, scores, rule, _evidence(document["evidence"]))


def _segments(document: Mapping[str, Any], count: int) -> SegmentScores:
    scores = {
        _text(name, "a segment"): _numbers(values, (count,), "scores of a segment")
        for name, values in document["scores"].items()
    }
    return SegmentScores(_text(document["column"], "column"), scores)


def _prompt_scores(document: Mapping[str, Any], count: int) -> PromptScores:
    buckets = document["buckets"]
    if type(buckets) is not int or not 1 <= buckets <= MAX_BUCKETS:
        raise ValueError("buckets is no usable number")
    data = base64.b64decode(_text(document["word_weight"], "word_weight"), validate=True)
    if len(data) != FLOAT.itemsize * buckets * count:
        raise ValueError("word_weight has another size than models and buckets require")
    word_weight = np.frombuffer(data, FLOAT).astype(np.float64).reshape(buckets, count)
    mean, sd = (_numbers(document[name], (STATISTICS,), name) for name in ("style_mean", "style_sd"))
    if not np.isfinite(word_weight).all() or (sd < 0).any():
        raise ValueError("a weight or scale is no usable number")
    return PromptScores(
        base=_numbers(document["base"], (count,), "base"),
        word_weight=word_weight,
        style_weight=_numbers(document["style_weight"], (STATISTICS, count), "style_weight"),
        style_scale=StyleScale(mean, sd),
    )


def _evidence(document: Mapping[str, Any]) -> PolicyEvidence:
    if document["considered"] not in get_args(Kind) or not isinstance(document["pays"], bool):
        raise ValueError("its evidence is incomplete")
    gain, low, high, level = (_number_or_nan(document[name]) for name in ("gain", "gain_low", "gain_high", "level"))
    rows = int(document["experiment_rows"])
    over = _text(document["over"], "over")
    return PolicyEvidence(document["considered"], document["pays"], gain, low, high, level, over, rows)


def _number_or_nan(value: object) -> float:
    return math.nan if value is None else float(_numbers([value], (1,), "evidence")[0])


def _numbers(values: object, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    array = np.array(values, dtype=object)
    if array.shape != shape or not all(type(value) in (int, float) for value in array.ravel()):
        raise ValueError(f"{name} is not {' x '.join(map(str, shape))} numbers")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} has a number that is not finite")
    return numbers


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is no text")
    return value
