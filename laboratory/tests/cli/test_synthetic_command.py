"""The command `deconfound bench synthetic`."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.results import read_scores, scores_digest
from deconfound_bench.synthetic import constants

from deconfound.cli import main

ROOT = Path(__file__).parents[3]
COMMAND = ["bench", "synthetic", "--quick", "-q"]
SMALL = ["--families", "exp-only,obs-only", "--seeds", "2"]
TINY = replace(
    constants.QUICK,
    sizes=constants.Sizes(contexts=8, truth=6, evaluation=6, embedding=40, draws=2),
    embedding=6,
    proxies=4,
)
TASKS = 4 * 2  # logs x seeds


def run_tiny(*options: str) -> int:
    """The quick command with fewer articles and two families."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "QUICK", TINY)
        return main([*COMMAND, *SMALL, *options])


@pytest.fixture(scope="module")
def finished_folder(tmp_path_factory):
    """The output folder of one finished run."""
    folder = tmp_path_factory.mktemp("command") / "whole"
    assert run_tiny("--workers", "1", "-o", str(folder)) == 0
    return folder


def test_the_quick_command_prints_winners_and_writes_tables(finished_folder, capsys):
    scores = read_scores(finished_folder / "results.parquet")
    assert len(scores) == 8 * 2 * 2
    assert (finished_folder / "tables" / "winners.svg").read_bytes().startswith(b"<?xml")
    assert run_tiny("-o", str(finished_folder)) == 0
    assert "family with the lowest mean regret" in capsys.readouterr().out
    assert run_tiny("-o", str(finished_folder), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["constants"]["sizes"]["contexts"] == TINY.sizes.contexts
    assert document["digest"] == scores_digest(scores)


def test_a_killed_command_ends_in_the_same_table_when_it_is_repeated(finished_folder, tmp_path):
    """Killed in the middle of its tasks; the saved pool is copied to save time."""
    folder = tmp_path / "killed"
    shutil.copytree(finished_folder / "pool", folder / "pool")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from laboratory.tests.cli.test_synthetic_command import run_tiny; run_tiny(*sys.argv[2:])"
    )
    command = [sys.executable, "-c", code, str(ROOT), "--workers", "2", "-o", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not list(folder.glob("tasks/*.json")) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
    assert 0 < len(list(folder.glob("tasks/*.json"))) < TASKS
    assert run_tiny("--workers", "1", "-o", str(folder)) == 0
    whole, killed = (read_scores(path / "results.parquet") for path in (finished_folder, folder))
    assert scores_digest(killed) == scores_digest(whole)


@pytest.mark.slow
def test_the_quick_command_scores_all_cells_and_families(tmp_path):
    assert main([*COMMAND, "--seeds", "1", "-o", str(tmp_path)]) == 0
    assert len(read_scores(tmp_path / "results.parquet")) == 8 * 6


@pytest.mark.slow
def test_a_command_killed_at_ten_random_moments_ends_in_the_same_table(tmp_path):
    command = [sys.executable, "-m", "deconfound", *COMMAND, "--seeds", "2", "--workers", "2"]
    subprocess.run([*command, "-o", str(tmp_path / "whole")], stdout=subprocess.DEVNULL, check=True)
    kill_and_finish([*command, "-o", str(tmp_path / "killed")], times=10)
    whole, killed = (read_scores(tmp_path / name / "results.parquet") for name in ("whole", "killed"))
    assert len(killed) == 8 * 2 * 6
    assert scores_digest(killed) == scores_digest(whole)


def kill_and_finish(command: list[str], times: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(times):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.5, 6.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "none"], "--seeds takes a number"),
        (["--seeds", "9-3"], "--seeds takes a number"),
        (["--families", "cvcy,cvci"], "did you mean"),
        (["--families", "cvci"], "name at least two"),
        (["--cells", "noise=3"], "The names are"),
        (["--workers", "0"], "--workers must be at least 1"),
    ],
)
def test_wrong_options_are_explained(options, message, tmp_path: Path, capsys):
    assert main(["bench", "synthetic", "--quick", "-o", str(tmp_path / "x"), *options]) == 2
    assert message in capsys.readouterr().err
