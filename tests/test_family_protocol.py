"""No code asks which family it has: everything goes through the protocol in ``deconfound.reward.base``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import deconfound
from deconfound.reward import EVERY

PRODUCT = Path(deconfound.__file__).parent
LABORATORY = Path(__file__).parent.parent / "laboratory" / "src"
NEEDS_LABORATORY = pytest.mark.skipif(not LABORATORY.is_dir(), reason="the source distribution has no laboratory")
TYPE_TESTS = {"isinstance", "issubclass"}


def concrete_classes() -> dict[str, Path]:
    """The name of every family and of its preparation, with the file or folder that may ask for it."""
    homes = {}
    for family in EVERY:
        file = Path(inspect.getfile(family))
        home = file.parent if file.stem == "family" else file
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and (node.name == family.__name__ or node.name.startswith("Prepared")):
                homes[node.name] = home
    return homes


def type_tests(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and class name of every test for a type: isinstance, issubclass, ``type(x) is C`` and class patterns."""
    original = {
        alias.asname: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    for node in ast.walk(tree):
        tested: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TYPE_TESTS:
            tested = node.args[1:]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            tested = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchClass):
            tested = [node.cls]
        for expression in tested:
            for part in ast.walk(expression):
                if isinstance(part, ast.Name):
                    yield part.lineno, original.get(part.id, part.id)
                elif isinstance(part, ast.Attribute):
                    yield part.lineno, part.attr


def violations(root: Path) -> list[str]:
    """Type tests for a concrete family outside the file or folder that defines it."""
    homes = concrete_classes()
    wrong = []
    for path in sorted(root.rglob("*.py")):
        for line, name in type_tests(ast.parse(path.read_text(encoding="utf-8"))):
            if name in homes and homes[name] not in (path, *path.parents):
                wrong.append(f"{path.relative_to(root)}:{line} tests for {name}")
    return wrong


def test_the_concrete_classes_are_all_families_and_their_preparations() -> None:
    names = set(concrete_classes())
    assert {family.__name__ for family in EVERY} <= names
    assert {"PreparedAuto", "PreparedCvci", "PreparedGroundedAnchor"} <= names


@pytest.mark.parametrize(
    "root", [PRODUCT, pytest.param(LABORATORY, marks=NEEDS_LABORATORY)], ids=["product", "laboratory"]
)
def test_no_code_tests_for_a_concrete_family(root: Path) -> None:
    assert len(list(root.rglob("*.py"))) > 50
    assert violations(root) == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(family, Auto)",
        "isinstance(family, (int, reward.Auto))",
        "isinstance(prepared, PreparedAuto | None)",
        "from deconfound.reward import Auto as Default\nissubclass(kind, Default)",
        "same = type(family) is Cvci",
        "same = Cvci == type(family)",
        "match family:\n    case ExpOnly(penalty=p):\n        pass",
    ],
)
def test_every_kind_of_type_test_is_detected(tmp_path: Path, code: str) -> None:
    (tmp_path / "module.py").write_text(code, encoding="utf-8")
    assert len(violations(tmp_path)) == 1


@pytest.mark.parametrize(
    "code",
    ["family = Auto()", "isinstance(family, Family)", "type(family).prepare(data, [Auto()])", "isinstance(x, str)"],
)
def test_other_uses_of_a_family_are_allowed(tmp_path: Path, code: str) -> None:
    (tmp_path / "module.py").write_text(code, encoding="utf-8")
    assert violations(tmp_path) == []
