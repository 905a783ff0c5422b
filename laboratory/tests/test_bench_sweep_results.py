"""Sweeps: what is asked for comes out, and nothing that is there is run again."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deconfound_bench.results import Choice, read_scores, to_table
from deconfound_bench.sweep import Bar, SweepError, Task, digest, select, sweep
from deconfound_bench.sweep.files import write

from deconfound.errors import UsageError
from laboratory.tests.support.fake_benchmark import CELLS, FAMILIES, SEEDS, TASKS, Fake, expected, finished, run, runs

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
def test_conditions_choose_cells(text, count):
    chosen = select(CELLS, text)
    assert len(chosen) == count
    assert list(chosen) == [cell for cell in CELLS if cell in chosen]


def test_conditions_of_one_name_are_alternatives_and_of_two_must_both_hold():
    assert select(CELLS, "n_log=100|200,confounding=0.9") == tuple(cell for cell in CELLS if cell.confounding == 0.9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n_logs=100", "The names are confounding, n_log, n_experiment, reward"),
        ("n_log", "n_experiment=20"),
        ("", "The names are"),
        ("n_log=300", "n_log 100, 200"),
        ("n_log=many", "n_log 100, 200"),
        ("confounding=nan", "confounding 0.0, 0.9"),
        ("reward=plain|fancy", "reward plain"),
    ],
)
def test_unknown_names_and_values_are_refused_with_what_there_is(text, said):
    with pytest.raises(UsageError) as raised:
        select(CELLS, text)
    assert said in str(raised.value)


def test_conditions_that_no_cell_meets_at_once_are_refused_with_the_cells():
    cells = (CELLS[0], CELLS[-1])
    with pytest.raises(UsageError, match=r"confounding=0.9,n_log=200,n_experiment=20,reward=plain"):
        select(cells, "confounding=0.0,n_log=200")


# --- what comes out ---


def table(folder: Path) -> pa.Table:
    return pq.read_table(folder / "results.parquet")


def test_every_score_asked_for_comes_out_in_the_order_of_the_table(fake, folder):
    scores = run(fake, folder)
    assert [one.key for one in scores] == list(product(CELLS, SEEDS, FAMILIES))
    assert digest(scores) == expected(fake)
    assert str(table(folder).to_pylist()) == str(to_table(scores, FAMILIES).to_pylist())
    assert digest(read_scores(folder / "results.parquet")) == digest(scores)
    assert sum(runs(fake).values()) == TASKS


def test_the_folder_says_what_the_results_were_made_with(fake, folder):
    run(fake, folder)
    stored = json.loads((folder / "constants.json").read_text())
    assert stored == {"benchmark": "fake", "constants": json.loads(fake.constants)}
    metadata = table(folder).schema.metadata
    assert metadata[b"benchmark"] == b"fake"
    assert metadata[b"constants"].decode() == fake.constants


def test_any_number_of_workers_gives_the_same_bytes(fake, tmp_path):
    tables = []
    for workers in (1, 2, 3):
        run(fake, tmp_path / f"by{workers}", workers)
        tables.append((tmp_path / f"by{workers}" / "results.parquet").read_bytes())
    assert tables[0] == tables[1] == tables[2]


def test_the_digest_overlooks_times_and_order_and_nothing_else(fake, folder):
    scores = run(replace(fake, timed=True), folder)
    assert digest(scores) == expected(fake)
    assert digest(scores[::-1]) == digest(scores)
    assert digest([replace(scores[0], seconds=-1.0), *scores[1:]]) == digest(scores)
    regret = scores[0].regret
    other_last_bit = replace(scores[0], regret=regret + 2**-52 * regret)
    assert digest([other_last_bit, *scores[1:]]) != digest(scores)
    assert digest([replace(scores[0], choice=Choice()), *scores[1:]]) != digest(scores)


def test_early_seeds_come_first_for_all_cells(fake, folder):
    run(fake, folder, seeds=[2, 0, 1])
    assert [seed for _, seed in runs(fake)] == [0] * 4 + [1] * 4 + [2] * 4


# --- going on ---


def test_a_second_sweep_runs_nothing_and_leaves_the_same_bytes(fake, folder):
    run(replace(fake, timed=True), folder)
    before = (folder / "results.parquet").read_bytes()
    run(replace(fake, timed=True, trouble="open"), folder)
    assert (folder / "results.parquet").read_bytes() == before


def test_more_seeds_cells_or_families_run_only_what_is_new(fake, folder):
    run(fake, folder, cells=CELLS[:3], seeds=[1], families=["first"])
    assert runs(fake) == {("0.0-100", 1): 1, ("0.0-200", 1): 1}
    asked: list[Task] = []

    @dataclass(frozen=True)
    class Watched(Fake):
        def open(self, directory: Path):
            worker = Fake.open(self, directory)

            class Watch:
                def run(self, task):
                    asked.append(task)
                    return worker.run(task)

            return Watch()

    scores = run(Watched(fake.diary), folder)
    assert digest(scores) == expected(fake)
    again = {(cell, 1, "first") for cell in CELLS[:3]} & {key for task in asked for key in task.keys}
    assert again == set()
    assert sum(len(task.wanted) for task in asked) == len(scores) - 3


def test_a_family_can_be_left_out_of_some_cells(fake, folder):
    def only(cell, family):
        return family == "first" or cell.confounding == 0.0

    scores = sweep(fake, CELLS, SEEDS, FAMILIES, folder, 1, Bar(quiet=True), only=only)
    assert {one.key for one in scores} == {key for key in everything() if only(key[0], key[2])}
    assert digest(read_scores(folder / "results.parquet")) == digest(scores)
    assert len(run(fake, folder)) == len(everything())


def everything():
    return {(cell, seed, family) for cell in CELLS for seed in SEEDS for family in FAMILIES}


def test_asking_for_less_gives_exactly_that(fake, folder):
    run(fake, folder)
    scores = run(fake, folder, cells=CELLS[1:3], seeds=[2], families=["first"])
    assert [one.key for one in scores] == [(cell, 2, "first") for cell in CELLS[1:3]]
    assert len(table(folder)) == 2
    assert digest(run(fake, folder)) == expected(fake)
    assert sum(runs(fake).values()) == TASKS


@pytest.mark.parametrize("damage", ["cut", "empty", "number", "constants", "binary", "list"])
def test_a_damaged_task_file_is_run_again(fake, folder, damage, capsys):
    run(fake, folder)
    path = sorted((folder / "tasks").glob("*.json"))[5]
    whole = path.read_bytes()
    damaged = {
        "cut": whole[:-40],
        "empty": b"",
        "number": whole.replace(b'"regret":', b'"regret":1', 1),
        "constants": whole.replace(b'"constants":"', b'"constants":"0', 1),
        "binary": b"\xff\xfe\x00",
        "list": b"[]",
    }
    path.write_bytes(damaged[damage])
    assert digest(run(fake, folder)) == expected(fake)
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(runs(fake).values()) == [1] * (TASKS - 1) + [2]
    assert path.read_bytes() == whole


def test_half_written_files_are_removed(fake, folder, capsys):
    run(fake, folder)
    half = folder / "tasks" / ".00001-0123456789abcdef.json.tmp"
    half.write_text('{"sha256": "')
    run(fake, folder)
    assert not half.exists()
    assert "1 half-written or damaged files are removed" in capsys.readouterr().err
    assert sum(runs(fake).values()) == TASKS


def test_damaged_constants_are_written_again_when_the_tasks_agree(fake, folder, capsys):
    run(fake, folder)
    (folder / "constants.json").write_text('{"bench')
    run(fake, folder)
    assert "constants.json is damaged" in capsys.readouterr().err
    assert json.loads((folder / "constants.json").read_text())["benchmark"] == "fake"
    assert sum(runs(fake).values()) == TASKS


@pytest.mark.parametrize("change", [{"version": 2}, {"name": "other"}])
@pytest.mark.parametrize("lost", [False, True])
def test_results_of_other_constants_are_refused_and_left_alone(fake, folder, change, lost):
    run(fake, folder)
    if lost:
        (folder / "constants.json").unlink()
    with pytest.raises(UsageError, match=r"other constants.*another folder with -o, or delete") as raised:
        run(replace(fake, **change), folder)
    assert str(folder) in str(raised.value)
    assert digest(run(fake, folder)) == expected(fake)
    assert sum(runs(fake).values()) == TASKS


def test_a_folder_prepared_for_other_constants_is_refused_before_any_task_is_there(fake, folder):
    with pytest.raises(SweepError):
        run(replace(fake, trouble="open"), folder)
    assert finished(folder) == set()
    with pytest.raises(UsageError, match="other constants"):
        run(replace(fake, version=2), folder)


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_file_that_cannot_be_written_to_the_end_leaves_the_old_one(tmp_path, monkeypatch, error):
    def fail(_handle: int) -> None:
        raise error

    write(tmp_path / "results", b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        write(tmp_path / "results", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("results", b"old")]
