"""What users import, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import deconfound as dc


def test_every_public_name_is_there_and_listed():
    assert set(dir(dc)) == set(dc.__all__)
    for name in dc.__all__:
        assert getattr(dc, name) is not None


def test_using_the_modules_does_not_hide_the_functions():
    """Importing a submodule sets an attribute on the package: none may bear the name of a public function."""
    code = (
        "import deconfound.cli, deconfound.evaluation, deconfound.loading, deconfound as dc\n"
        "assert callable(dc.load) and callable(dc.evaluate), (dc.load, dc.evaluate)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(dc, "evaluat")
