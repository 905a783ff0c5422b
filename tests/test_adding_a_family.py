"""The guide to adding a family is complete: applied to a copy of the package, its blocks give a working family."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from deconfound.demo import Sizes, make_demo

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "adding-a-family.md"
BLOCK = re.compile(r"^(Create|Append to|Change) `([^`]+)`:\n\n```(?:python|diff)\n(.*?)^```$", re.S | re.M)
SMALL = Sizes(log_contexts=30, log_repeats=3, log_people=20, experiment_contexts=30, experiment_people=30, draws=1)
NAME = "shifted-log"
LABORATORY = ROOT / "laboratory" / "src"
NEEDS_LABORATORY = pytest.mark.skipif(
    not LABORATORY.is_dir() or find_spec("deconfound_bench") is None, reason="the laboratory is not installed"
)


def apply_diff(text: str, diff: str) -> str:
    """Apply hunks that start with ``@@``; each has to match exactly one place."""
    for hunk in diff.split("@@\n")[1:]:
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        assert text.count(old) == 1, old
        text = text.replace(old, "".join(line[1:] for line in lines if line[0] in " +"))
    return text


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its tests with every block of the guide applied, and a small study."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("*.pyc*", "*.tmp.*"))  # kernels stay
    shutil.copytree(ROOT / "tests", root / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for action, path, body in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        file = root / path
        if action == "Create":
            assert not file.exists()
            file.write_text(body, encoding="utf-8")
        elif action == "Append to":
            file.write_text(f"{file.read_text(encoding='utf-8')}\n\n{body}", encoding="utf-8")
        else:
            file.write_text(apply_diff(file.read_text(encoding="utf-8"), body), encoding="utf-8")
    make_demo(3, sizes=SMALL).write(root / "study")
    return root


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(copy / "src"), str(LABORATORY)])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)


def test_every_block_of_the_guide_is_applied() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert len(BLOCK.findall(text)) == text.count("```python") + text.count("```diff") == 4


def test_the_new_family_is_evaluated_by_name_and_named_in_the_report(copy: Path) -> None:
    tables = [f"--{name}=study/{name}.parquet" for name in ("log", "experiment", "replay")]
    done = run(copy, "deconfound", "evaluate", *tables, "--family", NAME, "--json", "-q", "-o", "report.html")
    assert done.stderr == "Written to report.html.\n"
    document = json.loads(done.stdout)
    assert document["family"]["name"] == NAME
    assert set(document["family"]["hyperparameters"]) == {"penalty", "log_penalty"}
    assert document["attribution"] is None
    assert f"family {NAME})" in (copy / "report.html").read_text(encoding="utf-8")


def test_the_contract_and_twin_tests_include_the_new_family_and_pass(copy: Path) -> None:
    files = ("tests/reward/test_contract.py", "tests/reward/test_naive_twins.py")
    chosen = "shifted-log or ShiftedLog or twin_and_a_candidate"
    done = run(copy, "pytest", *files, "-k", chosen, "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib")
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 60


def test_the_help_of_the_command_line_lists_the_new_family(copy: Path) -> None:
    assert NAME in run(copy, "deconfound", "evaluate", "--help").stdout


@NEEDS_LABORATORY
def test_the_benchmarks_accept_the_new_family(copy: Path) -> None:
    """Families are checked before seeds, so the only complaint is about the seeds."""
    done = run(copy, "deconfound", "bench", "synthetic", "--quick", "--families", f"{NAME},obs-only", "--seeds", "none")
    assert "--seeds" in done.stderr
    assert NAME not in done.stderr


@pytest.mark.slow
@NEEDS_LABORATORY
def test_a_benchmark_of_the_new_family_has_scores(copy: Path) -> None:
    done = run(
        copy,
        *("deconfound", "bench", "synthetic", "--quick", "-q", "--seeds", "1", "--workers", "1"),
        *("--families", f"{NAME},obs-only", "--cells", "confounding=0.9,n_log=200,n_experiment=20", "-o", "bench"),
    )
    assert done.returncode == 0, done.stderr
    assert NAME in done.stdout
