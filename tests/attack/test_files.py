"""Files that are not ours: nothing of the user is replaced or deleted without being asked for."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from pathlib import Path

import pytest

import deconfound as dc
from deconfound import planning
from deconfound.cli import main
from tests.support.commands import evaluate_command
from tests.support.results import demo_result

FAST = ("--family", "exp-only", "--refits", "2")
PLAN = ("plan", "--models", "4", "--outcome-sd", "0.3", "-q")


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def recommend(saved: Path, replay: Path, output: Path | str, *more: str) -> int:
    return main(["recommend", str(saved), "--replay", str(replay), "-o", str(output), "-q", *more])


# --- inputs ---


@pytest.mark.parametrize("way", ["itself", "relative", "symbolic link", "hard link"])
@pytest.mark.parametrize("more", [(), ("--overwrite",)])
def test_recommend_never_replaces_its_own_input(saved, study, tmp_path, monkeypatch, capsys, way, more):
    new = tmp_path / "new.parquet"
    shutil.copy(study / "replay.parquet", new)
    before = new.read_bytes()
    output: Path | str = new
    if way == "relative":
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        output = "../new.parquet"
    elif way != "itself":
        output = tmp_path / "link.parquet"
        output.symlink_to(new) if way == "symbolic link" else os.link(new, output)
    assert recommend(saved, new, output, *more) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert new.read_bytes() == before


def test_recommend_does_not_replace_a_file_of_the_result(saved, study, capsys):
    before = snapshot(saved)
    assert recommend(saved, study / "replay.parquet", saved / "result.json", "--overwrite") == 2
    assert "would replace the input" in capsys.readouterr().err
    assert snapshot(saved) == before


def test_evaluate_does_not_replace_a_table(study, tmp_path, capsys):
    (tmp_path / "page.html").symlink_to(study / "log.parquet")
    before = (study / "log.parquet").read_bytes()
    assert main(evaluate_command(study, *FAST, "-o", str(tmp_path / "page.html"), "--overwrite")) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert (study / "log.parquet").read_bytes() == before


# --- existing files ---


def test_an_existing_file_needs_overwrite(saved, study, tmp_path, capsys):
    output = tmp_path / "mine.csv"
    output.write_text("mine")
    output.chmod(0o640)
    assert recommend(saved, study / "replay.parquet", output) == 2
    assert "mine.csv exists" in (message := capsys.readouterr().err)
    assert "--overwrite" in message
    assert output.read_text() == "mine"
    assert recommend(saved, study / "replay.parquet", output, "--overwrite") == 0
    assert output.read_text().startswith("context_id,")
    assert stat.S_IMODE(output.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["page.html", "numbers.json"])
def test_evaluate_keeps_an_existing_file(study, tmp_path, capsys, name):
    (tmp_path / name).write_text("mine")
    assert main(evaluate_command(study, *FAST, "-o", str(tmp_path / name))) == 2
    assert f"{name} exists" in capsys.readouterr().err
    assert (tmp_path / name).read_text() == "mine"


def test_plan_keeps_an_existing_file(tmp_path, capsys):
    output = tmp_path / "plan.json"
    output.write_text("mine")
    assert main([*PLAN, "-o", str(output)]) == 2
    assert output.read_text() == "mine"
    assert main([*PLAN, "-o", str(output), "--overwrite"]) == 0
    assert json.loads(output.read_text())
    capsys.readouterr()


def test_demo_keeps_the_tables_of_the_user(tmp_path, capsys):
    (tmp_path / "experiment.parquet").write_text("mine")
    assert main(["demo", "-q", "--family", "exp-only", "-o", str(tmp_path)]) == 2
    assert "experiment.parquet exists" in capsys.readouterr().err
    assert snapshot(tmp_path) == {"experiment.parquet": b"mine"}


@pytest.mark.parametrize("content", ["{}", "mine", '{"schema": 4, "parts": {}, "sha256": "0"}', "[" * 100_000])
def test_evaluate_keeps_the_result_of_a_stranger(study, tmp_path, capsys, content):
    (tmp_path / "result.json").write_text(content)
    assert main(evaluate_command(study, *FAST, "-o", str(tmp_path))) == 2
    assert "is not a file that deconfound saved" in (message := capsys.readouterr().err)
    assert "--overwrite" in message
    assert snapshot(tmp_path) == {"result.json": content.encode()}
    with pytest.raises(dc.UsageError, match="not a file that deconfound saved"):
        demo_result("exp-only").save(tmp_path)
    assert snapshot(tmp_path) == {"result.json": content.encode()}


def test_evaluate_replaces_its_own_result_and_nothing_else(study, saved, capsys):
    mine = {"notes.txt": b"mine", "result-reward-0123456789abcdef.npz": b"mine", "reward.npz": b"mine"}
    for name, content in mine.items():
        (saved / name).write_bytes(content)
    demo_result("obs-only").save(saved)
    assert main(evaluate_command(study, *FAST, "-o", str(saved))) == 0
    capsys.readouterr()
    assert {name: content for name, content in snapshot(saved).items() if name in mine} == mine
    assert len(snapshot(saved)) == len(mine) + 3
    assert dc.Result.load(saved).family.estimator.name == "exp-only"


def test_overwrite_replaces_the_result_of_a_stranger(tmp_path):
    (tmp_path / "result.json").write_text("mine")
    demo_result("exp-only").save(tmp_path, overwrite=True)
    assert dc.Result.load(tmp_path).family.estimator.name == "exp-only"


# --- places ---


@pytest.mark.parametrize("output", ["", " "])
def test_an_empty_path_is_refused(saved, study, tmp_path, monkeypatch, capsys, output):
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    commands = [
        evaluate_command(study, *FAST, "-o", output),
        ["recommend", str(saved), "--replay", str(study / "replay.parquet"), "-o", output],
        ["demo", "-q", "-o", output],
        [*PLAN, "-o", output],
    ]
    for command in commands:
        assert main(command) == 2
        assert "-o is empty" in capsys.readouterr().err
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("file/saved", "is not a folder"),
        ("file", "is not a folder"),
        ("dangling", "is not a folder"),
        ("missing/page.html", "there is no folder"),
        ("folder.html", "a folder of that name exists"),
        ("pipe.html", "not an ordinary file"),
    ],
)
def test_an_impossible_place_is_refused_before_the_work_starts(tmp_path, monkeypatch, capsys, output, message):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.html").mkdir()
    os.mkfifo(tmp_path / "pipe.html")
    monkeypatch.setattr("deconfound.cli.evaluate.load_study", lambda _arguments: pytest.fail("work has started"))
    command = evaluate_command(tmp_path, "-o", str(tmp_path / output), "--overwrite")
    assert main(command) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("output", ["new/saved", "page.html"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_work_starts(tmp_path, monkeypatch, capsys, output):
    def refuse(_path: object, flags: int, _mode: int = 0) -> int:
        assert flags & os.O_CREAT
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("deconfound.cli.evaluate.load_study", lambda _arguments: pytest.fail("work has started"))
    monkeypatch.setattr(os, "open", refuse)
    assert main(evaluate_command(tmp_path, "-o", str(tmp_path / output))) == 2
    assert "cannot be written (Permission denied); choose another place" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# --- during the run ---


@pytest.mark.parametrize("kind", ["file", "link to an input"])
def test_a_file_that_appears_during_the_run_is_not_replaced(study, tmp_path, monkeypatch, capsys, kind):
    output, log = tmp_path / "plan.json", study / "log.parquet"
    before, planned = log.read_bytes(), planning.plan

    def slow_plan(*arguments: object, **options: object) -> object:
        if kind == "file":
            output.write_text("precious", encoding="utf-8")
        else:
            output.symlink_to(log)
        return planned(*arguments, **options)

    monkeypatch.setattr(planning, "plan", slow_plan)
    assert main([*PLAN, "-o", str(output)]) == 2
    assert "has appeared during the run" in capsys.readouterr().err
    assert output.read_bytes() == (b"precious" if kind == "file" else before)
    assert log.read_bytes() == before
