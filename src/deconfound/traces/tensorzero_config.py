"""The functions of tensorzero.toml and the weights with which the gateway draws their variants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deconfound.formatting import join_names, quote
from deconfound.traces.field_values import mapping_from, number_from, text_from
from deconfound.traces.router_weights import Arm, RouterGroup

EVENLY = "no weights, so all equally"
FIXED_TYPES = ("static", "static_weights", "uniform")
CANDIDATES = "candidate_variants"


def tensorzero_groups(config: Mapping[str, Any]) -> tuple[RouterGroup, ...]:
    """Every function; its variants are drawn as ``experimentation`` says, else by their own weights."""
    models = mapping_from(config.get("models"))
    functions = mapping_from(config.get("functions"))
    return tuple(_group(name, mapping_from(one), models) for name, one in functions.items() if name)


def _group(name: str, function: Mapping[str, Any], models: Mapping[str, Any]) -> RouterGroup:
    variants = mapping_from(function.get("variants"))
    experimentation = mapping_from(function.get("experimentation"))
    refusal = _refusal(name, experimentation)
    given, basis = _candidates(experimentation) if experimentation else _own_weights(variants)
    if not given:
        given, basis = dict.fromkeys(variants, 1.0), EVENLY
    weights = {variant: number_from(weight) for variant, weight in given.items()}
    wrong = [variant for variant, weight in weights.items() if weight is None or weight < 0.0]
    if wrong:
        refusal = refusal or f"the function {quote(name)} has no usable weight for {join_names(wrong)}"
    arms = [
        _arm(name, variant, mapping_from(variants.get(variant)), models, weight)
        for variant, weight in weights.items()
        if weight is not None and weight > 0.0
    ]
    return RouterGroup(name, (name, f"tensorzero::function_name::{name}"), basis, tuple(arms), refusal)


def _candidates(experimentation: Mapping[str, Any]) -> tuple[dict[str, object], str]:
    """Candidates are a list, drawn evenly, or weights by name."""
    given = experimentation.get(CANDIDATES)
    if isinstance(given, list):
        return {variant: 1.0 for variant in map(text_from, given) if variant}, CANDIDATES
    return dict(mapping_from(given)), CANDIDATES


def _own_weights(variants: Mapping[str, Any]) -> tuple[dict[str, object], str]:
    """Where some variants have weights, the others are fallbacks."""
    weights = {variant: mapping_from(one).get("weight") for variant, one in variants.items()}
    return {variant: weight for variant, weight in weights.items() if weight is not None}, "weight"


def _refusal(name: str, experimentation: Mapping[str, Any]) -> str:
    kind = text_from(experimentation.get("type")) or FIXED_TYPES[0]
    if kind not in FIXED_TYPES:
        return f"the experiment of {quote(name)} is {quote(kind)}: its probabilities change over time"
    if experimentation.get("fallback_variants") and not experimentation.get(CANDIDATES):
        return f"the experiment of {quote(name)} has fallback_variants only, so nothing is drawn"
    if experimentation.get("namespaces"):
        return f"the experiment of {quote(name)} depends on the namespace of a request"
    return ""


def _arm(function: str, variant: str, value: Mapping[str, Any], models: Mapping[str, Any], weight: float) -> Arm:
    """Calls name the variant, its model, or what the model's provider calls it."""
    model = text_from(value.get("model")) or variant
    parts = model.split("::")
    shorter = ["::".join(parts[at:]) for at in range(len(parts))]
    providers = mapping_from(mapping_from(models.get(model)).get("providers")).values()
    provided = [text_from(mapping_from(one).get("model_name")) for one in providers]
    own = f"tensorzero::function_name::{function}::variant_name::{variant}"
    names = (own, *shorter, *filter(None, provided), variant)
    return Arm(parts[-1] or variant, names, weight)
