"""Log bias and routing gain in plain English."""

from __future__ import annotations

import math

from deconfound.decide.routing import RoutingGain
from deconfound.escaping import escape_name
from deconfound.formatting import format_percent, join_names, pluralize, quote
from deconfound.report.scale import UNIT, Scale
from deconfound.value import MIN_ROWS_PER_MODEL
from deconfound.value.log_bias import LogBias

NO_SCALE = "Numbers are on a scale from 0 to 1."

OWN_CONTEXTS = "This compares the log with the experiment's own contexts, not with the target's."

SMALL_DIFFERENCES = (
    "This assumes that contexts differ little in what text and columns do not show; "
    "too few contexts recur in the experiment to estimate it."
)


def log_bias_text(
    log_bias: LogBias, scale: Scale | None = None, *, before_cost: bool = False, has_target: bool = False
) -> str:
    """How far the raw averages of the log can be trusted; ``before_cost`` says that costs are left out here.

    ``has_target`` says that values are for other contexts than those that the log was compared on. Without a scale it
    is that from 0 to 1, which the text then says.
    """
    if log_bias.verdict == "cannot tell":
        return "The bias of the log cannot be estimated: no model has enough rows in both log and experiment."
    sentences = _bias_sentences(log_bias, scale or UNIT, " before cost" * before_cost)
    missing = [bias.model for bias in log_bias.biases if not bias.is_estimable]
    if missing:
        sentences.append(f"No bias could be estimated for {join_names(missing)}.")
    if has_target:
        sentences.append(OWN_CONTEXTS)
    return " ".join([*sentences, *([NO_SCALE] if scale is None else [])])


def _bias_sentences(log_bias: LogBias, scale: Scale, before_cost: str) -> list[str]:
    largest = scale.with_unit(scale.rough_difference(log_bias.max_bias_bound))
    bound = f"that of a single model may be off by up to {largest}"
    if log_bias.verdict == "no bias shown":
        confidence = format_percent(log_bias.level)
        undetected = f"No bias of the log's averages was detected at {confidence} confidence, but {bound}."
        return [undetected, *_first_of_the_log(log_bias, before_cost)]
    first = log_bias.log_best_model
    named = (("overrates", log_bias.overrated), ("underrates", log_bias.underrated))
    errors = "; it ".join(f"{verb} {join_names(models)}" for verb, models in named if models)
    size = f"Its averages are typically off by {scale.with_unit(scale.rough_difference(log_bias.rms_bias))}; {bound}."
    if log_bias.verdict == "biased":
        return [f"The log {errors}.", *_first_of_the_log(log_bias, before_cost), size]
    shown = quote(first, whole=True)
    ranking = f"The log ranks {shown} first, but {escape_name(first)} is not the best model{before_cost}."
    return [ranking, *([f"The log {errors}."] if errors else []), size]


def _first_of_the_log(log_bias: LogBias, before_cost: str) -> list[str]:
    """What a reader of the raw log would choose; nothing of a model that only the log has a value for."""
    here, first = log_bias.best_set[0], log_bias.log_best_model
    if first in (bias.model for bias in log_bias.biases if not bias.is_estimable):
        return []
    if here == first:
        return [f"The log's first model, {quote(first, whole=True)}, is also first here{before_cost}."]
    models = f"The log ranks {quote(first, whole=True)} first, this evaluation {quote(here, whole=True)}{before_cost}"
    return [f"{models}; the data do not show which of them is better."]


def routing_text(routing: RoutingGain, scale: Scale | None = None) -> str:
    """Whether choosing a model per context pays; without a scale it is that from 0 to 1, which the text then says."""
    sentence = _routing_sentence(routing, scale or UNIT)
    has_gain = routing.verdict != "cannot tell" or _is_estimated(routing)
    return f"{sentence} {NO_SCALE}" if scale is None and has_gain else sentence


def _is_estimated(routing: RoutingGain) -> bool:
    return routing.on_policy_rows >= MIN_ROWS_PER_MODEL and not math.isnan(routing.gain)


def _routing_sentence(routing: RoutingGain, scale: Scale) -> str:
    best, level = quote(routing.best, whole=True), format_percent(routing.level)
    gain, low, high = map(scale.improvement, (routing.gain, routing.gain_low, routing.gain_high))
    gain, high = scale.with_unit(gain), scale.with_unit(high)
    if routing.verdict == "route":
        return f"Routing pays: it gains {gain} over always using {best} ({level} interval {low} to {high})."
    if routing.verdict == "one model":
        min_gain = scale.with_unit(f"{abs(scale.width) * routing.min_gain:.3g}")
        return f"Use {best} everywhere: no routing can gain {min_gain} or more ({level} confidence)."
    if routing.on_policy_rows >= MIN_ROWS_PER_MODEL and math.isnan(routing.gain):
        others = format_percent(1.0 - routing.best_model_share, 1)
        return (
            f"No evidence on routing: in cross-validation it chose another model than {best} for {others} of the rows, "
            "too few to show the difference. Randomize more contexts."
        )
    if routing.on_policy_rows < MIN_ROWS_PER_MODEL:
        rows = pluralize(routing.on_policy_rows, "experiment row")
        return f"No evidence on routing: {rows} used the model that routing would choose. Randomize more contexts."
    if routing.gain_low > 0:
        return (
            f"Routing may pay: it gains {gain} over always using {best} ({level} interval {low} to {high}), but not "
            "significantly over every single model."
        )
    shown = (
        "No evidence that routing pays: the recommendations do not differ from one model for all."
        if routing.gain == 0
        else f"No evidence that routing by these recommendations pays: their gain over always using {best} lies "
        f"between {low} and {high} ({level} confidence)."
    )
    return f"{shown}{_limit(routing, scale)}"


def _limit(routing: RoutingGain, scale: Scale) -> str:
    """What any routing could gain, where that is limited."""
    if routing.achievable_gain_bound >= 1:
        return ""
    gain = scale.with_unit(scale.improvement(routing.achievable_gain_bound))
    return f" No routing can gain more than {gain} ({format_percent(routing.level)} confidence)."
