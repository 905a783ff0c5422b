"""How a result was computed: the tables, what the reward reads, how values follow from it, and the settings."""

from __future__ import annotations

import math
from dataclasses import asdict

from deconfound.design.outcome_sums import MAX_CLUSTERS
from deconfound.escaping import escape_line
from deconfound.features import Featurizer
from deconfound.findings import LONG_LOG
from deconfound.formatting import join_names
from deconfound.report.attribution_text import attribution_paragraph
from deconfound.report.efficient_text import efficient_detail_lines
from deconfound.report.scale import Scale
from deconfound.report.scope_text import ONE_LOOK, unused_context_lines
from deconfound.result import Result
from deconfound.tune import Mode
from deconfound.value.efficient import METHOD as EFFICIENT
from deconfound.value_methods import PAPER

TUNED_ON: dict[Mode, str] = {
    "model": "tuned on held-out models",
    "sample": "tuned on held-out contexts",
    "holdout": "tuned on one hold-out split",
    "fixed": "the defaults",
}


def method_lines(result: Result) -> list[str]:
    """One paragraph per line: plain sentences first, numbers for specialists last."""
    scale, attribution = Scale.of(result), []
    if result.attribution is not None:
        attribution = attribution_paragraph(result.attribution, scale).split("\n")
    tables = [*_table_lines(result), *long_log_lines(result), *unused_context_lines(result)]
    values = [_values_line(result), *efficient_detail_lines(result.efficient, scale), ONE_LOOK]
    return [*tables, _reward_line(result), *values, *attribution, _settings_line(result, scale)]


def long_log_lines(result: Result) -> list[str]:
    """How a long log was used; nothing for a short one."""
    return [finding.message for finding in result.findings if finding.check == LONG_LOG]


def _table_lines(result: Result) -> list[str]:
    tables = {"log": result.counts.log, "experiment": result.counts.experiment, "replay": result.counts.replay}
    width = max(len(name) for name in tables)
    lines = []
    for name, counts in tables.items():
        source = escape_line(counts.source)
        unused = f"; unused columns: {join_names(counts.unused_columns)}" if counts.unused_columns else ""
        contexts = f"{'about ' * (counts.contexts > MAX_CLUSTERS)}{counts.contexts:,} contexts"
        lines.append(f"{name + ':':<{width + 1}} {counts.rows:,} rows, {contexts} ({source}){unused}")
    return lines


def _reward_line(result: Result) -> str:
    fitted = result.family
    chosen = "estimated from log and experiment" if result.attribution is not None else TUNED_ON[fitted.mode]
    return (
        f"Reward (family {fitted.estimator.name}): a model that predicts the outcome from "
        f"{reward_inputs(result.featurizer)}. Its settings are {chosen}."
    )


def reward_inputs(featurizer: Featurizer) -> str:
    """What the reward reads, in the user's terms."""
    layout = featurizer.layout
    kinds = (
        ("the words of context and output", layout.reads_text),
        ("what the log's labels show", featurizer.proxy),
        ("statistics of the output such as its length", layout.surface),
        ("the feature_* columns", layout.columns),
    )
    *first, last = [name for name, present in kinds if present]
    return f"{', '.join(first)} and {last}" if first else last


def _values_line(result: Result) -> str:
    method = result.values.method
    if method.startswith("direct"):
        return (
            "Values: the mean prediction for each model, without correction by the experiment (direct). Their "
            "intervals are those of the corrected values, extended to contain them: only the experiment shows how far "
            "a prediction is off."
        )
    if method == PAPER:
        return (
            "Values: the paper's doubly robust formula. The mean of the prediction for each model plus, on its own "
            "rows, the residual divided by the propensity. No reward weight, small-sample correction or shrinkage."
        )
    correction = "efficient" if method.startswith(EFFICIENT) else "doubly robust"
    shrunk = " They are then moved toward the mean prediction, by at most one standard error." * ("shrunk" in method)
    return (
        f"Values: the mean prediction for each model, corrected by the experiment's outcomes ({correction}). No row is "
        f"predicted by a reward that was fitted on it (cross-fitting).{shrunk}"
    )


def _settings_line(result: Result, scale: Scale) -> str:
    if result.attribution is None:
        named: dict[str, object] = {
            **{name.replace("_", " "): value for name, value in result.family.estimator.to_document().items()},
            "share of output statistics": result.family.surface_share,
        }
    else:
        text = "text" if result.featurizer.layout.reads_text else "columns"
        components = asdict(result.attribution.variance_components)
        named = {
            f"SD of {name.replace('_', ' ').replace(' text', f' {text}')}": abs(scale.width) * math.sqrt(size)
            for name, size in components.items()
            if size > 0
        }
    settings = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in named.items())
    unit = f" (SD in {scale.difference_unit})" if result.attribution is not None and scale.difference_unit else ""
    return f"Settings{unit}: {settings}, seed {result.seed}."
