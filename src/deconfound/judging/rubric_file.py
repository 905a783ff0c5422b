"""A rubric from a TOML file, or one of the package; every problem is collected with its place and a fix."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deconfound.endpoints.toml_tables import TableReader, read_toml
from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import escape_name, readable_path
from deconfound.formatting import join_names, quote
from deconfound.judging.builtin_rubrics import BUILTIN
from deconfound.judging.rubric import Anchor, Criterion, Rubric

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
MAX_CRITERIA = 50
MAX_SCORE = 1e6
MAX_WEIGHT = 1e6
EXAMPLE = "`deconfound judge --print-rubric summarization` prints one to start from."


def read_rubric(rubric: str | os.PathLike[str]) -> Rubric:
    """A rubric by its name, or from a file; all problems of the file come in one error."""
    if isinstance(rubric, str) and rubric in BUILTIN:
        return parse_rubric(tomllib.loads(BUILTIN[rubric]), rubric)
    path = Path(rubric)
    if not path.exists() and not path.suffix:
        raise UsageError(f"--rubric: there is no rubric {quote(rubric)}. Name {join_names(BUILTIN)}, or a TOML file.")
    return parse_rubric(read_toml(path), readable_path(path.name))


def builtin_text(name: str) -> str:
    """A rubric of the package as a file."""
    if name not in BUILTIN:
        raise UsageError(f"--print-rubric: there is no rubric {quote(name)}. There is {join_names(BUILTIN)}.")
    return BUILTIN[name]


def parse_rubric(content: Mapping[str, Any], source: str) -> Rubric:
    """The rubric in a file."""
    problems: list[Problem] = []
    reader = TableReader(content, source, problems)
    name = reader.text("name") or Path(source).stem
    instruction = reader.text("instruction", required=f"Say what is judged, and by what. {EXAMPLE}")
    context, output = reader.text("context") or "context", reader.text("output") or "output"
    reader.taken.append("criteria")
    tables = content.get("criteria")
    reader.finish()
    if not isinstance(tables, list) or not tables or len(tables) > MAX_CRITERIA:
        fix = f"Write 1 to {MAX_CRITERIA} tables [[criteria]]. {EXAMPLE}"
        raise DataError([*problems, Problem(source, "there are no criteria, or too many", fix)])
    found = [_read_criterion(table, f"{source} criterion {at}", problems) for at, table in enumerate(tables, 1)]
    criteria = tuple(one for one in found if one is not None)
    problems += _repeated_names(criteria, source)
    if criteria and not problems and not any(one.weight for one in criteria):
        problems.append(Problem(source, "no criterion has a weight above 0", "Give one of them a weight."))
    if problems or instruction is None:
        raise DataError(problems)
    return Rubric(name, _one_line(instruction), criteria, context.strip(), output.strip())


def _read_criterion(table: object, where: str, problems: list[Problem]) -> Criterion | None:
    if not isinstance(table, Mapping):
        problems.append(Problem(where, "this is not a table", "Write [[criteria]] above it."))
        return None
    before, reader = len(problems), TableReader(table, where, problems)
    name = reader.text("name", required='Give it a name, such as name = "coverage".')
    question = reader.text("question", required="Write what the judge is to answer.")
    count = reader.whole_number("count", 1, int(MAX_SCORE))
    ends = _read_scale(reader)
    weight = reader.number("weight", 0, MAX_WEIGHT)
    anchors = reader.subtable("anchors") or {}
    reader.finish()
    if name is not None and not NAME.fullmatch(name):
        reader.problem(f"the name {quote(name)} cannot be that of a column", "Use letters, digits and _.")
    if ("count" in table) == ("scale" in table):
        reader.problem("there must be either scale or count", "Write scale = [0, 5], or count = 20 for the most.")
    if len(problems) > before or name is None or question is None:
        return None
    low, high = (0.0, float(count or 0)) if ends is None else ends
    default = 0.0 if count is not None else 1.0
    read = _read_anchors(anchors, low, high, reader)
    return Criterion(
        name=name,
        question=_one_line(question),
        low=low,
        high=high,
        anchors=read,
        is_count=count is not None,
        weight=default if weight is None else weight,
    )


def _read_scale(reader: TableReader) -> tuple[float, float] | None:
    value = reader.table.get("scale")
    reader.taken.append("scale")
    if value is None:
        return None
    numbers = value if isinstance(value, list) else []
    if len(numbers) != 2 or not all(_is_number(one) for one in numbers) or not numbers[0] < numbers[1]:
        reader.problem("scale is not two numbers, the worst and the best", "Write it as in scale = [0, 5].")
        return None
    return float(numbers[0]), float(numbers[1])


def _read_anchors(table: Mapping[str, Any], low: float, high: float, reader: TableReader) -> tuple[Anchor, ...]:
    anchors = []
    for score, meaning in table.items():
        try:
            number = float(score)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            reader.problem(f"the anchor {escape_name(score)} is no score from {low:g} to {high:g}", "Correct it.")
        elif not isinstance(meaning, str) or not meaning.strip():
            reader.problem(f"the anchor {escape_name(score)} is not a text", "Write in quotes what the score means.")
        else:
            anchors.append(Anchor(number, _one_line(meaning)))
    return tuple(sorted(anchors, key=lambda anchor: anchor.score))


def _repeated_names(criteria: tuple[Criterion, ...], source: str) -> list[Problem]:
    seen: set[str] = set()
    problems = []
    for name in (criterion.name for criterion in criteria):
        if name.lower() in seen:
            problems.append(Problem(source, f"two criteria are called {name}", "Rename one of them."))
        seen.add(name.lower())
    return problems


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and abs(value) <= MAX_SCORE  # type: ignore[arg-type]
