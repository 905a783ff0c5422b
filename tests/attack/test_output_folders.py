"""`-o DIR` with links, pipes and folders where files of ours belong: nothing of the user is emptied or deleted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import deconfound as dc
from deconfound import demo
from deconfound.cli import main
from deconfound.file_lock import locked_file, require_lockable
from tests.support.commands import evaluate_command
from tests.support.results import demo_result

FAST = ("--family", "exp-only", "--refits", "2")
LOCK = ".result.lock"


@pytest.fixture
def log(study: Path, tmp_path: Path) -> Path:
    """A copy of the study whose log may be lost."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for file in study.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder / "log.parquet"


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading the tables is a failure."""
    monkeypatch.setattr("deconfound.cli.evaluate.load_study", lambda _arguments: pytest.fail("work has started"))


def make(path: Path, kind: str, target: Path) -> None:
    """Put something of the user where a file of ours belongs."""
    path.parent.mkdir(exist_ok=True)
    makers = {
        "link": lambda: path.symlink_to(target),
        "dangling link": lambda: path.symlink_to("nowhere"),
        "hard link": lambda: os.link(target, path),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "file": lambda: path.write_text("mine"),
        "number": lambda: path.write_text("1234\n"),
    }
    makers[kind]()


# --- lock files ---


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "pipe", "folder", "file", "number"])
def test_a_lock_file_that_is_not_ours_is_refused_and_stays(log, tmp_path, capsys, kind):
    before, lock = log.read_bytes(), tmp_path / "S" / LOCK
    make(lock, kind, log)
    mode = lock.lstat().st_mode
    assert main(evaluate_command(log.parent, *FAST, "-o", str(lock.parent))) == 2
    assert f"{LOCK} is not a lock file of deconfound" in capsys.readouterr().err
    with pytest.raises(dc.UsageError, match="is not a lock file of deconfound"):
        demo_result("exp-only").save(lock.parent)
    assert stat.S_IFMT(lock.lstat().st_mode) == stat.S_IFMT(mode)
    assert log.read_bytes() == before
    assert [path.name for path in lock.parent.iterdir()] == [LOCK]


def test_an_empty_lock_file_is_used_and_stays(tmp_path):
    """Nobody can say whose it is: a killed process may have left it, or another program may use it."""
    (tmp_path / LOCK).touch()
    demo_result("exp-only").save(tmp_path)
    assert (tmp_path / LOCK).read_bytes() == b""


def test_a_lock_needs_no_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "Operation not permitted")))
    with locked_file(tmp_path / LOCK, "save"):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK]
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_a_killed_process_is_taken_over_and_deleted(tmp_path):
    with locked_file(tmp_path / LOCK, "save"):
        content = (tmp_path / LOCK).read_bytes()
        require_lockable(tmp_path / LOCK)
    assert not (tmp_path / LOCK).exists()
    (tmp_path / LOCK).write_bytes(content)
    with locked_file(tmp_path / LOCK, "save"):
        pass
    assert not (tmp_path / LOCK).exists()


def test_a_file_that_replaces_the_lock_meanwhile_stays(tmp_path):
    with locked_file(tmp_path / LOCK, "save"):
        (tmp_path / LOCK).unlink()
        (tmp_path / LOCK).write_text("mine")
    assert (tmp_path / LOCK).read_text() == "mine"


# --- the document and its parts ---


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("kind", ["link", "hard link"])
@pytest.mark.parametrize("name", ["result.json", "result-reward-0123456789abcdef.npz"])
def test_an_input_is_not_replaced_through_a_folder(log, tmp_path, capsys, kind, name):
    before = log.read_bytes()
    make(tmp_path / "S" / name, kind, log)
    assert main(evaluate_command(log.parent, *FAST, "-o", str(tmp_path / "S"), "--overwrite")) == 2
    assert f"{name} would replace the input" in capsys.readouterr().err
    assert log.read_bytes() == before


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("kind", ["folder", "pipe"])
@pytest.mark.parametrize("more", [(), ("--overwrite",)])
def test_a_document_that_is_no_file_is_refused(study, tmp_path, capsys, kind, more):
    make(tmp_path / "S" / "result.json", kind, tmp_path)
    assert main(evaluate_command(study, *FAST, "-o", str(tmp_path / "S"), *more)) == 2
    message = capsys.readouterr().err
    assert "result.json exists and is not an ordinary file" in message
    assert "--overwrite" not in message


@pytest.mark.parametrize("more", [(), ("--overwrite",)])
def test_a_link_to_an_input_that_appears_during_the_run_is_not_followed(log, tmp_path, monkeypatch, capsys, more):
    from deconfound.cli import evaluate

    before, compute = log.read_bytes(), evaluate._evaluate

    def slow(*arguments: object) -> object:
        make(tmp_path / "S" / "result.json", "link", log)
        return compute(*arguments)

    monkeypatch.setattr(evaluate, "_evaluate", slow)
    assert main(evaluate_command(log.parent, *FAST, "-o", str(tmp_path / "S"), *more)) == 2
    assert capsys.readouterr().out
    assert log.read_bytes() == before


# --- demo ---


def test_a_table_that_appears_during_the_demo_is_not_replaced(tmp_path, monkeypatch, capsys):
    made = demo.make_demo

    def slow(seed: int) -> object:
        (tmp_path / "log.parquet").write_text("precious")
        return made(seed)

    monkeypatch.setattr(demo, "make_demo", slow)
    assert main(["demo", "-q", "--family", "exp-only", "-o", str(tmp_path)]) == 2
    assert "log.parquet has appeared during the run" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"log.parquet": b"precious"}


def test_a_second_name_of_the_lock_is_removed_by_the_next_holder(tmp_path):
    """A process that is killed while it makes the lock leaves a temporary name of the same file."""
    lock, second = tmp_path / ".pool.lock", tmp_path / "..pool.lock.1a975f91d4e6e6f3.deconfound-tmp"
    lock.write_bytes(b"lock of deconfound, process        123\n")
    second.hardlink_to(lock)
    with locked_file(lock, "run"):
        assert not second.exists()
    assert list(tmp_path.iterdir()) == []
