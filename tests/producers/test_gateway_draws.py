"""Files of `deconfound assign` in the real gateways: they are accepted, and drawn with the manifest's propensities.

The draws of a proper gateway are beyond the chi-square's quantile 1 - 1e-6 with probability 1e-6.
"""

from __future__ import annotations

import json

import pytest
from scipy.stats import chi2

from deconfound.assignment import AssignmentManifest
from deconfound.cli import main
from tests.producers.environments import Producer
from tests.producers.test_litellm_files import LITELLM

pytestmark = pytest.mark.slow

GROWTHBOOK = Producer("growthbook", ("growthbook==3.2.2",))
TENSORZERO = Producer("tensorzero", ("tensorzero==2026.6.0",))
MODELS = {"cedar": 0.5, 'o"ak': 0.3, "élm/2": 0.2}
CALLS = 1_000


@pytest.mark.parametrize(
    ("producer", "name", "options"),
    [
        (LITELLM, "config.yaml", [f"--deployment={model}=openai/{model}" for model in MODELS]),
        (GROWTHBOOK, "features.json", ["--unit=user_id", "--share=0.8"]),
        (TENSORZERO, "tensorzero.toml", [f"--deployment={model}=local" for model in MODELS]),
    ],
    ids=["litellm", "growthbook", "tensorzero"],
)
def test_a_gateway_draws_with_the_manifests_propensities(producer, name, options, installed, tmp_path):
    environment = installed(producer)
    shares = ",".join(f"{model}={share}" for model, share in MODELS.items())
    command = ["assign", "--experiment", "prices", "--propensity", shares, "--to", producer.name, "--group", "chat bot"]
    assert main([*command, *options, "-q", "-o", str(tmp_path / name)]) == 0
    environment.run_script("gateway_draws.py", tmp_path, producer.name, str(tmp_path / name), str(CALLS))
    drawn = json.loads((tmp_path / "draws.json").read_text(encoding="utf-8"))
    manifest = AssignmentManifest.load((tmp_path / name).with_suffix(".manifest.json"))
    assert drawn.keys() == manifest.rule.propensities.keys()
    total = sum(drawn.values())
    expected = {model: total * share for model, share in manifest.rule.propensities.items()}
    statistic = sum((drawn[model] - expected[model]) ** 2 / expected[model] for model in drawn)
    assert statistic < chi2.ppf(1 - 1e-6, len(drawn) - 1)
    spread = (CALLS * manifest.rule.share * (1 - manifest.rule.share)) ** 0.5
    assert abs(total - CALLS * manifest.rule.share) <= 5 * spread
