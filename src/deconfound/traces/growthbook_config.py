"""The experiments among GrowthBook's features, as its SDKs read them, and the weights of their variations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from deconfound.formatting import quote
from deconfound.traces.field_values import list_from, mapping_from, number_from, objects_from, text_from
from deconfound.traces.router_weights import Arm, RouterGroup

EVENLY = "no weights, so all equally"
SUM_ATOL = 0.01 + 1e-9  # beyond it, the SDKs ignore the weights


def growthbook_groups(config: Mapping[str, Any]) -> tuple[RouterGroup, ...]:
    """Every rule of a feature that draws among variations; callers know it by its key or by the feature."""
    groups = []
    for feature, value in mapping_from(config.get("features")).items():
        for rule in objects_from(mapping_from(value).get("rules")):
            if list_from(rule.get("variations")):
                groups.append(_group(feature, rule))
    return tuple(groups)


def _group(feature: str, rule: Mapping[str, Any]) -> RouterGroup:
    name = text_from(rule.get("key")) or feature
    variations, meta = list_from(rule["variations"]), list_from(rule.get("meta"))
    weights, basis, refusal = _weights(name, rule, len(variations))
    arms = [
        _arm(at, variation, mapping_from(meta[at]) if at < len(meta) else {}, weights[at])
        for at, variation in enumerate(variations)
        if weights[at] > 0.0
    ]
    return RouterGroup(name, (name, feature), basis, tuple(arms), refusal)


def _weights(name: str, rule: Mapping[str, Any], count: int) -> tuple[list[float], str, str]:
    """A weight per variation, the setting that they are from, and why they are no probabilities."""
    even = [1.0] * count
    if rule.get("ranges") is not None:
        return even, EVENLY, f"the experiment {quote(name)} has ranges instead of weights, which are not read"
    given = rule.get("weights")
    if given is None:
        return even, EVENLY, ""
    numbers = [number_from(value) for value in list_from(given)]
    usable = [number for number in numbers if number is not None and number >= 0.0]
    if len(usable) != count or len(numbers) != count:
        return even, EVENLY, f"the experiment {quote(name)} has no usable weight for each variation"
    if abs(math.fsum(usable) - 1.0) > SUM_ATOL:
        return even, EVENLY, f"the weights of {quote(name)} do not sum to 1, so GrowthBook ignores them"
    return usable, "weights", ""


def _arm(at: int, variation: object, meta: Mapping[str, Any], weight: float) -> Arm:
    """Calls name the model as the variation's key, name or value; exposures may have its number."""
    value = text_from(variation) or text_from(mapping_from(variation).get("model"))
    names: Sequence[str] = [text_from(meta.get("key")), text_from(meta.get("name")), value]
    found = tuple(dict.fromkeys(name for name in names if name)) or (str(at),)
    return Arm(found[0], found, weight)
