"""A real gateway with a file of `deconfound assign`: count the models that it draws.

python gateway_draws.py FOLDER GATEWAY CONFIG CALLS
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path

GROUP, ATTRIBUTE = "chat bot", "user_id"


def litellm(config: Path, calls: int) -> Counter[str]:
    """The router of LiteLLM; each deployment answers with its own name."""
    import yaml
    from litellm import Router

    content = yaml.safe_load(config.read_text(encoding="utf-8"))
    for deployment in content["model_list"]:
        name = deployment["litellm_params"]["model"].removeprefix("openai/")
        deployment["litellm_params"] |= {"mock_response": name, "api_key": "none"}
    router = Router(model_list=content["model_list"], **content["router_settings"])
    random.seed(0)
    messages = [{"role": "user", "content": "Which?"}]
    answers = (router.completion(model=GROUP, messages=messages) for _ in range(calls))
    return Counter(answer.choices[0].message.content for answer in answers)


def growthbook(config: Path, calls: int) -> Counter[str]:
    """The SDK of GrowthBook: the key of the variation that an exposure has; units without one are not counted."""
    from growthbook import GrowthBook

    features = json.loads(config.read_text(encoding="utf-8"))["features"]
    counts: Counter[str] = Counter()

    def viewed(experiment: object, result: object, user_context: object = None) -> None:  # noqa: ARG001
        counts[result.key] += 1  # type: ignore[attr-defined]

    for unit in range(calls):
        sdk = GrowthBook(attributes={ATTRIBUTE: f"u{unit}"}, features=features, on_experiment_viewed=viewed)
        sdk.get_feature_value(GROUP, None)
        sdk.destroy()
    return counts


def tensorzero(config: Path, calls: int) -> Counter[str]:
    """The gateway of TensorZero inside this process, with a model on a server of ours."""
    from invented_calls import planned_calls
    from mock_server import MockServer
    from tensorzero import TensorZeroGateway

    server = MockServer()
    server.next = next(call for call in planned_calls() if call.kind not in ("error", "tool"))
    model = f"""
[models.local]
routing = ["server"]
[models.local.providers.server]
type = "openai"
model_name = "local"
api_base = "{server.address}/v1/"
api_key_location = "none"
"""
    whole = config.with_name("whole.toml")
    whole.write_text(config.read_text(encoding="utf-8") + model, encoding="utf-8")
    gateway = TensorZeroGateway.build_embedded(config_file=str(whole))
    question = {"messages": [{"role": "user", "content": "Which?"}]}
    return Counter(gateway.inference(function_name=GROUP, input=question).variant_name for _ in range(calls))


if __name__ == "__main__":
    folder, gateway, config, calls = sys.argv[1:]
    drawn = {"litellm": litellm, "growthbook": growthbook, "tensorzero": tensorzero}[gateway](Path(config), int(calls))
    (Path(folder) / "draws.json").write_text(json.dumps(drawn), encoding="utf-8")
