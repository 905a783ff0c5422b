"""LiteLLM: a router with two weighted models, a fallback, a cache, and a callback that writes its payloads.

python litellm_router.py FOLDER
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import litellm
from invented_calls import MODELS, Manifest, PlannedCall, planned_calls
from litellm.caching.caching import Cache
from litellm.integrations.custom_logger import CustomLogger
from mock_server import MockServer

GROUP = "chat"
WEIGHTS = {MODELS[0]: 3, MODELS[1]: 1}
BACKUP, BROKEN = MODELS[2], "broken-0"
QUESTION, REPLY = {"role": "user", "content": "Again?"}, {"role": "assistant", "content": "Again."}


class PayloadFile(CustomLogger):
    """Writes one payload per line, of answers and of failures."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.count = 0

    async def async_log_success_event(self, kwargs: Any, **_: Any) -> None:
        """Write the payload of an answer."""
        self._write(kwargs)

    async def async_log_failure_event(self, kwargs: Any, **_: Any) -> None:
        """Write the payload of a failure."""
        self._write(kwargs)

    def _write(self, kwargs: Any) -> None:
        self.count += 1
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(kwargs["standard_logging_object"], default=str) + "\n")


def deployment(server: MockServer, group: str, model: str, weight: int = 1) -> dict[str, Any]:
    """One model of a group."""
    where = {"model": f"openai/{model}", "api_key": "none", "api_base": f"{server.address}/v1"}
    return {"model_name": group, "litellm_params": {**where, "weight": weight}}


def make_router(server: MockServer) -> litellm.Router:
    """Two weighted models, a group whose model is broken, and the group that answers instead."""
    server.broken_models.add(BROKEN)
    models = [deployment(server, GROUP, *one) for one in WEIGHTS.items()]
    models += [deployment(server, "fragile", BROKEN), deployment(server, "backup", BACKUP)]
    return litellm.Router(models, fallbacks=[{"fragile": ["backup"]}], num_retries=0, disable_cooldowns=True)


async def main(folder: str) -> None:
    """Make all calls, one after the other, and wait until the callback has seen them."""
    random.seed(1)  # of the router's draws
    log = PayloadFile(Path(folder) / "litellm.jsonl")
    litellm.callbacks = [log]
    server, manifest = MockServer(), Manifest()
    router = make_router(server)
    thumbs = [await call_group(server, router, manifest, call) for call in planned_calls()]
    await call_with_fallback(server, router, manifest)
    await call_twice(server, router, manifest)
    for _ in range(100):
        if log.count >= len(manifest.calls):
            break
        await asyncio.sleep(0.1)
    manifest.write(folder)
    lines = [f"{response},{thumb}" for response, thumb in thumbs if thumb is not None]
    (Path(folder) / "feedback.csv").write_text("\n".join(["response_id,thumbs", *lines]) + "\n", encoding="utf-8")


async def call_group(
    server: MockServer, router: litellm.Router, manifest: Manifest, call: PlannedCall
) -> tuple[str, int | None]:
    """Let the router draw a model; the server knows which one it was. Returns the id of the answer and its thumb."""
    server.next = call
    response_id = ""
    try:
        response_id = (await router.acompletion(model=GROUP, **request(call))).id
    except litellm.BadRequestError:
        if call.kind != "error":
            raise
    manifest.add(call, model=server.last_model, group=GROUP)
    return response_id, call.thumb


def request(call: PlannedCall) -> dict[str, Any]:
    """What every call passes on: the messages, the user, the conversation and tags."""
    metadata = {"session_id": call.conversation, "tags": ["exp", call.kind]}
    return {"messages": [dict(one) for one in call.messages], "user": call.user, "metadata": metadata}


async def call_with_fallback(server: MockServer, router: litellm.Router, manifest: Manifest) -> None:
    """The first model fails, and another group answers: a failure and a fallback."""
    call = PlannedCall("plain", "conversation-fallback", "user-fallback", BACKUP, (QUESTION,), REPLY)
    server.next = call
    await router.acompletion(model="fragile", **request(call))
    manifest.add(call, kind="error", model=BROKEN, group="fragile", outputs=[], flags=["error"])
    manifest.add(call, model=server.last_model, group="backup", flags=["fallback"])


async def call_twice(server: MockServer, router: litellm.Router, manifest: Manifest) -> None:
    """The second answer is from the cache, which is written in the background."""
    litellm.cache = Cache()
    call = PlannedCall("plain", "conversation-cache", "user-cache", BACKUP, (QUESTION,), REPLY)
    server.next = call
    for user, flags in ((call.user, []), ("", ["cached"])):  # LiteLLM records no user with a cached answer
        await router.acompletion(model="backup", **request(call), caching=True)
        manifest.add(call, user=user, flags=flags, group="backup")
        await asyncio.sleep(0.5)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
