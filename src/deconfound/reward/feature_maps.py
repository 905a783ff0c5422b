"""How phi, psi and modifiers follow from the columns that are summed over a long log."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.features import Featurizer
from deconfound.features.summed_proxy import proxy_phi_scale
from deconfound.reward.summed_log import FeatureMaps


def maps_of(featurizer: Featurizer, surface_share: float) -> FeatureMaps:
    """The maps of a featurizer at a share of surface statistics; the formulas are those of ``FeatureBlocks``."""
    text = featurizer.layout.buckets
    dense = 0 if featurizer.scaling is None else len(featurizer.scaling.weight)
    standardized = np.eye(text + dense + 1)[:, text : text + dense]
    proxies = np.zeros((text + dense + 1, 0))
    if featurizer.proxy is not None:
        scale = proxy_phi_scale(featurizer)
        proxies = np.vstack([scale[:, None] * featurizer.proxy.coef, featurizer.proxy.intercept])
    weights = np.zeros(0) if featurizer.scaling is None else featurizer.scaling.weight
    repeats = not text and featurizer.proxy is None and len(np.unique(weights[weights > 0])) == 1
    modifiers = np.ones(len(featurizer.modifier_scaling.weight))
    at, phi_scale = _phi(text, weights, surface_share)
    return FeatureMaps(at, phi_scale, np.hstack([proxies, standardized]), modifiers, psi_repeats_phi=repeats)


def _phi(text: int, weights: FloatArray, share: float) -> tuple[IntArray, FloatArray]:
    """The columns of phi among the summed ones, and their weights."""
    dense = len(weights)
    if not dense or (share == 0.0 and text):
        return np.arange(text), np.ones(text)
    if not text or share == 1.0:
        return text + np.arange(dense), np.sqrt(2.0) * weights
    scale = np.concatenate([np.full(text, np.sqrt(1.0 - share)), np.sqrt(2.0 * share) * weights])
    return np.arange(text + dense), scale
