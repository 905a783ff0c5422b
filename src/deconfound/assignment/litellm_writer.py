"""The experiment as LiteLLM's config.yaml: one name, one deployment per model, drawn by weight for every call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import gcd

from deconfound.assignment.assignment_rule import AssignmentRule
from deconfound.assignment.manifest import AssignmentManifest
from deconfound.escaping import escape_json, quoted_string

PARTS = 1_000_000  # of all weights together, before their common divisor is taken out
STRATEGY = "simple-shuffle"


def whole_weights(rule: AssignmentRule) -> tuple[int, ...]:
    """The smallest whole numbers in the proportions of the propensities, to a millionth: LiteLLM's type of a weight."""
    parts = [round(value * PARTS) for value in rule.propensity]
    divisor = gcd(*parts)
    return tuple(part // divisor for part in parts)


def with_whole_weights(rule: AssignmentRule) -> AssignmentRule:
    """The rule with the propensities that whole weights have."""
    weights = whole_weights(rule)
    return replace(rule, propensity=tuple(weight / sum(weights) for weight in weights))


def litellm_yaml(manifest: AssignmentManifest, names: Mapping[str, str]) -> str:
    """``names`` are LiteLLM's names of the models, such as openai/cedar."""
    lines = [f"# Experiment {manifest.rule.experiment}.", "model_list:"]
    for model, weight in zip(manifest.rule.models, whole_weights(manifest.rule), strict=True):
        lines += [
            f"  - model_name: {quoted_string(manifest.group)}",
            "    litellm_params:",
            f"      model: {quoted_string(names[model])}",
            f"      weight: {weight}",
        ]
    return "\n".join([*lines, "router_settings:", f"  routing_strategy: {STRATEGY}", ""])


def litellm_json(manifest: AssignmentManifest, names: Mapping[str, str]) -> str:
    """The same as JSON, which LiteLLM reads as YAML."""
    deployments = [
        {"model_name": manifest.group, "litellm_params": {"model": names[model], "weight": weight}}
        for model, weight in zip(manifest.rule.models, whole_weights(manifest.rule), strict=True)
    ]
    document = {"model_list": deployments, "router_settings": {"routing_strategy": STRATEGY}}
    return escape_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
