"""The configuration of a gateway that draws the models of an experiment itself, and the manifest of what it draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from deconfound.assignment.assignment_rule import AssignmentRule
from deconfound.assignment.growthbook_writer import growthbook_json
from deconfound.assignment.litellm_writer import litellm_json, litellm_yaml, with_whole_weights
from deconfound.assignment.manifest import AssignmentManifest
from deconfound.assignment.tensorzero_writer import tensorzero_toml
from deconfound.errors import UsageError
from deconfound.formatting import join_names, quote

GatewayName = Literal["litellm", "growthbook", "tensorzero"]
EXTENSIONS: dict[GatewayName, tuple[str, ...]] = {
    "litellm": (".yaml", ".yml", ".json"),
    "growthbook": (".json",),
    "tensorzero": (".toml",),
}
UNITS: dict[GatewayName, str] = {"litellm": "call", "growthbook": "id", "tensorzero": "episode"}
"""What a gateway draws for; only that of GrowthBook can be chosen: the attribute that it hashes."""


@dataclass(frozen=True, slots=True)
class GatewayExperiment:
    """What a user says about an experiment in a gateway.

    ``group`` is the name that callers will ask for, by default that of the experiment. ``deployments`` are the
    gateway's own names of models, where they differ.
    """

    gateway: GatewayName
    rule: AssignmentRule
    group: str = ""
    unit: str = ""
    start: str = ""
    deployments: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class GatewayFile:
    """A gateway's configuration, and the manifest of what it will do."""

    text: str
    manifest: AssignmentManifest


def gateway_file(experiment: GatewayExperiment, path: PurePath) -> GatewayFile:
    """The file for one gateway; what the gateway cannot do is refused."""
    gateway, rule = experiment.gateway, experiment.rule
    _require_possible(experiment, path)
    names = {model: (experiment.deployments or {}).get(model, model) for model in rule.models}
    manifest = AssignmentManifest(
        with_whole_weights(rule) if gateway == "litellm" else rule,
        experiment.unit or UNITS[gateway],
        gateway,
        experiment.group or rule.experiment,
        experiment.start,
    )
    if gateway == "litellm":
        return GatewayFile((litellm_json if path.suffix == ".json" else litellm_yaml)(manifest, names), manifest)
    return GatewayFile((growthbook_json if gateway == "growthbook" else tensorzero_toml)(manifest, names), manifest)


def _require_possible(experiment: GatewayExperiment, path: PurePath) -> None:
    gateway, models = experiment.gateway, experiment.rule.models
    if path.suffix not in EXTENSIONS[gateway]:
        endings = " or ".join(EXTENSIONS[gateway])
        raise UsageError(f"-o: the configuration of {gateway} is a file ending in {endings}, not {quote(path.name)}.")
    unknown = sorted(set(experiment.deployments or {}) - set(models))
    if unknown:
        raise UsageError(f"--deployment names {join_names(unknown)}; the models are {join_names(models)}.")
    if gateway == "growthbook":
        return
    if experiment.rule.share < 1.0:
        raise UsageError(f"--share: {gateway} draws for every call of a name. Send it only that share of your calls.")
    if experiment.unit and experiment.unit != UNITS[gateway]:
        raise UsageError(f"--unit: {gateway} draws once per {UNITS[gateway]}; it cannot draw per {experiment.unit}.")
