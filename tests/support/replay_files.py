"""Settings, contexts and clocks for tests of replays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from deconfound.endpoints.chat_model import ChatModel
from deconfound.endpoints.endpoint import Endpoint, Timeouts
from deconfound.endpoints.reply import Reply
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.request import Request, RequestBuilder
from deconfound.endpoints.run_meter import RunOutcome
from deconfound.endpoints.runner import RunOptions, run_requests
from deconfound.endpoints.token_costs import Price

KEY = "sk-recognisable-0123456789abcdef"
ENDPOINT = """[endpoints.local]
url = "{url}"
{more}
"""
MODEL = """[models.{name}]
endpoint = "local"
model = "{at}"
{more}
"""


class FakeClock:
    """Time that passes only when somebody sleeps; every sleep is noted."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def date(self) -> float:
        return 1_800_000_000.0 + self.time

    def jitter(self) -> float:
        return 1.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def write_settings(folder: Path, url: str, *models: str, endpoint: str = "", name: str = "models.toml") -> Path:
    """A settings file with one endpoint; ``models`` are tables."""
    path = folder / name
    path.write_text("\n".join([ENDPOINT.format(url=url, more=endpoint), *models]), encoding="utf-8")
    return path


def model(name: str, *settings: str, at: str = "small-1") -> str:
    """The table of a model at the local endpoint, where it is called ``at``."""
    return MODEL.format(name=name, at=at, more="\n".join(settings))


def write_contexts(folder: Path, texts: Iterable[str], name: str = "contexts.jsonl") -> Path:
    """A table of nothing but contexts."""
    path = folder / name
    path.write_text("".join(json.dumps({"context": text}) + "\n" for text in texts), encoding="utf-8")
    return path


def chat(url: str, **endpoint: Any) -> ChatModel:
    """A model with prices at an endpoint that tries three times and gives up quickly."""
    settings = {"attempts": 3, "timeouts": Timeouts(2.0, 5.0, 5.0), **endpoint}
    return ChatModel("cedar", Endpoint("local", url, **settings), "small-1", price=Price(1.0, 2.0))


def requests(model: ChatModel, texts: Sequence[str], draws: int = 1) -> list[Request]:
    """One request per text and draw."""
    builder = RequestBuilder(model)
    return [builder.request([{"role": "user", "content": text}], draw) for text in texts for draw in range(draws)]


def ask(
    model: ChatModel, texts: Sequence[str], folder: Path, *, clock: FakeClock | None = None, concurrency: int = 4
) -> tuple[RunOutcome, dict[str, Reply]]:
    """Run the requests of some texts; returns what happened and the replies by text."""
    work = requests(model, texts)
    options = RunOptions(concurrency, clock or FakeClock())
    with ReplyCache(folder / "cache.sqlite") as cache:
        outcome = run_requests({model.endpoint: work}, len(work), cache, options)
        found = cache.find([request.key for request in work])
    return outcome, {text: found[one.key] for text, one in zip(texts, work, strict=True) if one.key in found}
