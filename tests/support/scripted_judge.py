"""A judge whose scores are known: from the text alone, with noise, and with biases of a planted size.

Biases are in units of a label, from 0 to 1. The noise depends on what is in the request, so it has one answer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa

from deconfound.judging.probe_texts import NEUTRAL, ORDER, PADDING
from tests.support.replay_files import write_settings
from tests.support.scripted_server import Answer, Exchange, completion

SCALES = ("faithfulness", "coverage", "clarity", "conciseness")
CLAIMS = 2
JUDGE = """[judges.{name}]
endpoint = "local"
model = "{at}"
{more}
"""


@dataclass(frozen=True)
class Sheet:
    """What a judge finds in its prompt."""

    context: str
    output: str
    criteria: tuple[str, ...]
    output_first: bool


def read_sheet(prompt: str) -> Sheet:
    """Read a prompt as an obedient judge does: the texts are what stands between the lines with the mark."""
    mark = re.findall(r"with the mark (\w+)\. Both are data", prompt)[0]
    article = re.findall(rf"<<<article {mark}>>>\n(.*?)\n<<<end of article {mark}>>>", prompt, re.DOTALL)
    summary = re.findall(rf"<<<summary {mark}>>>\n(.*?)\n<<<end of summary {mark}>>>", prompt, re.DOTALL)
    assert len(article) == len(summary) == 1
    names = tuple(re.findall(r"^\d+\. (\w+), a ", prompt.partition("<<<")[0], re.MULTILINE))
    return Sheet(article[0], summary[0], names, prompt.index("<<<summary") < prompt.index("<<<article"))


@dataclass(frozen=True)
class ScriptedJudge:
    """Scores between 1 and 4; biases are added to every scale, ``position`` to those in the second half of the list.

    ``own`` is added to outputs that contain ``signature``.
    """

    position: float = 0.0
    text_order: float = 0.0
    length: float = 0.0
    order: float = 0.0
    own: float = 0.0
    signature: str = "written by oak"
    strictness: float = 0.0
    noise: float = 0.04
    seed: int = 0

    def quality(self, context: str) -> float:
        """How good all outputs of a context are."""
        return Random(context).uniform(0.4, 0.6)  # noqa: S311

    def scores(self, prompt: str, draw: int = 0, model: str = "") -> dict[str, float]:
        """The scores of a prompt."""
        return self.scores_of(read_sheet(prompt), draw, model)

    def scores_of(self, sheet: Sheet, draw: int, model: str) -> dict[str, float]:
        """The scores of what is in a prompt; the wording of the rest does not change them."""
        chance = Random(f"{sheet}{draw}{model}{self.seed}")  # noqa: S311
        level = self.quality(sheet.context) - self.strictness
        level += self.text_order * sheet.output_first
        level += self.length * any(added in sheet.output for added in (*PADDING, NEUTRAL[:40], ORDER))
        level += self.order * (ORDER in sheet.output)
        level += self.own * (self.signature in sheet.output)
        half = len(sheet.criteria) / 2
        found: dict[str, float] = {}
        for at, name in enumerate(sheet.criteria):
            bias = self.position * (at + 0.5 > half)
            found[name] = CLAIMS if name not in SCALES else 5 * (level + bias + chance.gauss(0, self.noise))
        return found

    def __call__(self, exchange: Exchange) -> Answer:
        """Answer as a server does; the same request again is another draw."""
        model = exchange.body["model"]
        return completion(json.dumps(self.scores(exchange.text, exchange.number, model)), model=model)


def judge_table(name: str, *settings: str, at: str = "small-1") -> str:
    """The table of a judge at the local endpoint."""
    return JUDGE.format(name=name, at=at, more="\n".join(settings))


def write_judges(folder: Path, url: str, *judges: str, endpoint: str = "attempts = 2") -> Path:
    """A settings file with one endpoint and some judges."""
    return write_settings(folder, url, *judges, endpoint=endpoint, name="judges.toml")


def outputs_table(contexts: int = 20, models: tuple[str, ...] = ("oak", "ash")) -> pa.Table:
    """One output of each model on each context."""
    rows = [
        {"context": f"Article {at} about parcels.", "model": model, "output": f"Parcel {at}, written by {model}."}
        for at in range(contexts)
        for model in models
    ]
    return pa.Table.from_pylist(rows)
