"""The documentation site: every page is in its navigation, and the pages made from the code are complete."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import deconfound
from deconfound.cli.command_line import build_parser
from tests.support.page_blocks import page_blocks
from tools.docs_pages import SECTIONS, commands_page, decisions_page, names_page, write_pages

ROOT = Path(__file__).parent.parent
TUTORIAL = ROOT / "docs" / "tutorial-demo.md"


def test_every_page_is_in_the_navigation(tmp_path):
    write_pages(tmp_path / "pages")
    pages = {page.relative_to(tmp_path / "pages").with_suffix("").as_posix() for page in tmp_path.rglob("*.md")}
    listed = {page for pages in SECTIONS.values() for page in pages} | {"index", "package-description"}
    assert {page for page in pages if not page.startswith("decisions/")} == listed


def test_every_command_and_option_is_in_the_reference():
    page = commands_page(build_parser())
    for name in ("evaluate", "check", "plan", "assign", "replay", "judge", "monitor", "route", "recommend", "demo"):
        assert f"## deconfound {name}" in page
    assert "`--outcome-range WORST BEST`" in page
    assert "| `--level" in page
    assert "%(default" not in page


def test_every_public_name_and_decision_is_in_the_reference():
    page = names_page()
    assert all(f"deconfound.{name}\n" in page for name in deconfound.__all__ if not name.startswith("_"))
    assert decisions_page().count("](../decisions/") == len(list((ROOT / "docs" / "decisions").glob("*.md")))


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run(tmp_path):
    """With the shell, as a reader runs them."""
    commands = [block.text for block in page_blocks(TUTORIAL) if block.language == "sh"]
    assert len(commands) == 5
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands:
        done = subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        if "-o report.html" in command:
            assert done.stdout.startswith("Best model: cedar, value 0.680 (95 % interval 0.624 to 0.721).")


def test_rows_lost_in_the_tutorial_are_found(capsys):
    """The page shows what its code prints, but for the line breaks."""
    blocks = page_blocks(TUTORIAL)
    (code,) = [at for at, block in enumerate(blocks) if block.language == "python"]
    exec(compile(blocks[code].text, "tutorial-demo.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out.split() == blocks[code + 1].text.split()
