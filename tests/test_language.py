"""Strings, docstrings, comments and docs use plain English: CONTRIBUTING.md lists what to avoid."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "CONTRIBUTING.md"
CODE = ("src", "laboratory/src", "benchmarks", "tools", "tests", "laboratory/tests")
EXEMPT = {"tests/test_language.py", "CONTRIBUTING.md"}  # they name what they reject
FICTION = {
    "laboratory/src/deconfound_bench/articles/wordings",
    "laboratory/tests/articles",
    "src/deconfound/demo/message_text.py",
    "src/deconfound/demo/phrases.py",
}
"""Text of invented news and messages, which may speak as people do."""


def avoided() -> list[str]:
    """First column of the table under "Language" in the contributing guide."""
    section = GUIDE.read_text(encoding="utf-8").split("## Language")[1]
    rows = [line.strip("|").split("|")[0].strip() for line in section.splitlines() if line.startswith("|")]
    return [row for row in rows if row != "avoid" and not set(row) <= {"-"}]


def pattern(expressions: list[str]) -> re.Pattern[str]:
    """Any of the expressions as whole words, in any case, across line breaks."""
    words = [r"\s+".join(re.escape(word).replace(r"\*", r"\w*") for word in one.split()) for one in expressions]
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string and comment of a Python file, or of every line of any other file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, text
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start[0], re.sub(r'"\s*\n\s*f?"', "", token.string)


def files() -> list[Path]:
    code = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    docs = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    docs += [*(ROOT / "benchmarks").rglob("*.md"), *(ROOT / "laboratory").glob("*.md")]
    names = {path: path.relative_to(ROOT).as_posix() for path in (*code, *docs)}
    return sorted(
        path for path, name in names.items() if name not in EXEMPT and not any(name.startswith(f) for f in FICTION)
    )


def offences(paths: list[Path], avoid: re.Pattern[str]) -> list[str]:
    return [
        f"{path}:{line + text[: hit.start()].count(chr(10))}: {hit.group()}"
        for path in paths
        for line, text in prose(path)
        for hit in avoid.finditer(text)
    ]


def test_no_text_uses_an_expression_that_the_guide_avoids() -> None:
    found = offences(files(), pattern(avoided()))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.py", 'x = "The models cannot be told apart."\n', 1),
        ("a.py", '"""What the log\n    flatters."""\n', 1),
        ("a.py", "x = 1  # one a model\n", 1),
        ("a.py", "def told():\n    apart = 1\n", 0),
        ("a.md", "The models were told\napart by luck.\n", 2),
        ("a.md", "Models differ; chance remains. One row per model.\n", 0),
    ],
)
def test_the_search_sees_strings_comments_and_docs_and_no_code(
    tmp_path: Path, name: str, text: str, count: int
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert len(offences([path], pattern(avoided()))) == count
