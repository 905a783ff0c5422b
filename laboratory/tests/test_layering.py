"""Imports inside the laboratory go one way, the product never imports the laboratory, and a few things never appear."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import deconfound_bench
import pytest

import deconfound

LABORATORY = Path(deconfound_bench.__file__).parent
PRODUCT = Path(deconfound.__file__).parent

LAYERS = (
    {"artifact_dir", "articles", "gram_rows", "hashed_pairs", "effect_modifiers", "batch_prediction"},
    {"results"},
    {"sweep", "grid", "summarizers", "score_tables", "replication"},
    {"figures", "synthetic", "cached"},
    {"views", "tasks"},
    {"reproduction"},
    {"cli"},
)
"""Each module or sub-package imports only from the rows above its own. A new one must be added here."""

INNER_LAYERS = {
    "sweep": ("request", "folder", "worker_task", "run_tasks", "progress", "run"),
    "grid": ("grid", "source_tables", "read"),
    "synthetic": ("constants", "dgp", "article_split", "pool", "draws", "benchmark"),
    "cached": ("router", "environment", "observables", "pool", "draws", "benchmark", "target_r2"),
    "summarizers": ("sentence_splitter", "compress", "noise", "rank", "systems"),
    "score_tables": ("score_cube", "standings", "curves", "value_errors", "table", "layout"),
    "figures": ("style", "curve_figures", "value_figure", "winner_figure"),
    "tasks": ("summarization", "instructions", "coding"),
    "tasks.coding": ("patches", "components", "utility", "spec", "weight_tables", "weight_figures"),
    "reproduction": (
        "paper",
        "claims",
        "side_by_side",
        "sources",
        "synthetic_section",
        "coding_section",
        "summarization_tables",
        "summarization_claims",
        "summarization_section",
        "instructions_section",
        "page",
    ),
    "cli": ("run_benchmark", "benchmarks", "main"),
}
"""Inside a package, each module imports only from modules before it. The packages of articles order themselves."""

PARALLEL_NAMES = {"draws", "pool", "benchmark"}
"""Module names used twice on purpose: ``synthetic`` and ``cached`` have the same structure."""

HEAVY = {"sklearn", "sumy", "matplotlib", "pandas"}
PICKLES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
BATCH_HOOKS = {"combine", "written_by", "of_models"}

LAYER = {unit: number for number, units in enumerate(LAYERS) for unit in units}


def source_files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.py"))


def imports(path: Path, root: Path, package: str) -> Iterator[tuple[str, int]]:
    """Absolute dotted names that a file imports anywhere, also inside functions, with their lines."""
    base = [package, *path.relative_to(root).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = base[: len(base) - node.level + 1] if node.level else []
            source = ".".join([*start, *([node.module] if node.module else [])])
            yield from ((f"{source}.{alias.name}", node.lineno) for alias in node.names)


def imports_against_the_layers(root: Path) -> list[str]:
    """Imports of a unit in the same or a later row, and units without a row."""
    problems = []
    for path in source_files(root):
        unit = path.relative_to(root).with_suffix("").parts[0]
        if unit == "__init__":
            continue
        if unit not in LAYER:
            problems.append(f"{unit} is missing in LAYERS")
        for name, line in imports(path, root, "deconfound_bench"):
            if not name.startswith("deconfound_bench."):
                continue
            other = name.split(".")[1]
            if other != unit and LAYER.get(other, 99) >= LAYER.get(unit, 0):
                problems.append(f"{path.relative_to(root)}:{line} imports {name}")
    return problems


def imports_against_the_inner_layers(root: Path) -> list[str]:
    """Imports of a later module of the same package, imports of the package itself, and modules without a place."""
    problems = []
    for package, order in INNER_LAYERS.items():
        folder = root.joinpath(*package.split("."))
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            own = path.stem if path.suffix == ".py" else path.name
            if own in ("__init__", "__pycache__"):
                continue
            if own not in order:
                problems.append(f"{package}.{own} is missing in INNER_LAYERS")
                continue
            for file in source_files(path) if path.is_dir() else [path]:
                for name, line in imports(file, root, "deconfound_bench"):
                    prefix = f"deconfound_bench.{package}."
                    if not name.startswith(prefix):
                        continue
                    other = name.removeprefix(prefix).split(".")[0]
                    later = other not in order or order.index(other) > order.index(own)
                    if other != own and later:
                        problems.append(f"{file.relative_to(root)}:{line} imports {name}")
    return problems


def imports_of_the_laboratory(root: Path) -> list[str]:
    """Files of the product that import the laboratory; the command finds it by its entry point."""
    return [
        f"{path.relative_to(root)}:{line} imports {name}"
        for path in source_files(root)
        for name, line in imports(path, root, "deconfound")
        if name.split(".")[0] == "deconfound_bench"
    ]


def repeated_module_names(root: Path) -> list[str]:
    paths = [path for path in source_files(root) if "articles" not in path.relative_to(root).parts]
    count = Counter(path.stem for path in paths if path.stem != "__init__")
    return [name for name, number in count.items() if number > 1 and name not in PARALLEL_NAMES]


def imported_at_import_time(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Libraries imported when the module is imported; type-checking blocks and function bodies are not."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))


def heavy_imports(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{line} {name}"
        for path in source_files(root)
        for name, line in imported_at_import_time(ast.parse(path.read_text(encoding="utf-8")))
        if name.split(".")[0] in HEAVY
    ]


def forbidden_constructs(root: Path) -> list[str]:
    """Star imports, pickles, ``**`` parameters, and the batch hooks of rewards outside ``batch_prediction``."""
    problems = []
    for path in source_files(root):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, line in imports(path, root, "deconfound_bench"):
            if name.endswith(".*"):
                problems.append(f"{path.name}:{line} star import")
            if name.split(".")[0] in PICKLES:
                problems.append(f"{path.name}:{line} {name}")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and node.args.kwarg:
                problems.append(f"{path.name}:{node.lineno} takes **{node.args.kwarg.arg}")
            if isinstance(node, ast.Attribute) and node.attr in BATCH_HOOKS and path.stem != "batch_prediction":
                problems.append(f"{path.name}:{node.lineno} uses {node.attr}")
    return problems


def test_imports_between_sub_packages_go_one_way() -> None:
    assert imports_against_the_layers(LABORATORY) == []


def test_imports_inside_sub_packages_go_one_way() -> None:
    assert imports_against_the_inner_layers(LABORATORY) == []


def test_the_product_never_imports_the_laboratory() -> None:
    assert imports_of_the_laboratory(PRODUCT) == []


def test_module_names_are_unique_except_for_parallel_packages() -> None:
    assert repeated_module_names(LABORATORY) == []


def test_heavy_libraries_are_imported_only_when_needed() -> None:
    assert heavy_imports(LABORATORY) == []


def test_no_star_imports_no_pickle_no_catch_all_parameters_and_one_user_of_the_batch_hooks() -> None:
    assert forbidden_constructs(LABORATORY) == []


@pytest.mark.parametrize(
    ("where", "code", "check"),
    [
        ("results.py", "from deconfound_bench.sweep import Task", imports_against_the_layers),
        ("grid/read.py", "def f():\n    import deconfound_bench.tasks.coding", imports_against_the_layers),
        ("grid/read.py", "from ..cached import pool", imports_against_the_layers),
        ("cached/pool.py", "from deconfound_bench.synthetic.pool import SummaryPool", imports_against_the_layers),
        ("helpers.py", "x = 1", imports_against_the_layers),
        ("sweep/folder.py", "from deconfound_bench.sweep.run import run_sweep", imports_against_the_inner_layers),
        ("sweep/folder.py", "from deconfound_bench.sweep import SweepProgress", imports_against_the_inner_layers),
        ("sweep/folder.py", "from .run import run_sweep", imports_against_the_inner_layers),
        ("tasks/summarization.py", "import deconfound_bench.tasks.coding.spec", imports_against_the_inner_layers),
        ("tasks/coding/patches.py", "from .spec import SUCCESS", imports_against_the_inner_layers),
        ("grid/helpers.py", "x = 1", imports_against_the_inner_layers),
        ("cli/bench.py", "from deconfound_bench.cli import main", imports_of_the_laboratory),
        ("plan.py", "def f():\n    import deconfound_bench", imports_of_the_laboratory),
        ("synthetic/split.py", "import sklearn.decomposition", heavy_imports),
        ("figures/style.py", "try:\n    import matplotlib\nexcept ImportError:\n    pass", heavy_imports),
        ("results.py", "from math import *", forbidden_constructs),
        ("results.py", "def f():\n    from pickle import loads", forbidden_constructs),
        ("results.py", "def f(a, **rest):\n    return a", forbidden_constructs),
        ("replication.py", "def f(fit, x):\n    return fit.combine(None, None, x)", forbidden_constructs),
    ],
)
def test_the_checks_detect_violations(
    tmp_path: Path, where: str, code: str, check: Callable[[Path], list[str]]
) -> None:
    path = tmp_path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    assert len(check(tmp_path)) == 1


def test_the_check_of_module_names_detects_repetitions(tmp_path: Path) -> None:
    for where in ("a/tables.py", "b/tables.py", "a/pool.py", "b/pool.py", "a/__init__.py", "b/__init__.py"):
        path = tmp_path / where
        path.parent.mkdir(exist_ok=True)
        path.write_text("x = 1")
    assert repeated_module_names(tmp_path) == ["tables"]


@pytest.mark.parametrize(
    ("where", "code"),
    [
        (
            "sweep/run.py",
            "from deconfound_bench.sweep.folder import SweepFolder\nfrom deconfound.errors import UsageError",
        ),
        ("cached/draws.py", "from deconfound_bench.replication import Truth\nfrom .pool import CachedPool"),
        ("figures/style.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import matplotlib"),
        ("figures/style.py", "def draw():\n    import matplotlib\n    return matplotlib"),
        ("tasks/coding/spec.py", "from deconfound_bench.tasks.coding.utility import USERS"),
    ],
)
def test_the_checks_accept_valid_imports(tmp_path: Path, where: str, code: str) -> None:
    path = tmp_path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    checks = (
        imports_against_the_layers,
        imports_against_the_inner_layers,
        heavy_imports,
        forbidden_constructs,
        repeated_module_names,
    )
    assert [problem for check in checks for problem in check(tmp_path)] == []
