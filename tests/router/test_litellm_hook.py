"""The callback of LiteLLM, with a stand-in for its base class; tests/producers has the real router."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType

import pytest

import deconfound as dc
from deconfound.errors import UsageError
from deconfound.router.litellm_hook import litellm_callback
from deconfound.router.policy_file import write_policy
from tests.router.policies import policies

DEPLOYMENTS = [{"litellm_params": {"model": name}} for name in ("openai/ant", "azure/eu/cat", "bee ☂", "openai/ant")]
POEM = [{"role": "user", "content": "a poem"}]


@pytest.fixture
def litellm(monkeypatch):
    for name in ("litellm", "litellm.integrations", "litellm.integrations.custom_logger"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["litellm.integrations.custom_logger"].CustomLogger = type("CustomLogger", (), {})


def names(callback: object, model: str, messages: object, **request: object) -> list[str]:
    kept = asyncio.run(callback.async_filter_deployments(model, DEPLOYMENTS, messages, request))
    return [one["litellm_params"]["model"] for one in kept]


@pytest.mark.usefixtures("litellm")
def test_the_deployments_of_the_chosen_model_remain():
    callback = litellm_callback(dc.Router(policies()["context"]), groups=["chat"])
    assert names(callback, "chat", POEM) == ["azure/eu/cat"]
    assert names(callback, "chat", [{"role": "user", "content": "a bill"}]) == ["openai/ant", "openai/ant"]
    assert len(names(callback, "other", POEM)) == len(names(callback, "chat", None)) == 4


@pytest.mark.usefixtures("litellm")
def test_the_segment_comes_from_the_metadata_of_the_request():
    callback = litellm_callback(dc.Router(policies()["segments"]), segment_key="country")
    assert names(callback, "chat", POEM, metadata={"country": "DE"}) == ["bee ☂"]
    assert names(callback, "chat", POEM, metadata=None) == ["openai/ant", "openai/ant"]


@pytest.mark.usefixtures("litellm")
def test_models_may_have_other_names_and_an_unhealthy_one_leaves_the_others():
    callback = litellm_callback(dc.Router(policies()["context"]), names={"cat": "bee ☂", "ant": "gone"})
    assert names(callback, "chat", POEM) == ["bee ☂"]
    assert len(names(callback, "chat", [{"role": "user", "content": "a bill"}])) == 4


@pytest.mark.usefixtures("litellm")
def test_one_group_may_be_a_text_and_the_router_a_path(tmp_path):
    path = tmp_path / "policy.json"
    write_policy(policies()["context"], path)
    callback = litellm_callback(path, groups="chat")
    assert names(callback, "chat", POEM) == ["azure/eu/cat"]
    assert len(names(callback, "cha", POEM)) == 4


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("context", {"names": {"cta": "openai/cat"}}, "no model .*cta"),
        ("segments", {}, "segment_key"),
    ],
)
def test_what_could_never_have_an_effect_is_refused(kind, options, message):
    with pytest.raises(UsageError, match=message):
        litellm_callback(dc.Router(policies()[kind]), **options)
    with pytest.raises(UsageError, match="not dict"):
        litellm_callback({})


@pytest.mark.usefixtures("litellm")
def test_a_model_without_deployment_is_logged_once(caplog):
    callback = litellm_callback(dc.Router(policies()["context"]), names={"cat": "gone"})
    assert len(names(callback, "chat", POEM)) == len(names(callback, "chat", POEM)) == 4
    assert [one.getMessage().partition(",")[0] for one in caplog.records] == [
        "The group chat has no healthy deployment of gone"
    ]


@pytest.mark.usefixtures("litellm")
def test_a_request_never_fails_because_of_the_policy():
    deep: object = "text"
    for _ in range(3_000):
        deep = [{"type": "text", "text": deep}]
    callback = litellm_callback(dc.Router(policies()["segments"]), segment_key="country")
    odd = [{}, {"litellm_params": None}, {"litellm_params": "text"}]
    kept = asyncio.run(callback.async_filter_deployments("chat", odd, POEM, {"metadata": {"country": "DE"}}))
    assert kept == odd
    assert len(names(callback, "chat", POEM, metadata=["text"])) == 4
    by_context = litellm_callback(dc.Router(policies()["context"]))
    for messages in ({"role": "user"}, [{"role": "user", "content": deep}], 5):
        assert names(by_context, "chat", messages)


def test_without_litellm_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.setitem(sys.modules, "litellm.integrations.custom_logger", None)
    with pytest.raises(UsageError, match="pip install litellm"):
        litellm_callback(dc.Router(policies()["single"]))
