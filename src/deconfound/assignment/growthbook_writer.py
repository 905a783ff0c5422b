"""The experiment as a feature of GrowthBook, in the JSON that its SDKs read: the value of the feature is the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from deconfound.assignment.manifest import AssignmentManifest
from deconfound.escaping import escape_json

HASH_VERSION: Final = 2  # the first one is biased where experiments run in parallel, as GrowthBook says


def growthbook_json(manifest: AssignmentManifest, names: Mapping[str, str]) -> str:
    """``names`` are the values of the feature; the keys of the variations, which exposures have, are our names."""
    rule = manifest.rule
    experiment = {
        "key": rule.experiment,
        "seed": rule.experiment,
        "hashAttribute": manifest.unit,
        "hashVersion": HASH_VERSION,
        "coverage": rule.share,
        "variations": [names[model] for model in rule.models],
        "weights": list(rule.propensity),
        "meta": [{"key": model, "name": model} for model in rule.models],
    }
    document = {"features": {manifest.group: {"defaultValue": None, "rules": [experiment]}}}
    return escape_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
