"""--engine, --scheduler and --workers: what contradicts itself is refused before any file is read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import deconfound as dc
from deconfound.cli import main
from tests.support.commands import evaluate_command

QUICK = ("--family", "exp-only", "--refits", "2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "dask"], "--engine dask needs --scheduler ADDRESS"),
        (["--scheduler", "tcp://10.0.0.5:8786"], "--scheduler is the address of a cluster; --engine local has none"),
        (["--engine", "processes", "--scheduler", "tcp://10.0.0.5:8786"], "--engine processes has none"),
        (
            ["--engine", "dask", "--scheduler", "tcp://10.0.0.5:8786", "--workers", "2"],
            "a cluster at --scheduler has its own",
        ),
        (["--workers", "0"], "--workers must be at least 1, not 0"),
        (["--engine", "spark"], "invalid choice: 'spark'"),
    ],
)
def test_contradictions_are_explained_before_any_file_is_read(options, message, tmp_path: Path, capsys):
    assert main(evaluate_command(tmp_path / "nowhere", *options)) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_named_with_its_extra(engine, package, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    options = ["--engine", engine, "--scheduler", "tcp://10.0.0.5:8786"]
    assert main(evaluate_command(tmp_path / "nowhere", *options)) == 2
    assert f'pip install "deconfound[{engine}]"' in capsys.readouterr().err


def test_an_engine_that_a_short_log_does_not_need_is_mentioned(study_folder: Path, capsys):
    assert main(evaluate_command(study_folder, *QUICK, "--engine", "processes")) == 0
    assert "The log fits into memory: --engine processes was not needed." in capsys.readouterr().err


def test_an_unknown_engine_is_refused_in_python_too():
    with pytest.raises(dc.UsageError, match="--engine must be one of local, processes, dask, ray"):
        dc.EngineOptions("spark")
    with pytest.raises(dc.UsageError, match="engine must be EngineOptions"):
        dc.EvaluationOptions(engine="dask")
