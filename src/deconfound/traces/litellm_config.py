"""The groups of LiteLLM's config.yaml and the weights with which its router draws their deployments.

The default strategy, simple-shuffle, draws by ``weight``, else by ``rpm``, else by ``tpm``, else evenly, among the
deployments of the lowest ``order``. A deployment without the number has the weight 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deconfound.formatting import quote
from deconfound.traces.field_values import list_from, mapping_from, number_from, objects_from, text_from
from deconfound.traces.router_weights import Arm, RouterGroup

METRICS = ("weight", "rpm", "tpm")
EVENLY = "no weights, so all equally"
DRAWING_STRATEGY = "simple-shuffle"
NUMBERS = (int, float)


def litellm_groups(config: Mapping[str, Any]) -> tuple[RouterGroup, ...]:
    """Every name of the list of models; names with a wildcard are left out."""
    deployments: dict[str, list[Mapping[str, Any]]] = {}
    for entry in objects_from(config.get("model_list")):
        name, parameters = text_from(entry.get("model_name")), mapping_from(entry.get("litellm_params"))
        if name and "*" not in name and text_from(parameters.get("model")):
            deployments.setdefault(name, []).append(parameters)
    settings = mapping_from(config.get("router_settings"))
    return tuple(_group(name, found, settings) for name, found in deployments.items())


def _group(name: str, deployments: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> RouterGroup:
    first = _of_lowest_order(deployments)
    metric, refusal = _metric(name, first)
    weights = [_number(one.get(metric)) or 0.0 for one in first] if metric else [1.0] * len(first)
    arms = [_arm(text_from(one["model"]), weight) for one, weight in zip(first, weights, strict=True) if weight > 0]
    return RouterGroup(
        name,
        (name, *_aliases(name, settings)),
        metric or EVENLY,
        tuple(arms),
        _strategy_refusal(name, deployments, settings) or refusal,
    )


def _arm(model: str, weight: float) -> Arm:
    """Calls name a model with or without its provider: ``openai/cedar-2`` is ``cedar-2`` too."""
    parts = model.split("/")
    names = tuple("/".join(parts[at:]) for at in range(len(parts)))
    return Arm(names[min(1, len(names) - 1)], names, weight)


def _of_lowest_order(deployments: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    orders = [_number(one.get("order")) for one in deployments]
    stated = [order for order in orders if order is not None]
    lowest = min(stated, default=None)
    return [one for one, order in zip(deployments, orders, strict=True) if order == lowest]


def _metric(name: str, deployments: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The number that the weights are; older versions look at the first deployment only, and must agree."""
    for metric in METRICS:
        for one in deployments:
            if one.get(metric) is not None and (_number(one[metric]) or 0.0) < 0.0:
                return "", f"{quote(name)} has a {metric} below 0"
            if one.get(metric) is not None and _number(one[metric]) is None:
                return "", f"{quote(name)} has the {metric} {quote(one[metric])}, which is no number"
    now = next((key for key in METRICS if any((_number(one.get(key)) or 0.0) > 0.0 for one in deployments)), "")
    before = next((key for key in METRICS if deployments and deployments[0].get(key) is not None), "")
    if now != before:
        what = f"only some deployments of {quote(name)} have a {now or before}, or it is 0"
        return "", f"{what}, and versions of LiteLLM differ in what they do then"
    return now, ""


def _strategy_refusal(name: str, deployments: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    strategy = text_from(settings.get("routing_strategy")) or DRAWING_STRATEGY
    if strategy != DRAWING_STRATEGY:
        return f"the routing_strategy is {quote(strategy)}, which does not draw with fixed weights"
    if any(name in list_from(group.get("models")) for group in objects_from(settings.get("routing_groups"))):
        return f"{quote(name)} is in one of the routing_groups, which have strategies of their own"
    if name in mapping_from(settings.get("weights")):
        return f"{quote(name)} has weights by deployment in router_settings, which are not read"
    if settings.get("enable_tag_filtering") in (True, "true") and any(one.get("tags") for one in deployments):
        return f"the deployments of {quote(name)} depend on the tags of a request"
    return ""


def _aliases(name: str, settings: Mapping[str, Any]) -> list[str]:
    aliases = mapping_from(settings.get("model_group_alias")).items()
    targets = {alias: text_from(to.get("model") if isinstance(to, Mapping) else to) for alias, to in aliases}
    return [alias for alias, target in targets.items() if target == name]


def _number(value: object) -> float | None:
    """A number as LiteLLM takes it; a text such as "3" is none."""
    return number_from(value) if isinstance(value, NUMBERS) else None
