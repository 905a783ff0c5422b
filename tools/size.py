"""Count files, lines and the longest pieces of each package.

python -m tools.size
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src/deconfound", "laboratory/src/deconfound_bench", "tests", "laboratory/tests", "benchmarks", "tools")


@dataclass(frozen=True, slots=True)
class Size:
    """How large a folder of Python files is."""

    files: int
    lines: int
    longest_file: tuple[int, str]
    longest_function: tuple[int, str]


def measure(folder: Path) -> Size:
    """Count all Python files below a folder."""
    paths = sorted(folder.rglob("*.py"))
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    functions = [
        (node.end_lineno - node.lineno + 1, f"{path.relative_to(folder)}:{node.name}")
        for path in paths
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    ]
    longest = max(((count, str(path.relative_to(folder))) for path, count in lines.items()), default=(0, ""))
    return Size(len(paths), sum(lines.values()), longest, max(functions, default=(0, "")))


def main() -> None:
    """Print one Markdown row per folder."""
    rows = ["| folder | files | lines | longest file | longest function |", "|---|---|---|---|---|"]
    for folder in FOLDERS:
        size = measure(ROOT / folder)
        file, function = (f"{count} ({name})" for count, name in (size.longest_file, size.longest_function))
        rows.append(f"| {folder} | {size.files} | {size.lines:,} | {file} | {function} |")
    sys.stdout.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
