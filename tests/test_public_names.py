"""What users import, and what importing costs."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import deconfound as dc

PYTHON_PAGE = Path(__file__).parents[1] / "docs" / "python.md"
IMPORT_EVERYTHING = """
import pkgutil, types
from importlib import import_module
import deconfound as dc

for module in pkgutil.walk_packages(dc.__path__, "deconfound."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
hidden = [name for name in dc.__all__ if isinstance(getattr(dc, name), types.ModuleType)]
assert not hidden, hidden
"""


def test_every_public_name_is_there_and_listed():
    assert set(dir(dc)) == set(dc.__all__)
    for name in dc.__all__:
        assert getattr(dc, name) is not None


def test_type_checkers_and_the_interpreter_see_the_same_names():
    """A type checker reads the imports under ``TYPE_CHECKING``, the interpreter the table of public names."""
    tree = ast.parse(Path(dc.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.asname: node.module for node in block.body for alias in node.names}
    assert typed == {name: f"deconfound.{module}" for name, module in dc._MODULE_OF.items()}


def test_no_module_has_a_public_name():
    """Importing a module sets an attribute on the package, which would hide a function of the same name."""
    assert not set(dc.__all__) & {module.name for module in pkgutil.iter_modules(dc.__path__)}


def test_importing_every_module_hides_no_public_name():
    subprocess.run([sys.executable, "-c", IMPORT_EVERYTHING], check=True)


def test_the_python_page_lists_every_public_name():
    listed = re.findall(r"^\| `dc\.(\w+)", PYTHON_PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(listed) == sorted(set(dc.__all__) - {"__version__"})


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(dc, "evaluat")
