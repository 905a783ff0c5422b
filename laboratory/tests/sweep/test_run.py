"""Sweeps return every requested score and never run a finished task again."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deconfound_bench.results import Hyperparameters, read_scores, scores_digest, to_table
from deconfound_bench.sweep import SweepError, SweepProgress, filter_cells, run_sweep

from deconfound.atomic import write_bytes
from deconfound.engines import EngineOptions
from deconfound.errors import UsageError
from laboratory.tests.support.fake_benchmark import (
    CELLS,
    FAMILIES,
    SEEDS,
    TASKS,
    expected_digest,
    finished_tasks,
    run_counts,
    run_fake_sweep,
)

# --- choosing cells ---


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("confounding=0.9", 4),
        ("confounding=0.9,n_log=100", 2),
        ("n_experiment=10|20, confounding = 0", 4),
        ("n_log=100,n_log=2e2", 8),
        ("reward=plain,n_log=200,n_experiment=20,confounding=0.90", 1),
    ],
)
def test_conditions_select_cells(text, count):
    selected = filter_cells(CELLS, text)
    assert len(selected) == count
    assert list(selected) == [cell for cell in CELLS if cell in selected]


def test_values_of_one_name_are_alternatives_and_all_names_must_match():
    cells = filter_cells(CELLS, "n_log=100|200,confounding=0.9")
    assert cells == tuple(cell for cell in CELLS if cell.confounding == 0.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n_logs=100", "The names are confounding, n_log, n_experiment, reward"),
        ("n_log", "n_experiment=20"),
        ("", "The names are"),
        ("n_log=300", "n_log are 100, 200"),
        ("n_log=many", "n_log are 100, 200"),
        ("confounding=nan", "confounding are 0.0, 0.9"),
        ("reward=plain|fancy", "reward are plain"),
    ],
)
def test_unknown_names_and_values_are_rejected_with_the_valid_ones(text, message):
    with pytest.raises(UsageError) as raised:
        filter_cells(CELLS, text)
    assert message in str(raised.value)


def test_conditions_that_no_cell_meets_are_rejected_with_the_list_of_cells():
    cells = (CELLS[0], CELLS[-1])
    with pytest.raises(UsageError, match=r"confounding=0.9,n_log=200,n_experiment=20,reward=plain"):
        filter_cells(cells, "confounding=0.0,n_log=200")


# --- results ---


def read_table(folder: Path) -> pa.Table:
    return pq.read_table(folder / "results.parquet")


def test_every_requested_score_is_returned_in_the_order_of_the_table(fake_benchmark, sweep_folder):
    scores = run_fake_sweep(fake_benchmark, sweep_folder)
    assert [score.key for score in scores] == list(product(CELLS, SEEDS, FAMILIES))
    assert scores_digest(scores) == expected_digest(fake_benchmark)
    assert str(read_table(sweep_folder).to_pylist()) == str(to_table(scores, FAMILIES).to_pylist())
    assert scores_digest(read_scores(sweep_folder / "results.parquet")) == scores_digest(scores)
    assert sum(run_counts(fake_benchmark).values()) == TASKS


def test_the_folder_records_the_constants_of_its_results(fake_benchmark, sweep_folder):
    run_fake_sweep(fake_benchmark, sweep_folder)
    stored = json.loads((sweep_folder / "constants.json").read_text())
    assert stored == {"benchmark": "fake", "constants": json.loads(fake_benchmark.constants)}
    metadata = read_table(sweep_folder).schema.metadata
    assert metadata[b"benchmark"] == b"fake"
    assert metadata[b"constants"].decode() == fake_benchmark.constants


@pytest.mark.parametrize("workers", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_number_of_workers_does_not_change_a_byte(fake_benchmark, tmp_path, workers):
    run_fake_sweep(fake_benchmark, tmp_path / "one", 1)
    run_fake_sweep(fake_benchmark, tmp_path / "several", workers)
    one, several = ((tmp_path / name / "results.parquet").read_bytes() for name in ("one", "several"))
    assert one == several


def test_the_digest_ignores_times_and_order_only(fake_benchmark, sweep_folder):
    scores = run_fake_sweep(replace(fake_benchmark, timed=True), sweep_folder)
    digest = scores_digest(scores)
    assert digest == expected_digest(fake_benchmark)
    assert scores_digest(scores[::-1]) == digest
    assert scores_digest([replace(scores[0], seconds=-1.0), *scores[1:]]) == digest
    regret = scores[0].regret
    other_last_bit = replace(scores[0], regret=regret + 2**-52 * regret)
    assert scores_digest([other_last_bit, *scores[1:]]) != digest
    assert scores_digest([replace(scores[0], hyperparameters=Hyperparameters()), *scores[1:]]) != digest


def test_early_seeds_come_first_in_all_cells(fake_benchmark, sweep_folder):
    run_fake_sweep(fake_benchmark, sweep_folder, seeds=[2, 0, 1])
    assert [seed for _, seed in run_counts(fake_benchmark)] == [0] * 4 + [1] * 4 + [2] * 4


# --- resuming ---


def test_a_second_sweep_runs_nothing_and_writes_the_same_bytes(fake_benchmark, sweep_folder):
    run_fake_sweep(replace(fake_benchmark, timed=True), sweep_folder)
    before = (sweep_folder / "results.parquet").read_bytes()
    run_fake_sweep(replace(fake_benchmark, timed=True, fault="open"), sweep_folder)
    assert (sweep_folder / "results.parquet").read_bytes() == before


def test_a_larger_request_runs_only_what_is_new(fake_benchmark, sweep_folder):
    run_fake_sweep(fake_benchmark, sweep_folder, cells=CELLS[:3], seeds=[1], families=["first"])
    assert run_counts(fake_benchmark) == {("0.0-100", 1): 1, ("0.0-200", 1): 1}
    (fake_benchmark.history / "keys").unlink()
    scores = run_fake_sweep(fake_benchmark, sweep_folder)
    assert scores_digest(scores) == expected_digest(fake_benchmark)
    keys = (fake_benchmark.history / "keys").read_text().splitlines()
    assert {repr((cell, 1, "first")) for cell in CELLS[:3]} & set(keys) == set()
    assert len(keys) == len(set(keys)) == len(scores) - 3


def test_a_family_can_be_excluded_from_some_cells(fake_benchmark, sweep_folder):
    def family_filter(cell, family):
        return family == "first" or cell.confounding == 0.0

    everything = {(cell, seed, family) for cell in CELLS for seed in SEEDS for family in FAMILIES}
    scores = run_sweep(
        fake_benchmark,
        CELLS,
        SEEDS,
        FAMILIES,
        sweep_folder,
        EngineOptions(workers=1),
        SweepProgress(quiet=True),
        family_filter=family_filter,
    )
    assert {score.key for score in scores} == {key for key in everything if family_filter(key[0], key[2])}
    assert scores_digest(read_scores(sweep_folder / "results.parquet")) == scores_digest(scores)
    assert len(run_fake_sweep(fake_benchmark, sweep_folder)) == len(everything)


def test_a_smaller_request_returns_exactly_that(fake_benchmark, sweep_folder):
    run_fake_sweep(fake_benchmark, sweep_folder)
    scores = run_fake_sweep(fake_benchmark, sweep_folder, cells=CELLS[1:3], seeds=[2], families=["first"])
    assert [score.key for score in scores] == [(cell, 2, "first") for cell in CELLS[1:3]]
    assert len(read_table(sweep_folder)) == 2
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)
    assert sum(run_counts(fake_benchmark).values()) == TASKS


@pytest.mark.parametrize("damage", ["cut", "empty", "number", "constants", "binary", "list"])
def test_a_damaged_task_file_is_run_again(fake_benchmark, sweep_folder, damage, capsys):
    run_fake_sweep(fake_benchmark, sweep_folder)
    path = sorted((sweep_folder / "tasks").glob("*.json"))[5]
    original = path.read_bytes()
    damaged = {
        "cut": original[:-40],
        "empty": b"",
        "number": original.replace(b'"regret":', b'"regret":1', 1),
        "constants": original.replace(b'"constants":"', b'"constants":"0', 1),
        "binary": b"\xff\xfe\x00",
        "list": b"[]",
    }
    path.write_bytes(damaged[damage])
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(run_counts(fake_benchmark).values()) == [1] * (TASKS - 1) + [2]
    assert path.read_bytes() == original


def test_temporary_files_of_an_interrupted_write_are_deleted(fake_benchmark, sweep_folder, capsys):
    run_fake_sweep(fake_benchmark, sweep_folder)
    temporary = sweep_folder / "tasks" / ".00001-0123456789abcdef.json.0123456789abcdef.deconfound-tmp"
    temporary.write_text('{"sha256": "')
    run_fake_sweep(fake_benchmark, sweep_folder)
    assert not temporary.exists()
    assert "deleted 1 incomplete or damaged files" in capsys.readouterr().err
    assert sum(run_counts(fake_benchmark).values()) == TASKS


def test_damaged_constants_are_written_again_if_the_tasks_match(fake_benchmark, sweep_folder, capsys):
    run_fake_sweep(fake_benchmark, sweep_folder)
    (sweep_folder / "constants.json").write_text('{"bench')
    run_fake_sweep(fake_benchmark, sweep_folder)
    assert "constants.json is damaged" in capsys.readouterr().err
    assert json.loads((sweep_folder / "constants.json").read_text())["benchmark"] == "fake"
    assert sum(run_counts(fake_benchmark).values()) == TASKS


@pytest.mark.parametrize("change", [{"version": 2}, {"name": "other"}])
@pytest.mark.parametrize("lost", [False, True])
def test_results_of_other_constants_are_rejected_and_not_changed(fake_benchmark, sweep_folder, change, lost):
    run_fake_sweep(fake_benchmark, sweep_folder)
    if lost:
        (sweep_folder / "constants.json").unlink()
    with pytest.raises(UsageError, match=r"other constants.*another folder with -o, or delete") as raised:
        run_fake_sweep(replace(fake_benchmark, **change), sweep_folder)
    assert str(sweep_folder) in str(raised.value)
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)
    assert sum(run_counts(fake_benchmark).values()) == TASKS


def test_a_folder_of_other_constants_is_rejected_even_without_finished_tasks(fake_benchmark, sweep_folder):
    with pytest.raises(SweepError):
        run_fake_sweep(replace(fake_benchmark, fault="open"), sweep_folder)
    assert finished_tasks(sweep_folder) == set()
    with pytest.raises(UsageError, match="other constants"):
        run_fake_sweep(replace(fake_benchmark, version=2), sweep_folder)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, error):
    def fail(_handle: int) -> None:
        raise error

    write_bytes(tmp_path / "results", b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        write_bytes(tmp_path / "results", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("results", b"old")]
