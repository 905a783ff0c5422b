"""The command as a user meets it: what it prints where, and how it ends."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.demo import Sizes, make_demo
from deconfound.errors import AssumptionError, DataError, DeconfoundError, EvidenceError, UsageError
from tests.support.broken_files import Broken, make_all

SMALL = Sizes(log_contexts=40, log_repeats=3, log_people=20, experiment_contexts=36, experiment_people=36, draws=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("study")
    make_demo(1, sizes=SMALL).write(path)
    return path


def evaluate(folder: Path, *more: str) -> list[str]:
    tables = [
        part for name in ("log", "experiment", "replay") for part in (f"--{name}", str(folder / f"{name}.parquet"))
    ]
    return ["evaluate", *tables, "-q", *more]


def test_exit_codes_are_what_the_documentation_says():
    kinds = (DataError, UsageError, AssumptionError, EvidenceError)
    assert [kind.exit_code for kind in kinds] == [1, 2, 3, 4]
    assert DeconfoundError.exit_code == 2


def test_the_summary_opens_with_the_answer(folder, capsys):
    assert main(evaluate(folder)) == 0
    out, err = capsys.readouterr()
    first = out.splitlines()[0]
    assert " is best: value " in first or " leads with " in first
    assert "Computed from" in out
    assert err == ""


def test_json_holds_everything_and_nothing_else_is_printed(folder, capsys):
    assert main(evaluate(folder, "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["best"] == document["values"]["table"][0]["model"]
    wanted = {
        "values",
        "direct",
        "experiment",
        "raw_log",
        "contrasts",
        "choice",
        "counts",
        "findings",
        "recommendations",
    }
    assert wanted <= set(document)


def test_progress_goes_to_stderr(folder, capsys):
    assert main([word for word in evaluate(folder) if word != "-q"]) == 0
    out, err = capsys.readouterr()
    assert "weighing the sources" in err
    assert "tuning" not in out


def test_all_families_are_compared_side_by_side(folder, capsys):
    assert main(evaluate(folder, "--family", "all")) == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert [name for name in head.split() if name != "model"] == [
        "auto",
        "exp-only",
        "obs-only",
        "representation-exp",
        "grounded",
        "cvci",
        "cvci-residual",
    ]


def test_a_kept_result_recommends_on_new_contexts(folder, tmp_path, capsys):
    assert main(evaluate(folder, "-o", str(tmp_path / "kept"))) == 0
    new = make_demo(2, sizes=SMALL)
    pq.write_table(new.replay, tmp_path / "new.parquet")
    capsys.readouterr()
    target = tmp_path / "out.csv"
    code = main(["recommend", str(tmp_path / "kept"), "--replay", str(tmp_path / "new.parquet"), "-o", str(target)])
    assert code == 0
    assert "contexts; for " in capsys.readouterr().out
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(set(new.replay["context_id"].to_pylist()))
    assert {row["verdict"] for row in rows} <= {"clear", "cannot tell"}


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".parquet"])
def test_recommendations_are_written_in_the_format_of_the_ending(folder, tmp_path, ending):
    main(evaluate(folder, "-o", str(tmp_path / "kept")))
    target = tmp_path / f"out{ending}"
    replay = str(folder / "replay.parquet")
    assert main(["recommend", str(tmp_path / "kept"), "--replay", replay, "-o", str(target)]) == 0
    read = {
        ".json": lambda: json.loads(target.read_text()),
        ".jsonl": lambda: [json.loads(line) for line in target.read_text().splitlines()],
        ".parquet": lambda: pq.read_table(target).to_pylist(),
    }
    assert {row["model"] for row in read[ending]()} <= {"aspen", "birch", "cedar", "fir", "maple", "oak"}


def test_a_context_id_that_looks_like_a_formula_is_harmless_in_csv(folder, tmp_path):
    main(evaluate(folder, "-o", str(tmp_path / "kept")))
    replay = make_demo(1, sizes=SMALL).replay
    ids = pa.array([f"=cmd|' /C calc'!A0{name}" for name in replay["context_id"].to_pylist()])
    pq.write_table(
        replay.set_column(replay.column_names.index("context_id"), "context_id", ids), tmp_path / "r.parquet"
    )
    target = tmp_path / "out.csv"
    assert main(["recommend", str(tmp_path / "kept"), "--replay", str(tmp_path / "r.parquet"), "-o", str(target)]) == 0
    with target.open(newline="") as file:
        assert all(row["context_id"].startswith("'=") for row in csv.DictReader(file))


def test_escape_sequences_in_names_do_not_reach_the_terminal(folder, tmp_path, capsys):
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for name in ("log", "experiment", "replay"):
        table = pq.read_table(folder / f"{name}.parquet")
        models = pa.array([f"\x1b[31m{model}\x07" for model in table["model"].to_pylist()])
        pq.write_table(
            table.set_column(table.column_names.index("model"), "model", models), hostile / f"{name}.parquet"
        )
    assert main(evaluate(hostile)) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out


@pytest.mark.parametrize(
    "more",
    [
        ["--map", "outcome"],
        ["--family", "cvcy"],
        ["--level", "2"],
        ["--models", "aspen,birhc"],
        ["--features", "columns"],
        ["-o", "result.xlsx"],
        ["--family", "all", "-o", "kept"],
    ],
)
def test_bad_usage_ends_with_code_2_and_a_sentence(folder, more, capsys):
    assert main(evaluate(folder, *more)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deconfound: ")
    assert "Traceback" not in err


def test_too_little_evidence_ends_with_code_4(folder, tmp_path, capsys):
    experiment = pq.read_table(folder / "experiment.parquet")
    models = experiment["model"].to_pylist()
    other = next(i for i, name in enumerate(models) if name != models[0])
    pq.write_table(experiment.take([0, other]), tmp_path / "experiment.parquet")
    arguments = evaluate(folder)
    arguments[arguments.index("--experiment") + 1] = str(tmp_path / "experiment.parquet")
    assert main(arguments) == 4
    assert "Randomize more contexts" in capsys.readouterr().err


def test_a_missing_result_folder_says_what_to_do(tmp_path, folder, capsys):
    assert main(["recommend", str(tmp_path / "none"), "--replay", str(folder / "replay.parquet")]) == 1
    assert "deconfound evaluate" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(folder):
    """As with `| head -1`: the pipe closes while the command still writes."""
    command = [sys.executable, "-m", "deconfound", *evaluate(folder, "--json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait() == 0, err
        assert b"Traceback" not in err


def test_every_broken_file_ends_with_code_1_and_a_message(tmp_path, capsys):
    """At least forty kinds; each message names the file, the row where there is one, and a fix."""
    broken = make_all(tmp_path)
    assert len(broken) >= 40
    for case in broken:
        arguments = command_line(case)
        if arguments is None:
            continue
        assert main(arguments) == 1, case.name
        out, err = capsys.readouterr()
        assert out == "", case.name
        assert "Traceback" not in err, case.name
        for fragment in case.fragments:
            assert fragment in err, (case.name, fragment, err)


def command_line(case: Broken) -> list[str] | None:
    """The same call as ``load``'s on the command line; None for cases that only Python can express."""
    words = ["evaluate", "-q"]
    for name, value in case.arguments.items():
        if name in ("log", "experiment", "replay") and isinstance(value, str | Path):
            words += [f"--{name}", str(value)]
        elif name == "columns" and isinstance(value, dict):
            words += [word for pair in value.items() for word in ("--map", "=".join(pair))]
        elif name == "outcome_range" and value is not None:
            words += ["--outcome-range", *(str(edge) for edge in np.asarray(value))]
        elif name == "drop_missing" and value:
            words += ["--drop-missing"]
        elif name == "models" and value is not None:
            words += ["--models", ",".join(value)]
        elif name == "incomplete":
            words += ["--drop-incomplete"] if value == "drop" else []
        else:
            return None
    return words
