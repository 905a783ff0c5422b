"""The models of a replay, from one settings file: endpoints, models, prompts, parameters, prices and baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deconfound.endpoints.chat_model import ChatModel, read_chat_model
from deconfound.endpoints.endpoint import Endpoint, read_endpoints
from deconfound.endpoints.toml_tables import hint, key_problems, read_toml, table_reader
from deconfound.errors import DataError, Problem
from deconfound.escaping import readable_path
from deconfound.formatting import quote
from deconfound.replaying.baselines import Baseline, read_baseline
from deconfound.replaying.prompt_template import PromptTemplate, check_system, read_prompt

TABLES = ("endpoints", "models", "judges")
"""The last are for `deconfound judge`, which may have its settings in the same file."""
MAX_MODELS = 1_000
EXAMPLE = "`deconfound replay --init` writes a file with examples."


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A model that an endpoint answers for; without a prompt it gets the context as it is."""

    chat: ChatModel
    prompt: PromptTemplate | None = None

    @property
    def name(self) -> str:
        """Its name in the replay."""
        return self.chat.name

    def draws(self, requested: int) -> int:
        """How many outputs of each context differ."""
        return requested


@dataclass(frozen=True, slots=True)
class BaselineModel:
    """A baseline among the models."""

    baseline: Baseline

    @property
    def name(self) -> str:
        """Its name in the replay."""
        return self.baseline.name

    def draws(self, requested: int) -> int:
        """One, unless chance is involved: further ones would be copies."""
        return requested if self.baseline.is_random else 1


ReplayModel = AskedModel | BaselineModel


@dataclass(frozen=True, slots=True)
class ReplayModels:
    """All models of a file, in its order."""

    models: tuple[ReplayModel, ...]
    source: str = "models"

    @property
    def asked(self) -> tuple[AskedModel, ...]:
        """Those that need calls."""
        return tuple(model for model in self.models if isinstance(model, AskedModel))


def read_models(path: Path) -> ReplayModels:
    """Read a settings file; all of its problems come in one error."""
    source = readable_path(path.name)
    content = read_toml(path)
    problems = _unknown_tables(content, source)
    endpoints = read_endpoints(content, source, problems)
    keys = (endpoint.key() for endpoint in endpoints.values() if endpoint is not None)
    problems += key_problems(content, source, keys)
    models = _read_all(content, source, endpoints, problems)
    if problems:
        raise DataError(problems)
    return ReplayModels(tuple(models), source)


def _unknown_tables(content: Mapping[str, Any], source: str) -> list[Problem]:
    fix = f"There are [endpoints.NAME] and [models.NAME]. {EXAMPLE}"
    return [
        Problem(source, f"there is no table {quote(name)}", f"{hint(name, TABLES)}{fix}")
        for name in content
        if name not in TABLES
    ]


def _read_all(
    content: Mapping[str, Any], source: str, endpoints: Mapping[str, Endpoint | None], problems: list[Problem]
) -> list[ReplayModel]:
    tables = content.get("models", {})
    if not isinstance(tables, Mapping) or not tables:
        problems.append(Problem(source, "there are no models", f"Write one table per model: [models.NAME]. {EXAMPLE}"))
        return []
    if len(tables) > MAX_MODELS:
        what = f"there are {len(tables):,} models, and at most {MAX_MODELS:,} can be compared"
        problems.append(Problem(source, what, "Leave some out."))
        return []
    problems += _similar_names(tables, source)
    found = [_read_model(name, table, source, endpoints, problems) for name, table in tables.items()]
    return [model for model in found if model is not None]


def _read_model(
    name: str, table: object, source: str, endpoints: Mapping[str, Endpoint | None], problems: list[Problem]
) -> ReplayModel | None:
    reader = table_reader("models", name, table, source, problems)
    if reader is None:
        return None
    if "baseline" in reader.table:
        baseline = read_baseline(name, reader)
        reader.finish()
        return None if baseline is None else BaselineModel(baseline)
    chat = read_chat_model(name, reader, endpoints)
    prompt = read_prompt(reader)
    check_system(reader, None if chat is None else chat.system)
    reader.taken.append("baseline")  # among the suggestions for a name that is unknown
    reader.finish()
    return None if chat is None else AskedModel(chat, prompt)


def _similar_names(names: Mapping[str, Any], source: str) -> list[Problem]:
    """Names that differ only in case or spaces, which a reader of the results would take for one."""
    seen: dict[str, str] = {}
    problems = []
    for name in names:
        folded = "".join(name.casefold().split())
        if folded in seen:
            what = f"models {quote(seen[folded])} and {quote(name)} differ only in case or spaces"
            problems.append(Problem(source, what, "Give them different names."))
        seen.setdefault(folded, name)
    return problems
