"""What is written for a gateway draws with the manifest's propensities: our own readers of such files say so."""

from __future__ import annotations

import json
from pathlib import PurePath

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from deconfound.assignment import AssignmentRule
from deconfound.assignment.gateway_files import EXTENSIONS, UNITS, GatewayExperiment, gateway_file
from deconfound.assignment.litellm_writer import whole_weights
from deconfound.errors import UsageError
from deconfound.traces.router_config import read_router_config

SHARES = {"cedar": 0.5, "elm": 0.2, "oak": 0.3}
FILES = [(gateway, ending) for gateway, endings in EXTENSIONS.items() for ending in endings]


def written(experiment, ending, folder):
    path = folder / f"config{ending}"
    file = gateway_file(experiment, path)
    path.write_text(file.text, encoding="utf-8")
    return path, file.manifest


def read_back(path, manifest):
    (group,) = read_router_config(path).groups
    assert not group.refusal
    assert manifest.group in group.requested
    return group.shares(set(manifest.rule.models))


@pytest.mark.parametrize(("gateway", "ending"), FILES)
@pytest.mark.parametrize(
    "shares",
    [
        SHARES,
        dict.fromkeys("abc", 1 / 3),
        {"a": 0.412345678, "b": 0.587654322},
        {'we"ird': 0.25, "li\nne\t": 0.25, "ü/🐝 #{}[]": 0.25, "back\\slash: yes": 0.25},
        {f"m{i}": 1 / 999 for i in range(999)},
        {"a": 0.999, "b": 0.001},
    ],
    ids=["three", "thirds", "many digits", "hostile", "many", "rare"],
)
def test_our_readers_find_the_manifests_propensities(gateway, ending, shares, tmp_path):
    rule = AssignmentRule.from_models("prices", shares)
    path, manifest = written(GatewayExperiment(gateway, rule, group="chat bot"), ending, tmp_path)
    assert read_back(path, manifest) == pytest.approx(manifest.rule.propensities, abs=1e-12)
    assert manifest.rule.propensities == pytest.approx(shares, abs=1e-6)
    assert (manifest.drawn_by, manifest.unit) == (gateway, UNITS[gateway])


@pytest.mark.parametrize(
    ("gateway", "ending", "names"),
    [
        ("litellm", ".yaml", {"cedar": "openai/cedar", "oak": "azure/oak"}),
        ("tensorzero", ".toml", {"cedar": "openai::cedar", "oak": "my model"}),
        ("growthbook", ".json", {"cedar": "openai/cedar"}),
    ],
)
def test_models_that_the_gateway_calls_otherwise_are_still_ours(gateway, ending, names, tmp_path):
    experiment = GatewayExperiment(gateway, AssignmentRule.from_models("prices", SHARES), deployments=names)
    path, manifest = written(experiment, ending, tmp_path)
    assert read_back(path, manifest) == pytest.approx(SHARES)
    assert all(name in path.read_text(encoding="utf-8") for name in names.values())


def test_any_yaml_reader_reads_litellms_file(tmp_path):
    experiment = GatewayExperiment("litellm", AssignmentRule.from_models("prices", SHARES), group="chat")
    path, _ = written(experiment, ".yaml", tmp_path)
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    as_json, _ = written(experiment, ".json", tmp_path)
    assert document == json.loads(as_json.read_text(encoding="utf-8"))
    assert [one["litellm_params"]["weight"] for one in document["model_list"]] == [5, 2, 3]
    assert {one["model_name"] for one in document["model_list"]} == {"chat"}
    assert document["router_settings"] == {"routing_strategy": "simple-shuffle"}


def test_growthbook_gets_unit_and_share(tmp_path):
    rule = AssignmentRule.from_models("prices", SHARES, 0.1)
    path, manifest = written(GatewayExperiment("growthbook", rule, unit="user_id"), ".json", tmp_path)
    (experiment,) = json.loads(path.read_text(encoding="utf-8"))["features"]["prices"]["rules"]
    assert (experiment["hashAttribute"], experiment["coverage"], experiment["hashVersion"]) == ("user_id", 0.1, 2)
    assert (manifest.unit, manifest.rule.share) == ("user_id", 0.1)


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=20))
def test_whole_weights_are_small_and_close(weights):
    shares = {f"m{at:02}": weight / sum(weights) for at, weight in enumerate(weights)}
    if min(shares.values()) < 1e-6:
        return
    found = whole_weights(AssignmentRule.from_models("e", shares))
    assert min(found) >= 1
    assert [w / sum(found) for w in found] == pytest.approx(list(shares.values()), abs=len(weights) * 1e-6)


@pytest.mark.parametrize(
    ("changes", "ending", "message"),
    [
        ({"share": 0.5}, ".yaml", "share of your calls"),
        ({"unit": "user"}, ".yaml", "once per call"),
        ({}, ".toml", r"\.yaml or \.yml or \.json"),
        ({"deployments": {"pine": "x"}}, ".yaml", "pine; the models are cedar"),
    ],
)
def test_what_the_gateway_cannot_do_is_refused(changes, ending, message):
    rule = AssignmentRule.from_models("prices", SHARES, changes.pop("share", 1.0))
    with pytest.raises(UsageError, match=message):
        gateway_file(GatewayExperiment("litellm", rule, **changes), PurePath(f"config{ending}"))
