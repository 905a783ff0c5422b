"""Saved results stay whole: after a full disk, a closed pipe, mixed or changed files, and several writers."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import deconfound as dc
from deconfound import atomic
from deconfound.atomic import TEMPORARY_SUFFIX
from deconfound.bundle import _document_digest
from deconfound.cli import main
from deconfound.file_lock import locked_file
from tests.support.commands import evaluate_command
from tests.support.results import demo_result, small_demo

FAST = ("--family", "exp-only", "--refits", "2")
PLAN = ("--models", "2", "--outcome-sd", "0.4")


def other_result() -> dc.Result:
    """The same study evaluated by another family."""
    return demo_result("obs-only")


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- saving fails ---


def fill_disk(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """From the given file on, half of the content fits on the disk."""
    real, count = atomic._fill, iter(range(1000))

    def fill(file, content, path):
        if next(count) < after:
            return real(file, content, path)
        file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(atomic, "_fill", fill)


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_full_disk_leaves_the_old_result(saved, monkeypatch, after):
    before = snapshot(saved)
    fill_disk(monkeypatch, after)
    with pytest.raises(OSError, match="No space left"):
        other_result().save(saved)
    assert snapshot(saved) == before
    assert dc.Result.load(saved).family.estimator.name == "exp-only"


def test_a_full_disk_is_reported_with_advice_after_the_result(study, tmp_path, monkeypatch, capsys):
    fill_disk(monkeypatch, 0)
    assert main(evaluate_command(study, *FAST, "-o", str(tmp_path / "saved"))) == 2
    out, err = capsys.readouterr()
    assert out
    assert "saved cannot be written (No space left on device); earlier content is unchanged. Free some space" in err
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.json", "r.parquet"])
def test_a_full_disk_leaves_the_old_recommendations(saved, study, tmp_path, monkeypatch, capsys, name):
    (tmp_path / name).write_text("old")
    fill_disk(monkeypatch, 0)
    replay = str(study / "replay.parquet")
    assert main(["recommend", str(saved), "--replay", replay, "-o", str(tmp_path / name), "--overwrite"]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"saved", name}
    assert (tmp_path / name).read_text() == "old"


def test_a_full_disk_leaves_all_old_tables_of_the_demo(study, tmp_path, monkeypatch):
    shutil.copytree(study, tmp_path / "study")
    before = snapshot(tmp_path)
    fill_disk(monkeypatch, 2)
    demo = replace(small_demo(), log=small_demo().log.slice(1))
    with pytest.raises(OSError, match="No space left"):
        demo.write(tmp_path / "study")
    assert snapshot(tmp_path) == before


def test_a_reader_that_closes_the_pipe_does_not_prevent_saving(study, tmp_path):
    """As `deconfound evaluate ... --json -o saved | head -1` does."""
    command = [sys.executable, "-m", "deconfound", *evaluate_command(study, *FAST, "--json", "-o", str(tmp_path / "s"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert process.returncode == 0
    assert dc.Result.load(tmp_path / "s").family.estimator.name == "exp-only"


# --- a saved result is one ---


def test_a_part_of_another_result_is_refused(saved, tmp_path):
    other_result().save(tmp_path / "other")
    (mine,), (other,) = ((folder.glob("result-reward-*.npz")) for folder in (saved, tmp_path / "other"))
    mine.write_bytes(other.read_bytes())
    with pytest.raises(dc.DataError, match=rf"{mine.name}: it is not the file that result\.json was saved with"):
        dc.Result.load(saved)


def test_a_document_of_another_result_is_refused(saved, tmp_path):
    other_result().save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "result.json", saved / "result.json")
    with pytest.raises(dc.DataError, match="no such file"):
        dc.Result.load(saved)


@pytest.mark.parametrize("name", ["result.json", "result-reward-*.npz"])
def test_a_named_pipe_in_the_folder_is_refused_at_once(saved, study, name, capsys):
    (file,) = saved.glob(name)
    file.unlink()
    os.mkfifo(file)
    assert main(["recommend", str(saved), "--replay", str(study / "replay.parquet")]) == 1
    assert f"{file.name}: it cannot be read (it is not an ordinary file)" in capsys.readouterr().err


def test_a_huge_document_is_not_read(saved):
    with (saved / "result.json").open("r+b") as file:
        file.truncate(10_000_000_000)  # sparse: it takes no space on the disk
    with pytest.raises(dc.DataError, match="it is larger than 4 GB"):
        dc.Result.load(saved)


def test_a_key_that_occurs_twice_is_refused(saved):
    """JSON readers take the last of two values; a person may read the first."""
    index = saved / "result.json"
    index.write_text(index.read_text().replace("{", '{ "schema": 99,', 1))
    with pytest.raises(dc.DataError, match="it is damaged"):
        dc.Result.load(saved)


@pytest.mark.parametrize("file", ["../elsewhere.npz", 3, None])
def test_a_part_outside_the_folder_is_not_read(saved, file):
    index = saved / "result.json"
    stored = json.loads(index.read_text())
    del stored["sha256"]
    stored["parts"]["reward.npz"]["file"] = file
    index.write_text(json.dumps({**stored, "sha256": _document_digest(stored)}))
    with pytest.raises(dc.DataError, match=r"it is not the file that|does not name its parts"):
        dc.Result.load(saved)


@pytest.mark.parametrize("command", ["evaluate", "plan"])
def test_the_document_of_a_saved_result_is_not_replaced_alone(saved, study, command, capsys):
    before = snapshot(saved)
    output = ["-o", str(saved / "result.json"), "--overwrite"]
    arguments = evaluate_command(study, *FAST, *output) if command == "evaluate" else ["plan", *PLAN, *output]
    assert main(arguments) == 2
    assert "result.json belongs to a saved result and cannot be replaced alone" in capsys.readouterr().err
    assert snapshot(saved) == before


def test_a_changed_number_is_refused(saved):
    index = saved / "result.json"
    stored = json.loads(index.read_text())
    stored["recommendations"][0]["q"] += 1e-9
    index.write_text(json.dumps(stored))
    with pytest.raises(dc.DataError, match="its content was changed after it was saved"):
        dc.Result.load(saved)


def test_a_result_of_an_earlier_version_is_refused_with_advice(tmp_path):
    (tmp_path / "result.json").write_text('{"schema": 4, "models": []}')
    with pytest.raises(dc.DataError, match=r"no checksums.*Run `deconfound evaluate"):
        dc.Result.load(tmp_path)


def test_a_shape_that_does_not_fit_is_refused(tmp_path):
    """As a program could save that composes results itself."""
    result = demo_result("exp-only")
    wrong = replace(result, policy=replace(result.policy, covariance=result.policy.covariance[:2, :2]))
    wrong.save(tmp_path)
    with pytest.raises(dc.DataError, match="covariance has the shape"):
        dc.Result.load(tmp_path)


def test_a_second_save_waits_and_then_gives_up(saved, monkeypatch):
    monkeypatch.setattr("deconfound.bundle.WAIT_SECONDS", 0.1)
    with locked_file(saved / ".result.lock", "save"), pytest.raises(dc.UsageError, match="in use by another save"):
        other_result().save(saved)
    other_result().save(saved)
    assert dc.Result.load(saved).family.estimator.name == "obs-only"


def test_a_lock_of_a_dead_process_does_not_block(saved):
    (saved / ".result.lock").write_text("lock of deconfound, process 1\n")
    other_result().save(saved)
    assert not (saved / ".result.lock").exists()


def test_a_result_is_saved_where_the_file_system_has_no_locks(saved, monkeypatch):
    def fail(_handle: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    for module in ("file_lock", "atomic"):
        monkeypatch.setattr(f"deconfound.{module}.try_lock", fail)
    other_result().save(saved)
    assert dc.Result.load(saved).family.estimator.name == "obs-only"
    assert len(snapshot(saved)) == 3
    with pytest.raises(dc.UsageError, match="cannot be locked"), locked_file(saved / ".a.lock", "sweep"):
        pass


def test_temporary_files_of_running_writers_stay(tmp_path):
    mine, running = tmp_path / "a.tmp", atomic.open_temporary(tmp_path / "a")
    mine.write_text("mine")
    dead = tmp_path / f".b.0123456789abcdef{TEMPORARY_SUFFIX}"
    dead.write_text("half")
    atomic.write_text(tmp_path / "c", "new")
    assert {path.name for path in tmp_path.iterdir()} == {"a.tmp", "c", running[0].name}
    running[1].close()


def test_a_long_name_and_a_link_are_written(tmp_path):
    atomic.write_text(tmp_path / ("ä" * 125), "long")
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    atomic.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 3
