"""Imports go one way, heavy libraries wait until they are needed, and a few things never appear at all."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import deconfound
from tools.architecture import PICTURE, draw
from tools.import_graph import first_cycle, imports, module_edges, modules, room

SOURCE = Path(deconfound.__file__).parent

RANKS = (
    {"escaping", "words"},
    {"errors", "formatting", "progress", "threads"},
    {"findings", "frames", "system_lock", "engines"},
    {"design", "atomic", "array_archive", "chat"},
    {"linalg", "data", "file_lock"},
    {"assignment"},
    {"loading", "bundle", "endpoints", "router"},
    {"features", "traces", "replaying"},
    {"reward"},
    {"tune", "value", "metrics", "long_experiment"},
    {"surface_share", "decide", "evidence", "judging"},
    {"crossfit"},
    {"diagnose", "value_methods"},
    {"result", "evaluation_options"},
    {"study_summary"},
    {"prepared_study"},
    {"evaluation", "planning"},
    {"policy_learning", "monitoring"},
    {"report"},
    {"demo"},
    {"cli"},
)
"""Every room imports only rooms of the lines above its own; a new room has to be placed here."""

FACADE = {
    "deconfound",
    "deconfound.__main__",
}  # they offer the package to the outside and are imported by nothing inside
HEAVY = {"sklearn", "pandas", "polars", "matplotlib", "numba", "distributed", "dask", "ray"}
COMPILED = "features.kernels"  # imports numba, and is itself imported late, when text is first read
PICKLES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
LATE = ("sklearn", "pandas", "polars", "scipy", "pyarrow", "matplotlib", "numba")

RANK = {unit: rank for rank, units in enumerate(RANKS) for unit in units}


def wrong_ways(root: Path) -> list[str]:
    """Imports against the order of the ranks, and rooms that have no rank."""
    unknown = {room(name) for name in modules(root)} - RANK.keys() - {"__main__", root.name}
    wrong = [f"{name} has no place in RANKS" for name in sorted(unknown)]
    for path in modules(root).values():
        for found in imports(path, root):
            importer = found.importer.replace(root.name, "deconfound", 1)
            outside = not found.imported.startswith("deconfound.") or found.imported == "deconfound.__version__"
            if importer in FACADE or outside or found.renders:
                continue
            mine, other = room(importer), found.imported.split(".")[1]
            if other != mine and RANK.get(other, 99) >= RANK.get(mine, 0):
                wrong.append(f"{path.relative_to(root)}:{found.line} imports {found.imported}")
    return wrong


def circles(root: Path) -> list[str]:
    """Modules that import each other in a circle, deferred imports included."""
    return first_cycle(
        pair
        for pair, found in module_edges(root).items()
        if pair[0] not in FACADE and pair[1] not in FACADE
        if not all(one.renders for one in found)
    )


def repeated_names(root: Path) -> list[str]:
    """Module names that two rooms use; a reader who looks for a file by name should find one."""
    counts = Counter(path.stem for path in modules(root).values() if path.stem not in ("__init__", "__main__"))
    return sorted(name for name, count in counts.items() if count > 1)


def at_import_time(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported; what only a type checker reads does not."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        inner = ast.stmt | ast.ExceptHandler | ast.match_case
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, inner))


def heavy_at_import(root: Path) -> list[str]:
    """Imports of heavy libraries that run when a module is imported."""
    wrong = []
    for path in modules(root).values():
        if path.relative_to(root).as_posix().startswith(COMPILED.replace(".", "/")):
            continue
        for node in at_import_time(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            heavy = [n for n in names if n.split(".")[0] in HEAVY or n.startswith(f"deconfound.{COMPILED}")]
            wrong += [f"{path.relative_to(root)}:{node.lineno} {name}" for name in heavy]
    return wrong


def forbidden(root: Path) -> list[str]:
    """Star imports, pickles in any form, and functions that take ``**`` anything."""
    wrong = []
    for path in modules(root).values():
        found = list(imports(path, root))
        wrong += [f"{path.name}:{one.line} star import" for one in found if one.imported.endswith(".*")]
        wrong += [f"{path.name}:{one.line} {one.imported}" for one in found if one.imported.split(".")[0] in PICKLES]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and node.args.kwarg:
                wrong.append(f"{path.name}:{node.lineno} takes **{node.args.kwarg.arg}")
    return wrong


@pytest.mark.parametrize("check", [wrong_ways, circles, repeated_names, heavy_at_import, forbidden])
def test_the_package_follows_the_rule(check) -> None:
    assert check(SOURCE) == []


def test_the_package_never_imports_the_laboratory() -> None:
    found = [one for path in modules(SOURCE).values() for one in imports(path, SOURCE)]
    assert not [one for one in found if one.imported.startswith("deconfound_bench")]


def test_the_picture_of_the_rooms_is_up_to_date() -> None:
    """If this fails, run ``python -m tools.architecture``."""
    assert PICTURE.read_text(encoding="utf-8") == draw(SOURCE)


@pytest.mark.parametrize(
    ("where", "code", "check"),
    [
        ("design.py", "from deconfound.reward import Cvci", wrong_ways),
        ("design.py", "from .value import Values", wrong_ways),
        ("linalg/ridge.py", "def f():\n    import deconfound.tune", wrong_ways),
        ("linalg/ridge.py", "from ..reward import base", wrong_ways),
        ("design.py", "from deconfound import linalg", wrong_ways),
        ("helpers.py", "x = 1", wrong_ways),
        ("value.py", "from deconfound.tune import tune", wrong_ways),
        ("value.py", "from deconfound import evaluate", wrong_ways),
        ("value/log_bias.py", "from deconfound.report.decision_text import log_bias_text", wrong_ways),
        ("value/values.py", "def f():\n    from deconfound.report.decision_text import log_bias_text", wrong_ways),
        ("value/log_bias.py", "def f():\n    from deconfound.report.text import summary", wrong_ways),
        ("result.py", "from deconfound.report.text import summary", wrong_ways),
        ("loading/files.py", "import pandas as pd", heavy_at_import),
        (
            "loading/files.py",
            "try:\n    from sklearn.linear_model import Ridge\nexcept ImportError:\n    pass",
            heavy_at_import,
        ),
        ("loading/files.py", "class A:\n    import polars.io", heavy_at_import),
        ("loading/files.py", "try:\n    x = 1\nexcept ImportError:\n    import polars", heavy_at_import),
        ("features/hashing.py", "from deconfound.features.kernels import hash_kernels", heavy_at_import),
        ("errors.py", "from math import *", forbidden),
        ("errors.py", "import pickle", forbidden),
        ("errors.py", "def f():\n    from pickle import loads", forbidden),
        ("errors.py", "def f(a, **rest):\n    return a", forbidden),
    ],
)
def test_each_check_finds_its_violation(tmp_path: Path, where: str, code: str, check) -> None:
    assert len(check(package_with(tmp_path, where, code))) == 1


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("linalg/ridge.py", "from deconfound.design import Rows\nfrom deconfound.linalg.factored import factor"),
        ("reward/cvci.py", "from ..design import Rows\nfrom .base import clip\nfrom deconfound.linalg import ridge"),
        ("loading/files.py", "def read():\n    import pandas\n    return pandas"),
        ("loading/files.py", "class A:\n    def read(self):\n        import pandas\n        return pandas"),
        ("features/kernels/loops.py", "import numba\nfrom deconfound.features.kernels.code_points import decode"),
        ("loading/files.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import polars"),
        ("value/log_bias.py", "def f():\n    from deconfound.report.decision_text import log_bias_text"),
        ("result.py", "class Result:\n    def f(self):\n        from deconfound.report.text import summary"),
        ("tune.py", "from dataclasses import replace\nf = dict(**{})\nimport numpy as np"),
    ],
)
def test_no_check_finds_fault_with_what_is_allowed(tmp_path: Path, where: str, code: str) -> None:
    root = package_with(tmp_path, where, code)
    assert wrong_ways(root) + heavy_at_import(root) + forbidden(root) == []


def test_circles_and_repeated_names_are_found(tmp_path: Path) -> None:
    root = package_with(tmp_path, "data/a.py", "from deconfound.data import b")
    package_with(tmp_path, "data/b.py", "def f():\n    from deconfound.data import a")
    assert set(circles(root)) == {"deconfound.data.a", "deconfound.data.b"}
    package_with(tmp_path, "value/a.py", "")
    assert repeated_names(root) == ["a"]


def package_with(folder: Path, where: str, code: str) -> Path:
    """A package called deconfound with one more file."""
    path = folder / "deconfound" / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    return folder / "deconfound"


PROBE = """
import json, sys, time
start = time.perf_counter()
import numpy
between = time.perf_counter()
import deconfound
print(json.dumps({"numpy": between - start, "own": time.perf_counter() - between, "modules": sorted(sys.modules)}))
"""


def test_importing_the_package_in_a_fresh_interpreter_is_light() -> None:
    """Times are written for the reader and not judged: they belong to the machine."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    sys.stdout.write(f"import deconfound: {seen['own']:.3f} s on top of numpy's {seen['numpy']:.3f} s\n")
    loaded = {name.split(".")[0] for name in seen["modules"]}
    assert "deconfound" in loaded
    assert not loaded & set(LATE)
