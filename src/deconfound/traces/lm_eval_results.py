"""Which model a run of the lm-evaluation-harness evaluated: its results file says it, its samples do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deconfound.loading.input_limit import require_size
from deconfound.traces.field_values import first_text, mapping_from, seconds_from

MODEL_ARGUMENTS = ("peft", "delta", "pretrained", "model", "path", "engine")  # in the order of the harness


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the harness."""

    model: str
    time: float | None  # seconds since 1970


def run_from(value: Mapping[str, Any]) -> Run | None:
    """The run that a results file describes; none if the object is something else or does not name a model."""
    config = mapping_from(value.get("config"))
    if not isinstance(value.get("results"), Mapping) or not isinstance(value.get("configs"), Mapping):
        return None
    model = first_text(value.get("model_name"), _model_argument(config.get("model_args")))
    return Run(model, seconds_from(value.get("date"))) if model else None


def run_beside(samples: Path, date: str) -> Run | None:
    """The run of the results file in the folder of a samples file that has the same date; none if there is none."""
    path = samples.with_name(f"results_{date}.json")
    try:
        if not path.is_file():
            return None
        require_size(path.name, path.stat().st_size)
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return run_from(value) if isinstance(value, Mapping) else None


def _model_argument(arguments: object) -> str:
    """The model in ``model_args``: an object, or text such as "pretrained=cedar,dtype=auto"."""
    if isinstance(arguments, str):
        pairs = (argument.partition("=") for argument in arguments.split(","))
        arguments = {name.strip(): given for name, _, given in pairs}
    given = mapping_from(arguments)
    return first_text(*map(given.get, MODEL_ARGUMENTS))
