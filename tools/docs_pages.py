"""The pages of the documentation site: those of ``docs/``, and those that are made from the code.

    python -m tools.docs_pages build/pages      # then: sphinx-build build/pages build/site

Commands come from the parser of the command line, functions and types from docstrings, decisions from their titles.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import deconfound
from deconfound.cli.command_line import build_parser

ROOT = Path(__file__).parent.parent
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:benchmarks|laboratory|[A-Z]+)[^)]*\)")
SECTIONS = {
    "Start": ("tutorial-demo", "tutorial-whole-loop", "quickstart"),
    "How to": (
        *("traces", "file-formats", "run-an-experiment", "plan", "assign", "monitor", "replay", "judge"),
        *(
            "missing-outcomes",
            "choose-a-family",
            "segments",
            "read-the-report",
            "report",
            "act-on-a-failed-check",
            "route",
            "engines",
            "adding-a-family",
        ),
    ),
    "Explanation": (
        *("why-logs-mislead", "theorem", "when-not-to-use", "checks", "features", "efficient-values", "reliability"),
        "scale",
        "architecture",
    ),
    "Reference": ("reference/commands", "python", "reference/names", "result-json", "summary-rubric"),
    "Evidence": ("measurements", "benchmarks", "reproduction", "reference/decisions"),
}
"""The pages by section, in the order of the navigation."""


def write_pages(place: Path) -> None:
    """Write all pages; what was there before is replaced."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "docs", place, ignore=shutil.ignore_patterns("held-out", "__pycache__", "*.parquet"))
    for page in place.rglob("*.md"):  # links that leave docs/ lead nowhere on the site; their text stays
        page.write_text(OUTSIDE.sub(r"\1", page.read_text(encoding="utf-8")), encoding="utf-8")
    (place / "reference").mkdir()
    pages = {"commands": commands_page(build_parser()), "names": names_page(), "decisions": decisions_page()}
    for name, text in pages.items():
        (place / "reference" / f"{name}.md").write_text(text, encoding="utf-8")
    with (place / "index.md").open("a", encoding="utf-8") as index:
        index.write("".join(toctree(pages, caption) for caption, pages in SECTIONS.items()))


def toctree(pages: Iterable[str], caption: str = "") -> str:
    """A part of the navigation, which the page itself does not show."""
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return "\n```{toctree}\n" + options + "\n" + "\n".join(pages) + "\n```\n"


def commands_page(parser: argparse.ArgumentParser) -> str:
    """Every command with its options."""
    lines = ["# Commands", "", _prose(parser.description), "", "Exit codes: [reliability](../reliability.md).", ""]
    for name, command in _subcommands(parser).items():
        lines += [f"## deconfound {name}", "", _prose(command.description), "", "```text", _usage(command), "```", ""]
        rows = [_row(action) for action in command._actions if action.help != argparse.SUPPRESS]
        lines += ["| option | meaning |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def names_page() -> str:
    """All public names with their docstrings."""
    lines = ["# Functions and types", "", "Every name is an attribute of `deconfound`. [Overview](../python.md).", ""]
    for name in sorted(deconfound.__all__):
        if name.startswith("_"):
            continue
        kind = "autoclass" if name[0].isupper() else "autofunction"
        members = ["   :members:", "   :no-undoc-members:"] if kind == "autoclass" else []
        lines += [f"## {name}", "", "```{eval-rst}", f".. {kind}:: deconfound.{name}", *members, "```", ""]
    return "\n".join(lines)


def decisions_page() -> str:
    """All decisions, by their titles."""
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    lines = ["# Decisions", "", "One page for each choice that a reader would otherwise question.", ""]
    for page in decisions:
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{page.stem[:4]}: {title}](../decisions/{page.name})")
    return "\n".join(lines) + "\n" + toctree(f"../decisions/{page.stem}" for page in decisions)


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(commands.choices)


def _usage(parser: argparse.ArgumentParser) -> str:
    return parser.format_usage().removeprefix("usage: ").strip()


def _row(action: argparse.Action) -> str:
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    value = "" if action.nargs == 0 or not action.option_strings else f" {_value(action)}"
    meaning = (action.help or "") % {**vars(action), "prog": "deconfound"}
    return f"| `{name}{value}` | {_prose(meaning)} |".replace("\n", " ")


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    if action.metavar is None and action.choices is not None:
        return ", ".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper()).replace("|", "\\|")


def _prose(text: str | None) -> str:
    """Text of the parser as Markdown, also inside a table."""
    return re.sub(r"([<*_|\[])", r"\\\1", text or "")


def main(arguments: Sequence[str]) -> int:
    """Write the pages into the folder that is named."""
    write_pages(Path(arguments[0]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
