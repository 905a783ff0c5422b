"""An attribution in words: which source the estimated differences between models come from, and why."""

from __future__ import annotations

import numpy as np

from deconfound.formatting import join_names
from deconfound.reward import Attribution
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES

MIN_PRINTED_SHARE = 0.005
"""Smaller shares are printed as zero."""

NEGLIGIBLE_LOG_BIAS = 0.03
"""A standard deviation of the log's bias, in outcome units, that rarely changes a ranking."""


def attribution_paragraph(attribution: Attribution) -> str:
    """The shares of sources and views, their stability, and the reason for the log's weight."""
    sources = []
    for source, percents in zip(SOURCES, 100 * attribution.shares, strict=True):
        views = ", ".join(f"{view} {round(share)}" for view, share in zip(FEATURE_VIEWS, percents, strict=True))
        sources.append(f"{source} {round(percents.sum())} % ({views})")
    sentences = [f"Sources of the estimated differences between models: {join_names(sources)}."]
    if np.isfinite(attribution.bootstrap_sd).any():
        max_sd = 100 * float(np.nanmax(attribution.bootstrap_sd))
        sentences.append(f"Bootstrap SD: at most {max_sd:.0f} points.")
    if (attribution.shares < -MIN_PRINTED_SHARE).any():
        sentences.append("Shares sum to 100; negative ones offset others.")
    return f"{' '.join(sentences)}\n{explain_log_weight(attribution)}"


def explain_log_weight(attribution: Attribution) -> str:
    """Why the log has the weight it has, in one sentence."""
    sd, variances = f"SD {attribution.log_bias_sd:.2f}", attribution.variance_components
    if attribution.log_bias_sd < NEGLIGIBLE_LOG_BIAS:
        return f"The log agrees with the experiment where they can be compared (bias {sd}), so the log is pooled."
    if variances.bias_model > variances.bias_proxies + variances.bias_text:
        return (
            f"The log's bias ({sd}) differs mainly by model, so its per-model averages are down-weighted; "
            "what it shows about outputs is still used."
        )
    return (
        f"The log's bias ({sd}) depends on the outputs, so the log is down-weighted and the experiment has more weight."
    )
