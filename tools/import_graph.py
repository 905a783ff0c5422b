"""Which module of a package imports which, read from the syntax tree without running any code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

RENDERING = {
    "deconfound.result": "deconfound.report",
    "deconfound.findings": "deconfound.report.findings_text",
    "deconfound.monitoring.monitor_result": "deconfound.report",
    "deconfound.value.log_bias": "deconfound.report.decision_text",
    "deconfound.decide.routing": "deconfound.report.decision_text",
    "deconfound.policy_learning.learn_policy": "deconfound.report.route_text",
}
"""Data that offers its own text: these modules import the renderer inside a method, and nothing else upward."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import of one module by another."""

    importer: str  # dotted name of the importing module
    imported: str  # dotted name as written, possibly ending in the imported object
    line: int
    deferred: bool  # inside a function, so it runs only when that is called

    @property
    def renders(self) -> bool:
        """Whether data asks for its own text here, the one kind of import that may go upward."""
        return self.deferred and self.importer in RENDERING and self.imported.startswith(RENDERING[self.importer])


def module_name(path: Path, root: Path) -> str:
    """Dotted name of the file ``path`` in the package folder ``root``."""
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(root: Path) -> dict[str, Path]:
    """All modules of the package in folder ``root``."""
    return {module_name(path, root): path for path in sorted(root.rglob("*.py"))}


def imports(path: Path, root: Path) -> tuple[Import, ...]:
    """All imports of one file, at any depth; what only a type checker reads counts too."""
    return _imports(path, root, path.stat().st_mtime_ns)


@cache
def _imports(path: Path, root: Path, _changed: int) -> tuple[Import, ...]:
    return tuple(_read_imports(path, root))


def _read_imports(path: Path, root: Path) -> Iterator[Import]:
    name = module_name(path, root)
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    deferred = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(name, alias.name, node.lineno, id(node) in deferred) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(name, f"{base}.{alias.name}", node.lineno, id(node) in deferred)


def resolve(imported: str, known: dict[str, Path]) -> str | None:
    """The module that an imported name belongs to, or None where it is outside the package."""
    while imported and imported not in known:
        imported = imported.rpartition(".")[0]
    return imported or None


def module_edges(root: Path) -> dict[tuple[str, str], list[Import]]:
    """All imports inside a package, by importing and imported module."""
    known = modules(root)
    edges: dict[tuple[str, str], list[Import]] = {}
    for path in known.values():
        for found in imports(path, root):
            target = resolve(found.imported, known)
            if target is not None and target != found.importer:
                edges.setdefault((found.importer, target), []).append(found)
    return edges


def room(module: str) -> str:
    """Top-level module or package inside the package: its first folder, or the file itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def room_edges(root: Path) -> dict[tuple[str, str], int]:
    """Number of imports between rooms; those that go upward to render text are left out."""
    counts: dict[tuple[str, str], int] = {}
    for (importer, imported), found in module_edges(root).items():
        pair = room(importer), room(imported)
        now = sum(not one.renders for one in found)
        if now and pair[0] != pair[1] and root.name not in pair:
            counts[pair] = counts.get(pair, 0) + now
    return counts


def first_cycle(edges: Iterable[tuple[str, str]]) -> list[str]:
    """Modules that import each other in a circle, the first also last; empty where there is no circle."""
    graph: dict[str, set[str]] = {}
    for start, end in edges:
        graph.setdefault(start, set()).add(end)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
