"""The judges, from one settings file: the same endpoints and settings as for the models of a replay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deconfound.endpoints.chat_model import ChatModel, read_chat_model
from deconfound.endpoints.endpoint import Endpoint, read_endpoints
from deconfound.endpoints.toml_tables import hint, key_problems, read_toml, table_reader
from deconfound.errors import DataError, Problem
from deconfound.escaping import readable_path
from deconfound.formatting import quote

TABLES = ("endpoints", "judges", "models")
"""The last are for `deconfound replay`, which may have its settings in the same file."""
MAX_JUDGES = 50
FORMAT = "response_format"
EXAMPLE = "`deconfound judge --init` writes a file with examples."
TEMPLATE = """\
# The judges: deconfound judge --outputs log.parquet --judges judges.toml --rubric summarization
# Endpoints and settings are those of `deconfound replay`; one file can have the models and the judges.

# Keys never stand in this file: key_env names the environment variable that has it.
[endpoints.local]
url = "http://127.0.0.1:8080/v1"
# key_env = "OPENAI_API_KEY"

# Scores of several judges are averaged. Judges that write none of the compared outputs cannot prefer their own.
[judges.first]
endpoint = "local"
model = "name-at-the-endpoint"
temperature = 0
max_tokens = 300           # more for models that think before they answer
# price_input = 0.25       # per million tokens, in any currency
# price_output = 1.25
# structured = false       # do not ask the server to enforce the form of the answer
# own_models = ["oak"]     # models of your tables that are this judge, besides those with its name
"""


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that scores outputs.

    ``structured``: its server is asked to enforce the form of answers. ``own_models`` are the models of a study whose
    outputs this judge wrote itself.
    """

    chat: ChatModel
    structured: bool
    own_models: frozenset[str]

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self.chat.name


def read_judges(path: Path) -> tuple[Judge, ...]:
    """Read a settings file; all of its problems come in one error."""
    source = readable_path(path.name)
    content = read_toml(path)
    fix = f"There are [endpoints.NAME] and [judges.NAME]. {EXAMPLE}"
    problems = [
        Problem(source, f"there is no table {quote(name)}", f"{hint(name, TABLES)}{fix}")
        for name in content
        if name not in TABLES
    ]
    endpoints = read_endpoints(content, source, problems)
    keys = (endpoint.key() for endpoint in endpoints.values() if endpoint is not None)
    problems += key_problems(content, source, keys)
    judges = _read_all(content, source, endpoints, problems)
    if problems:
        raise DataError(problems)
    return judges


def _read_all(
    content: Mapping[str, Any], source: str, endpoints: Mapping[str, Endpoint | None], problems: list[Problem]
) -> tuple[Judge, ...]:
    tables = content.get("judges", {})
    if not isinstance(tables, Mapping) or not 0 < len(tables) <= MAX_JUDGES:
        what = "there are no judges" if not tables else f"there are not 1 to {MAX_JUDGES} judges"
        problems.append(Problem(source, what, f"Write one table per judge: [judges.NAME]. {EXAMPLE}"))
        return ()
    found = [_read_judge(name, table, source, endpoints, problems) for name, table in tables.items()]
    judges = tuple(judge for judge in found if judge is not None)
    problems += _equal_judges(judges, source)
    return judges


def _equal_judges(judges: Sequence[Judge], source: str) -> list[Problem]:
    """Judges who would be asked the very same: they share one answer, and their mean is that of one."""
    seen: dict[str, str] = {}
    problems = []
    for judge in judges:
        chat = judge.chat
        body = json.dumps(
            [chat.endpoint.call_url, chat.model, chat.system, chat.seed, dict(chat.parameters)], default=str
        )
        if body in seen:
            what = f"judges {quote(seen[body])} and {quote(judge.name)} have the same model and settings"
            problems.append(Problem(source, what, "Leave one of them out, or give it another model."))
        seen.setdefault(body, judge.name)
    return problems


def _read_judge(
    name: str, table: object, source: str, endpoints: Mapping[str, Endpoint | None], problems: list[Problem]
) -> Judge | None:
    reader = table_reader("judges", name, table, source, problems)
    if reader is None:
        return None
    chat = read_chat_model(name, reader, endpoints)
    structured, own = reader.flag("structured"), reader.texts("own_models")
    if "prompt" in reader.table:
        reader.taken.append("prompt")
        reader.problem("a judge has no prompt", "Write what it is asked into a rubric, and leave prompt out.")
    reader.finish()
    if chat is None:
        return None
    can_enforce = chat.endpoint.api == "openai" and FORMAT not in chat.parameters
    if structured and not can_enforce:
        reader.problem("structured needs the interface of OpenAI and no response_format in parameters", "Leave it out.")
    enforced = can_enforce if structured is None else structured
    return Judge(chat, enforced, frozenset({*(own or ()), name}))
