"""LiteLLM's own router with a policy as its callback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deconfound
from deconfound.router.policy_file import write_policy
from tests.producers.environments import Producer
from tests.router.policies import policies

pytestmark = pytest.mark.slow

LITELLM = Producer(
    "litellm-routing",
    ("litellm==1.106.2", "fastapi==0.162.4", "orjson==3.13.0", "numpy>=1.26"),
    variables={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
)


def test_every_request_of_the_group_goes_to_the_model_of_the_policy(installed, tmp_path):
    """A group that is not named is drawn by LiteLLM as before."""
    write_policy(policies()["context"], tmp_path / "policy.json")
    source = Path(deconfound.__file__).parents[1]
    output = installed(LITELLM).run_script(
        "litellm_routing.py", tmp_path / "out", str(tmp_path / "policy.json"), str(source)
    )
    found = json.loads((output / "answers.json").read_text())
    assert {prompt: set(models) for prompt, models in found["chat"].items()} == {
        "a poem": {"cat"},
        "a bill": {"ant"},
        "": {"ant"},
    }
    assert len({model for models in found["other"].values() for model in models}) == 3
