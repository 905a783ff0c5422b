"""Requests through LiteLLM's router with a policy as its callback; the models that answered are written down.

python litellm_routing.py FOLDER POLICY SOURCE
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import litellm

PROMPTS = ("a poem", "a bill", "")


def deployment(model: str) -> dict:
    answer = {"mock_response": model.partition("/")[2], "api_key": "none"}
    return {"model_name": "chat", "litellm_params": {"model": model, **answer}}


async def answers(router: litellm.Router, group: str, times: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for prompt in PROMPTS:
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}]
        for _ in range(times):
            answer = await router.acompletion(group, messages=messages)
            found.setdefault(prompt, []).append(answer.choices[0].message.content)
    return found


def main(folder: str, policy: str, source: str) -> None:
    sys.path.insert(0, source)
    import deconfound as dc
    from deconfound.router.litellm_hook import litellm_callback

    models = [deployment(f"openai/{name}") for name in ("ant", "bee ☂", "cat")]
    others = [{**one, "model_name": "other"} for one in models]
    router = litellm.Router([*models, *others], num_retries=0, disable_cooldowns=True)
    litellm.callbacks = [litellm_callback(dc.Router.load(policy), groups=["chat"])]
    found = {"chat": asyncio.run(answers(router, "chat", 8)), "other": asyncio.run(answers(router, "other", 30))}
    (Path(folder) / "answers.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
