"""Propensities from the configuration of the router that drew: LiteLLM in YAML or JSON, TensorZero in TOML."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.cli import main
from deconfound.errors import DataError, DeconfoundError, UsageError
from deconfound.traces.call import Call, Message
from deconfound.traces.call_filter import parse_condition
from deconfound.traces.call_table import CallSummary
from deconfound.traces.experiment_rows import NOT_DRAWN, ExperimentRule, find_experiment
from deconfound.traces.litellm_config import EVENLY
from deconfound.traces.router_config import read_router_config, split_configs
from tests.support.gateway import GOOD, POOR, write_gateway

YAML = """
shared: &shared
  api_key: os.environ/KEY
model_list:
  - model_name: chat
    litellm_params: {<<: *shared, model: openai/ant, weight: 3}
  - model_name: chat
    litellm_params:
      <<: [*shared]
      model: azure/bee
      weight: 1
  - model_name: solo
    litellm_params: {model: openai/ant}
router_settings: {routing_strategy: simple-shuffle}
"""
TENSORZERO = """
[functions.chat]
type = "chat"
[functions.chat.variants.one]
type = "chat_completion"
model = "openai::ant"
weight = 9
[functions.chat.variants.two]
type = "chat_completion"
model = "my_bee"
weight = 1
[functions.chat.variants.spare]
type = "chat_completion"
model = "openai::cat"
[models.my_bee]
routing = ["p"]
[models.my_bee.providers.p]
type = "anthropic"
model_name = "bee"
"""


def deployment(model, group="chat", **parameters):
    return {"model_name": group, "litellm_params": {"model": model, **parameters}}


def call(model, group="chat", **fields):
    full = Call("o", "c", model, (Message("user", "q"),), ("a",), group=group, requested_model=group, **fields)
    return CallSummary.from_call("r", full)


CALLS = [call("ant"), call("bee"), call("ant", "solo")]


def written(tmp_path, content, name="config.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def litellm(tmp_path, *deployments, **router_settings):
    return written(tmp_path, {"model_list": deployments, "router_settings": router_settings})


def experiment(path, calls=CALLS, where=()):
    rule = ExperimentRule(router=read_router_config(path), where=tuple(map(parse_condition, where)))
    return find_experiment(calls, rule)


def shares(path, calls=CALLS, where=()):
    return dict(experiment(path, calls, where).draw.shares)


def test_weights_of_the_group_that_the_calls_asked_for(tmp_path):
    path = litellm(tmp_path, deployment("openai/ant", weight=3), deployment("bee", weight=1), deployment("ant", "solo"))
    rows = experiment(path)
    assert rows.randomized.tolist() == [True, True, False]
    assert rows.propensity[:2].tolist() == [0.75, 0.25]
    assert (rows.draw.source, rows.draw.group, rows.draw.basis) == (str(path), "chat", "weight")


@pytest.mark.parametrize(
    ("deployments", "expected", "basis"),
    [
        ([deployment("ant", weight=1, rpm=9), deployment("bee", weight=3, rpm=1)], (0.25, 0.75), "weight"),
        ([deployment("ant", rpm=10, tpm=1), deployment("bee", rpm=30, tpm=1)], (0.25, 0.75), "rpm"),
        ([deployment("ant", tpm=10), deployment("bee", tpm=30)], (0.25, 0.75), "tpm"),
        ([deployment("ant"), deployment("bee")], (0.5, 0.5), EVENLY),
        (
            [deployment("ant", weight=1), deployment("bee", weight=1), deployment("x/bee", weight=2)],
            (0.25, 0.75),
            "weight",
        ),
        ([deployment("ant", weight=1), deployment("bee", weight=3), deployment("cat")], (0.25, 0.75), "weight"),
        ([deployment("ant", order=1), deployment("bee", order=1), deployment("cat", order=2)], (0.5, 0.5), EVENLY),
        ([deployment("ant", weight=1e308), deployment("bee", weight=1e308)], (0.5, 0.5), "weight"),
        ([deployment("ant", weight=None), deployment("bee", weight=None)], (0.5, 0.5), EVENLY),
    ],
)
def test_litellm_draws_by_weight_then_rpm_then_tpm_then_evenly(tmp_path, deployments, expected, basis):
    """As its simple-shuffle does; deployments of one model add up, and one without the number is never drawn."""
    rows = experiment(litellm(tmp_path, *deployments))
    assert (rows.draw.shares["ant"], rows.draw.shares["bee"]) == pytest.approx(expected)
    assert rows.draw.basis == basis


@pytest.mark.parametrize(
    ("first", "second", "router_settings", "message"),
    [
        ({}, {"weight": 1}, {}, "versions of LiteLLM differ"),
        ({"weight": 0}, {"weight": 0}, {}, "versions of LiteLLM differ"),
        ({"weight": -1}, {"weight": 2}, {}, "has a weight below 0"),
        ({"weight": "3"}, {"weight": 1}, {}, "which is no number"),
        ({"weight": True}, {"weight": 1}, {}, "which is no number"),
        ({"weight": 10**400}, {"weight": 1}, {}, "which is no number"),
        ({}, {}, {"routing_strategy": "latency-based-routing"}, "latency-based-routing"),
        ({}, {}, {"routing_groups": [{"models": ["chat"]}]}, "routing_groups"),
        ({}, {}, {"weights": {"chat": {"id": 1}}}, "weights by deployment"),
        ({"tags": ["paid"]}, {}, {"enable_tag_filtering": True}, "depend on the tags"),
    ],
)
def test_weights_that_are_no_probabilities_are_refused(tmp_path, first, second, router_settings, message):
    path = litellm(tmp_path, deployment("ant", **first), deployment("bee", **second), **router_settings)
    with pytest.raises(UsageError, match=message) as error:
        experiment(path)
    assert "--propensity MODEL=P" in str(error.value)


def test_an_unusable_group_does_not_matter_if_no_call_asked_for_it(tmp_path):
    bad = [deployment("ant", "other", weight=-1), deployment("bee", "other", weight=2)]
    assert shares(litellm(tmp_path, *bad, deployment("ant"), deployment("bee"))) == {"ant": 0.5, "bee": 0.5}


def test_an_alias_of_a_group_is_the_group(tmp_path):
    both = deployment("ant"), deployment("bee")
    calls = [call("ant", "support"), call("bee", "talk"), call("ant", "none")]
    path = litellm(tmp_path, *both, model_group_alias={"support": "chat", "talk": {"model": "chat", "hidden": True}})
    assert experiment(path, calls).randomized.tolist() == [True, True, False]


def test_several_groups_are_a_question_to_the_user(tmp_path):
    path = litellm(tmp_path, *(deployment(m, g) for g in ("chat", "code") for m in ("ant", "bee")))
    calls = [*CALLS, call("ant", "code")]
    with pytest.raises(UsageError, match=r"chat, code.*--experiment-where group=chat"):
        experiment(path, calls)
    assert experiment(path, calls, ["group=code"]).randomized.tolist() == [False, False, False, True]


def test_calls_without_a_group_are_found_by_the_name_that_was_requested(tmp_path):
    message = (Message("user", "q"),)
    calls = [
        CallSummary.from_call("r", Call("o", "c", m, message, ("a",), requested_model="chat")) for m in ("ant", "bee")
    ]
    assert experiment(litellm(tmp_path, deployment("ant"), deployment("bee")), calls).randomized.all()


def test_calls_that_the_user_chose_need_not_name_the_group(tmp_path):
    path = litellm(tmp_path, deployment("ant"), deployment("bee"), deployment("cat", "x"), deployment("dog", "x"))
    calls = [call("ant", "", attributes={"arm": "test"}), call("bee", "", attributes={"arm": "test"}), call("ant", "")]
    with pytest.raises(UsageError, match="no call asked for chat, x"):
        experiment(path, calls)
    assert experiment(path, calls, ["arm=test"]).randomized.tolist() == [True, True, False]


def test_a_fallback_is_counted_where_it_began_and_a_foreign_model_is_left_out(tmp_path):
    fallback = Call(
        "o",
        "c",
        "ant",
        (Message("user", "q"),),
        ("a",),
        group="backup",
        requested_model="chat",
        flags=frozenset({"fallback"}),
    )
    calls = [*CALLS, CallSummary.from_call("r", fallback), call("cow")]
    rows = experiment(litellm(tmp_path, deployment("ant"), deployment("bee")), calls)
    assert rows.randomized.tolist() == [True, True, False, False, False]
    assert rows.reasons == {"fallback": 1, NOT_DRAWN: 1}


def test_models_that_answered_no_call_are_a_wrong_configuration(tmp_path):
    with pytest.raises(UsageError, match="stands for cat, dog, but its calls were answered by ant, bee"):
        experiment(litellm(tmp_path, deployment("cat"), deployment("dog")))


def test_a_configuration_that_draws_nothing_is_refused(tmp_path):
    with pytest.raises(UsageError, match="nothing is drawn"):
        experiment(litellm(tmp_path, deployment("openai/ant"), deployment("azure/ant"), deployment("*", "*")))


def test_yaml_with_merged_parts(tmp_path):
    pytest.importorskip("yaml")
    assert shares(written(tmp_path, YAML, "config.yaml")) == {"ant": 0.75, "bee": 0.25}


def test_without_pyyaml_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match=r'pip install "deconfound\[yaml\]"'):
        read_router_config(written(tmp_path, YAML, "config.yaml"))


def test_yaml_creates_no_objects_and_no_more_than_is_there(tmp_path):
    """Tags are ignored, dates and odd numbers are texts, and nested merges of ten aliases each take no time."""
    pytest.importorskip("yaml")
    bomb = "a0: &a0 {k: v}\n" + "".join(
        f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 40)
    )
    odd = "x: !!python/object/apply:os.system ['false']\nd: 2026-99-99\nloop: &l [*l]\n"
    assert shares(written(tmp_path, odd + bomb + YAML, "config.yml")) == {"ant": 0.75, "bee": 0.25}
    with pytest.raises(UsageError, match='weight "010", which is no number'):  # eight to YAML, ten to a person
        experiment(written(tmp_path, YAML.replace("weight: 3", "weight: 010"), "config.yml"))


def test_tensorzero_variants_by_their_own_weights(tmp_path):
    """Variants without a weight are fallbacks; calls may have the name of the provider's model or of the variant."""
    path = written(tmp_path, TENSORZERO, "tensorzero.toml")
    assert shares(path) == pytest.approx({"ant": 0.9, "bee": 0.1})
    own = "tensorzero::function_name::chat"
    calls = [call(f"{own}::variant_name::one", own), call(f"{own}::variant_name::two", own)]
    assert experiment(path, calls).propensity.tolist() == pytest.approx([0.9, 0.1])
    assert experiment(path, calls).draw.group == "chat"


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ('type = "static"\ncandidate_variants = {one = 1, two = 3}', {"ant": 0.25, "bee": 0.75}),
        ('type = "static_weights"\ncandidate_variants = {one = 1, two = 3}', {"ant": 0.25, "bee": 0.75}),
        (
            'type = "static"\ncandidate_variants = ["one", "two"]\nfallback_variants = ["spare"]',
            {"ant": 0.5, "bee": 0.5},
        ),
        ('type = "uniform"', {"ant": 1 / 3, "bee": 1 / 3, "cat": 1 / 3}),
        (None, {"ant": 1 / 3, "bee": 1 / 3, "cat": 1 / 3}),
    ],
)
def test_tensorzero_experimentation(tmp_path, section, expected):
    text = TENSORZERO.replace("weight = 9\n", "").replace("weight = 1\n", "")
    path = written(tmp_path, text + (f"[functions.chat.experimentation]\n{section}\n" if section else ""), "t.toml")
    assert shares(path) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('type = "adaptive"\ncandidate_variants = ["one", "two"]', "change over time"),
        ('type = "track_and_stop"\ncandidate_variants = ["one", "two"]', "change over time"),
        ('type = "static"\ncandidate_variants = {one = -1, two = 3, spare = 1}', "no usable weight for one"),
        ('type = "uniform"\nfallback_variants = ["one", "two"]', "nothing is drawn"),
        ('type = "uniform"\n[functions.chat.experimentation.namespaces.a]\ntype = "uniform"', "namespace"),
    ],
)
def test_tensorzero_experiments_without_fixed_probabilities_are_refused(tmp_path, section, message):
    path = written(tmp_path, f"{TENSORZERO}[functions.chat.experimentation]\n{section}\n", "t.toml")
    with pytest.raises(UsageError, match=message):
        experiment(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.yaml", "a: [1", "no valid YAML"),
        ("c.yaml", "[" * 5000, "nested too deeply"),
        ("c.yaml", "- 1", "no model_list"),
        ("c.yaml", "", "no model_list"),
        ("c.toml", "a = ", "no valid TOML"),
        ("c.toml", "a = " + "[" * 5000, "TOML"),
        ("c.json", '{"model_list": 3}', "no model_list"),
        ("c.json", "{", "cut off"),
        ("c.ini", "a=1", "unsupported file extension"),
    ],
)
def test_damaged_and_foreign_files_are_named(tmp_path, name, content, message):
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    with pytest.raises(DataError, match=message):
        read_router_config(written(tmp_path, content, name))


def test_missing_files_binary_data_and_huge_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_router_config(tmp_path / "c.yaml")
    (tmp_path / "c.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        read_router_config(tmp_path / "c.toml")
    (tmp_path / "c.toml").write_bytes(b"#" * 10_000_001)
    with pytest.raises(DataError, match="more than 10 MB"):
        read_router_config(tmp_path / "c.toml")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["chat", "ant"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
LITELLM_KEYS = ("weight", "rpm", "tpm", "order", "model", "tags")
EXPERIMENTATION_KEYS = ("type", "candidate_variants", "fallback_variants", "namespaces")
SETTINGS_KEYS = ("routing_strategy", "routing_groups", "weights", "model_group_alias", "enable_tag_filtering")


def tried(config):
    """Read a configuration and apply it; the package's own errors are the only ones."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        try:
            rows = experiment(path)
        except DeconfoundError:
            return
    used = rows.propensity[rows.randomized]
    assert np.isfinite(used).all()
    assert ((used > 0) & (used <= 1)).all()
    assert sum(rows.draw.shares.values()) == pytest.approx(1.0)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from(LITELLM_KEYS), VALUES), max_size=3),
    st.dictionaries(st.sampled_from(SETTINGS_KEYS), VALUES),
    VALUES,
)
def test_any_damage_to_litellms_configuration_is_an_error_of_ours(changes, router_settings, entry):
    deployments = [deployment("ant", weight=1), deployment("bee", weight=2), deployment("ant")]
    for one, change in zip(deployments, changes, strict=False):
        one["litellm_params"] |= change
    tried({"model_list": [*deployments, entry], "router_settings": router_settings})


@settings(max_examples=150, deadline=None)
@given(VALUES, VALUES, VALUES, st.dictionaries(st.sampled_from(EXPERIMENTATION_KEYS), VALUES))
def test_any_damage_to_tensorzeros_configuration_is_an_error_of_ours(weight, variant, models, experimentation):
    variants = {"one": {"model": "openai::ant", "weight": weight}, "two": {"model": "bee"}, "x": variant}
    function = {"variants": variants, "experimentation": experimentation}
    tried({"functions": {"chat": function, "y": variant}, "models": models})


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["c.yaml", "c.toml", "c.json"]), st.data())
def test_any_bytes_are_an_error_of_ours(name, data):
    if name == "c.yaml":
        pytest.importorskip("yaml")
    good = {"c.yaml": YAML, "c.toml": TENSORZERO, "c.json": json.dumps({"model_list": [deployment("ant")]})}[name]
    start = data.draw(st.integers(0, len(good)))
    inserted = data.draw(
        st.binary(max_size=8) | st.sampled_from([b"&a ", b"*shared", b"!!", b"<<: ", b"- ", b"{", b"]"])
    )
    content = good.encode()[:start] + inserted + good.encode()[start + data.draw(st.integers(0, 10)) :]
    with TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(content)
        with suppress(DeconfoundError):
            experiment(Path(folder) / name)


def test_convert_states_what_it_used_and_doctor_names_the_option(tmp_path, capsys):
    write_gateway(tmp_path / "team", direct=40, routed=60)
    config = written(
        tmp_path,
        f'functions.chat.variants.a = {{model = "{GOOD}", weight = 0.3}}\n'
        f'functions.chat.variants.b = {{model = "{POOR}", weight = 0.7}}\n',
        "router.toml",
    )
    traces, feedback = str(tmp_path / "team" / "traces"), str(tmp_path / "team" / "feedback.csv")
    assert main(["doctor", traces, feedback, str(config)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    stated = f"Propensities of chat in {config} (weight): {GOOD} 0.3, {POOR} 0.7."
    assert stated in text
    assert text.endswith(f"convert {traces} --outcomes {feedback} --propensity-from {config} -o study")
    study = str(tmp_path / "study")
    assert main(["convert", traces, "--outcomes", feedback, "--propensity-from", str(config), "-o", study]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert stated in printed
    assert "experiment: 60 rows" in printed


def test_doctor_says_that_a_configuration_does_not_fit(tmp_path, capsys):
    write_gateway(tmp_path / "team", direct=5, routed=5)
    config = written(tmp_path, TENSORZERO.replace("functions.chat", "functions.other"), "t.toml")
    assert main(["doctor", str(tmp_path / "team" / "traces"), str(config)]) == 0
    assert "no call asked for a name" in " ".join(capsys.readouterr().out.split())


def test_one_statement_of_the_propensities_is_enough(tmp_path, capsys):
    config = written(tmp_path, TENSORZERO, "t.toml")
    options = ["--propensity", "a=0.5,b=0.5", "--propensity-from", str(config), "-o", str(tmp_path / "s")]
    assert main(["convert", str(tmp_path), *options]) == 2
    assert "use one of them" in capsys.readouterr().err


def test_a_configuration_among_the_traces_of_convert_is_explained(tmp_path, capsys):
    config = written(tmp_path, TENSORZERO, "t.toml")
    assert main(["convert", str(config), "-o", str(tmp_path / "s")]) == 1
    assert "--propensity-from" in capsys.readouterr().err
    assert split_configs(["a", str(config)]) == (["a"], [config])
