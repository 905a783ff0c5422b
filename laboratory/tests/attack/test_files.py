"""`bench -o DIR` changes no file that is not its own, and trusts no file that was changed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.artifact_dir import building, is_current, require_intact
from deconfound_bench.results import scores_digest

from deconfound.cli import main
from deconfound.errors import DataError, UsageError
from laboratory.tests.support.fake_benchmark import expected_digest, run_fake_sweep
from laboratory.tests.support.kill_sweeps import PoolBenchmark, save_pool
from tests.support.kill_driver import files

COMMAND = ["bench", "synthetic", "--quick", "-q", "--families", "exp-only,obs-only", "--seeds", "1"]
MINE = {
    "tasks": {"tasks/todo.json": "{}", "tasks/00001-0123456789abcdef.json": "{}"},
    "pool": {"pool/photo.jpg": "mine"},
    "tables": {"tables/winners.txt": "mine"},
    "constants": {"constants.json": '{"pi": 3}'},
    "damaged constants": {"constants.json": '{"bench'},
    "notes": {"notes.txt": "mine"},
    "nested": {"src/pool/a.py": "mine"},
}


def write(folder: Path, contents: dict[str, str]) -> None:
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def texts(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in files(folder) if (folder / name).is_file()}


@pytest.mark.parametrize("kind", MINE)
def test_a_folder_of_the_user_is_refused_and_not_changed(fake_benchmark, tmp_path, monkeypatch, capsys, kind):
    folder = tmp_path / "project"
    write(folder, MINE[kind])
    with pytest.raises(UsageError, match=r"not empty and is not a folder of `deconfound bench`.*with -o"):
        run_fake_sweep(fake_benchmark, folder)
    monkeypatch.chdir(folder)
    assert main([*COMMAND, "-o", "."]) == 2
    assert "not a folder of `deconfound bench`" in capsys.readouterr().err
    assert texts(folder) == MINE[kind]


def test_an_empty_path_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*COMMAND, "-o", ""]) == 2
    assert "-o is empty" in capsys.readouterr().err
    assert files(tmp_path) == []


@pytest.mark.parametrize("name", [".sweep.lock", ".pool.lock"])
@pytest.mark.parametrize("kind", ["link", "pipe", "file"])
def test_a_lock_that_is_not_ours_is_refused_and_stays(tmp_path, capsys, name, kind):
    mine, lock = tmp_path / "mine.csv", tmp_path / "run" / name
    lock.parent.mkdir()
    mine.write_text("mine")
    makers = {
        "link": lambda: lock.symlink_to(mine),
        "pipe": lambda: os.mkfifo(lock),
        "file": lambda: lock.write_text("1"),
    }
    makers[kind]()
    assert main([*COMMAND, "-o", str(lock.parent)]) == 2
    assert f"{name} is not a lock file of deconfound" in capsys.readouterr().err
    assert mine.read_text() == "mine"
    assert [path.name for path in lock.parent.iterdir()] == [name]


def test_an_input_is_not_replaced_through_a_link_in_a_run(fake_benchmark, sweep_folder, tmp_path, capsys):
    run_fake_sweep(fake_benchmark, sweep_folder)
    articles = tmp_path / "articles.jsonl"
    articles.write_text("mine")
    (sweep_folder / "results.parquet").unlink()
    (sweep_folder / "results.parquet").symlink_to(articles)
    assert main([*COMMAND, "--articles", str(articles), "-o", str(sweep_folder)]) == 2
    assert "results.parquet would replace the input" in capsys.readouterr().err
    assert articles.read_text() == "mine"


def test_files_of_the_user_inside_a_run_stay(fake_benchmark, sweep_folder):
    run_fake_sweep(fake_benchmark, sweep_folder)
    mine = {"notes.txt": "mine", "tasks/todo.json": "{}", "tasks/.todo.tmp": "mine", "tables/mine.csv": "mine"}
    write(sweep_folder, mine)
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)
    assert {name: (sweep_folder / name).read_text() for name in mine} == mine


def test_a_run_in_a_part_of_the_folder_does_not_block_it(fake_benchmark, sweep_folder):
    run_fake_sweep(fake_benchmark, sweep_folder / "targeted")
    run_fake_sweep(fake_benchmark, sweep_folder)


# --- pool ---


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    save_pool(tmp_path / "pool", "a")
    return tmp_path / "pool"


@pytest.mark.parametrize("damage", ["byte", "cut", "missing", "other pool", "manifest"])
def test_a_changed_pool_is_not_trusted(pool, tmp_path, damage):
    assert is_current(pool, 1, "a")
    kernel = pool / "kernel.npy"
    content = bytearray(kernel.read_bytes())
    if damage == "byte":
        content[-3] ^= 1
        kernel.write_bytes(content)
    elif damage == "cut":
        kernel.write_bytes(content[:-8])
    elif damage == "missing":
        kernel.unlink()
    elif damage == "other pool":
        save_pool(tmp_path / "other", "bb")
        kernel.write_bytes((tmp_path / "other" / "kernel.npy").read_bytes())
    else:
        (pool / "manifest.json").write_text("{")
    assert not is_current(pool, 1, "a")
    with pytest.raises(DataError, match=r"missing, damaged or of another run\. Run the same command again"):
        require_intact(pool)


def test_a_damaged_pool_is_built_again(tmp_path, sweep_folder):
    benchmark = PoolBenchmark(tmp_path / "history")
    run_fake_sweep(benchmark, sweep_folder, seeds=[0])
    np.save(sweep_folder / "pool" / "kernel.npy", np.zeros(3))
    assert scores_digest(run_fake_sweep(benchmark, sweep_folder)) == expected_digest(benchmark)
    assert is_current(sweep_folder / "pool", 1, "a")


def test_a_pool_with_a_file_of_the_user_is_not_replaced(pool):
    (pool / "photo.jpg").write_text("mine")
    before = files(pool)
    with pytest.raises(UsageError, match=r"photo\.jpg was not written by deconfound.*Move it away"):
        save_pool(pool, "bb")
    assert files(pool) == before
    assert files(pool.parent) == ["pool", *(f"pool/{name}" for name in before)]
    assert is_current(pool, 1, "a")


def test_a_folder_behind_a_link_is_not_replaced(pool, tmp_path):
    (tmp_path / "link").symlink_to(pool)
    with pytest.raises(UsageError, match="not written by deconfound"):
        save_pool(tmp_path / "link", "bb")
    assert is_current(pool, 1, "a")


def test_leftovers_of_killed_builds_are_deleted(pool):
    left = pool.with_name(".pool.0123456789abcdef.deconfound-tmp")
    mine = pool.with_name(".pool.mine")
    for folder in (left, mine):
        folder.mkdir()
        (folder / "kernel.npy").write_text("half")
    pool.with_name(".pool.lock").write_text("lock of deconfound, process 1\n")
    save_pool(pool, "bb")
    assert {path.name for path in pool.parent.iterdir()} == {"pool", ".pool.mine"}


def test_a_pool_is_built_by_one_process_at_a_time(pool):
    with building(pool), pytest.raises(UsageError, match="in use by another sweep"):
        save_pool(pool, "bb")


# --- reproduction ---


def test_the_page_replaces_a_file_only_on_request_and_never_an_input(fake_benchmark, sweep_folder, tmp_path, capsys):
    run_fake_sweep(replace(fake_benchmark, name="synthetic"), sweep_folder)
    results = sweep_folder / "results.parquet"
    before = results.read_bytes()
    assert main(["bench", "reproduction", str(results), "-o", str(results), "--overwrite"]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert results.read_bytes() == before
    (tmp_path / "page.md").write_text("mine")
    assert main(["bench", "reproduction", str(results), "-o", str(tmp_path / "page.md")]) == 2
    assert "page.md exists" in capsys.readouterr().err
    assert (tmp_path / "page.md").read_text() == "mine"


def test_a_run_folder_is_recognized_by_its_constants_or_its_tasks(fake_benchmark, sweep_folder):
    run_fake_sweep(fake_benchmark, sweep_folder)
    stored = json.loads((sweep_folder / "constants.json").read_text())
    assert stored.keys() == {"benchmark", "constants"}
    (sweep_folder / "constants.json").unlink()
    assert scores_digest(run_fake_sweep(fake_benchmark, sweep_folder)) == expected_digest(fake_benchmark)
