"""An attribution in words: which source the estimated differences between models come from, and why."""

from __future__ import annotations

import numpy as np

from deconfound.report.scale import UNIT, Scale
from deconfound.reward import Attribution
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES

MODEL_VIEW, BY_CONTEXT_VIEW = FEATURE_VIEWS.index("model"), FEATURE_VIEWS.index("model by context")
MIN_PRINTED_SHARE = 0.005
"""Smaller shares are printed as zero."""

NEGLIGIBLE_LOG_BIAS = 0.03
"""A standard deviation of the log's bias, in outcome units, that rarely changes a ranking."""


def attribution_paragraph(attribution: Attribution, scale: Scale = UNIT) -> str:
    """The shares of both sources, their stability, and the reason for the log's weight.

    Text and proxies are one share, that of the outputs: both describe what a model wrote.
    """
    sources = []
    for source, percents in zip(SOURCES, 100 * attribution.shares, strict=True):
        by_model, by_context = percents[MODEL_VIEW], percents[BY_CONTEXT_VIEW]
        views = (
            f"through what the models wrote {round(percents.sum() - by_model - by_context)}",
            f"through averages per model {round(by_model)}",
            f"through which model suits which context {round(by_context)}",
        )
        sources.append(f"{source} {round(percents.sum())} % ({', '.join(views)})")
    sentences = [f"Sources of the estimated differences between models: {'; '.join(sources)}."]
    if np.isfinite(attribution.bootstrap_sd).any():
        max_sd = 100 * float(np.nanmax(attribution.bootstrap_sd))
        sentences.append(f"The shares vary by up to {max_sd:.0f} points (SD) if the experiment is resampled.")
    if (attribution.shares < -MIN_PRINTED_SHARE).any():
        sentences.append("Shares sum to 100; negative ones offset others.")
    return f"{' '.join(sentences)}\n{explain_log_weight(attribution, scale)}"


def explain_log_weight(attribution: Attribution, scale: Scale = UNIT) -> str:
    """Why the log has the weight it has, in one sentence."""
    sd = f"SD {scale.with_unit(scale.rough_difference(attribution.log_bias_sd))}"
    variances = attribution.variance_components
    if attribution.log_bias_sd < NEGLIGIBLE_LOG_BIAS:
        return f"Log and experiment agree where they can be compared (bias {sd}), so the log counts in full."
    if variances.bias_model + variances.bias_model_by_context > variances.bias_proxies + variances.bias_text:
        return (
            f"A bias of the log (estimated {sd}) that differs mainly by model is allowed for: its averages per model "
            "count less, and what it shows about outputs is still used."
        )
    return (
        f"A bias of the log (estimated {sd}) that depends on the outputs is allowed for: the log counts less, and the "
        "experiment more, than without one."
    )
