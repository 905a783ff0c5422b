"""Log bias and routing gain in plain English."""

from __future__ import annotations

import math

from deconfound.decide.routing import RoutingGain
from deconfound.formatting import format_percent, join_names, pluralize, quote
from deconfound.value import MIN_ROWS_PER_MODEL
from deconfound.value.log_bias import LogBias


def log_bias_text(log_bias: LogBias) -> str:
    """How far the raw averages of the log can be trusted."""
    if log_bias.verdict == "cannot tell":
        return "The bias of the log cannot be estimated: no model has enough rows in both log and experiment."
    sentences = _bias_sentences(log_bias)
    missing = [bias.model for bias in log_bias.biases if not bias.is_estimable]
    if missing:
        sentences.append(f"No bias could be estimated for {join_names(missing)}.")
    return " ".join(sentences)


def _bias_sentences(log_bias: LogBias) -> list[str]:
    bound = f"for a single model it may be up to {log_bias.max_bias_bound:.2f}"
    if log_bias.verdict == "no bias shown":
        return [f"No bias of the log was detected at {format_percent(log_bias.level)} confidence; {bound}."]
    first = log_bias.log_best_model
    named = (("overrates", log_bias.overrated), ("underrates", log_bias.underrated))
    errors = " and ".join(f"{verb} {join_names(models)}" for verb, models in named if models)
    size = f"Its averages are typically off by {log_bias.rms_bias:.2f}; {bound}."
    if log_bias.verdict == "biased":
        return [f"The log {errors}.", f"The model it ranks first, {quote(first)}, may still be the best.", size]
    ranking = f"The log ranks {quote(first)} first, but {join_names([first])} is not the best model."
    return [ranking, *([f"The log {errors}."] if errors else []), size]


def routing_text(routing: RoutingGain) -> str:
    """Whether choosing a model per context pays."""
    best, level = quote(routing.best), format_percent(routing.level)
    interval = f"({level} interval {routing.gain_low:+.3f} to {routing.gain_high:+.3f})"
    if routing.verdict == "route":
        return f"Routing pays: it gains {routing.gain:+.3f} over always using {best} {interval}."
    if routing.verdict == "one model":
        return f"Use {best} everywhere: no routing can gain {routing.min_gain:g} or more ({level} confidence)."
    if routing.on_policy_rows < MIN_ROWS_PER_MODEL or math.isnan(routing.gain):
        rows = pluralize(routing.on_policy_rows, "experiment row")
        return f"No evidence on routing: {rows} used the model that routing would choose. Randomize more contexts."
    return (
        f"No evidence that routing pays: its gain over always using {best} lies between {routing.gain_low:+.3f} "
        f"and {routing.gain_high:+.3f} ({level} confidence)."
    )
