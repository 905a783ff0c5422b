"""Files that cannot be read are reported for what they are."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.demo import make_demo
from tests.support.commands import SMALL
from tests.support.studies import Good, as_csv, refused, write_study

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX file system")


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, object]:
    return write_study(tmp_path, Good(), "csv")


@pytest.mark.parametrize("name", ["log.csv.gz", "log.csv", "log.jsonl.zst", "log.parquet"])
def test_a_file_without_permission_is_not_called_damaged(paths, tmp_path, monkeypatch, name):
    paths["log"] = tmp_path / name
    paths["log"].write_bytes(gzip.compress(as_csv(Good().log)))
    opened = Path.open

    def forbid(path, *arguments, **options):
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", forbid)
    message = refused(**paths)
    assert f"{name}: the file cannot be opened: Permission denied. Check its permissions" in message
    assert "decompress" not in message


@POSIX
def test_a_pipe_is_not_called_empty(paths, tmp_path):
    paths["log"] = tmp_path / "pipe.csv"
    os.mkfifo(paths["log"])
    assert "pipe.csv: this is a pipe or a device, not a file. Write what it delivers to a file" in refused(**paths)


@POSIX
@pytest.mark.parametrize("target", ["gone.csv", "link.csv"])
def test_a_link_to_nothing_names_its_target_and_not_itself(paths, tmp_path, target):
    paths["log"] = tmp_path / "link.csv"
    paths["log"].symlink_to(target)
    message = refused(**paths)
    assert f'link.csv: this is a link to "{target}", where there is no file. Correct the link' in message
    assert "the folder has" not in message


@POSIX
def test_a_similar_name_is_suggested_but_no_link_to_nothing(paths, tmp_path):
    (tmp_path / "logg.csv").symlink_to("gone.csv")
    paths["log"] = tmp_path / "lo.csv"
    message = refused(**paths)
    assert "the folder has log.csv" in message
    assert "logg.csv" not in message


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_file_names_that_are_not_utf_8_are_readable_in_messages_and_results(tmp_path, capsys):
    demo = make_demo(1, sizes=SMALL)
    demo.write(tmp_path)
    odd = {role: os.fsencode(tmp_path / f"{role}.parquet") for role in ("log", "experiment", "replay")}
    odd["log"] = os.fsencode(tmp_path) + b"/l\xffog.parquet"
    (tmp_path / "log.parquet").rename(os.fsdecode(odd["log"]))
    arguments = [f"--{role}={os.fsdecode(path)}" for role, path in odd.items()]
    output = os.fsdecode(os.fsencode(tmp_path) + b"/p\xffage.json")
    assert main(["evaluate", *arguments, "-q", "--refits=2", "--verbose", "-o", output]) in (0, 3)
    shown = capsys.readouterr()
    assert "(l\\xffog.parquet)" in shown.out
    assert "p\\xffage.json." in shown.err
    Path(os.fsdecode(odd["log"])).unlink()
    packed = os.fsdecode(os.fsencode(tmp_path) + b"/l\xffog.csv.gz")
    Path(packed).write_bytes(gzip.compress(as_csv(Good().log)))
    assert main(["check", f"--log={packed}", *arguments[1:]]) == 1
    assert "l\\xffog.csv.gz: a compressed file whose name is not UTF-8" in capsys.readouterr().err
    assert main(["check", *arguments]) == 1
    assert "l\\xffog.parquet: no such file" in capsys.readouterr().err


def test_the_readable_name_of_a_file_is_the_source_of_a_study(paths):
    assert dc.load(**paths).log.source == "log.csv"
