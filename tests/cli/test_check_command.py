"""`deconfound check` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.data import Study
from deconfound.findings import Finding, Notice, finding_from_document
from deconfound.report.findings_text import details_types
from tests.support.checking import MODELS, each, make_study


def arguments(study: Study, folder: Path) -> list[str]:
    words = []
    for table in (study.log, study.experiment, study.replay):
        path = folder / f"{table.role}.parquet"
        pq.write_table(table.arrow, path)
        words += [f"--{table.role}", str(path)]
    return ["check", "-q", *words]


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> list[str]:
    return arguments(make_study(seed=4), tmp_path_factory.mktemp("clean"))


def test_a_clean_study_ends_with_code_0_and_a_conclusion_first(clean, capsys):
    assert main(clean) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("No check failed")
    assert "Passed (" in out
    assert err == ""


def test_json_has_every_finding_with_its_p_value(clean, capsys):
    assert main([*clean, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert sum(document["verdicts"].values()) == len(document["findings"])
    findings = [finding_from_document(each_finding, details_types()) for each_finding in document["findings"]]
    assert {"A1", "A2", "A3", "A4", "A5"} <= {finding.assumption for finding in findings}
    ratio = next(finding for finding in findings if finding.check == "sample ratio")
    assert 0 < ratio.p_value <= ratio.adjusted_p_value <= 1
    assert sum(ratio.details.counts) == 90


def test_a_violated_assumption_ends_with_code_3(tmp_path, capsys):
    study = make_study(experiment=each(lambda at, row: row.update(model="cat") if at > 40 else None))
    assert main(arguments(study, tmp_path)) == 3
    out = capsys.readouterr().out
    assert out.startswith("Assumption check failed: A1 (randomization)")
    assert out.index("Failed (") < out.index("Passed (")


def test_a_study_without_any_test_ends_with_code_4(tmp_path, monkeypatch, capsys):
    untested = Finding("sample ratio", "cannot tell", Notice("Too few rows."), "A1")
    monkeypatch.setattr("deconfound.diagnose.check", lambda *_, **__: (untested,))
    assert main(arguments(make_study(), tmp_path)) == 4
    assert capsys.readouterr().out.startswith("No assumption could be tested.")


@pytest.mark.parametrize("rows", [2, 3, 9])
def test_rows_that_cannot_be_evaluated_end_with_code_4_and_say_so(tmp_path, capsys, rows):
    assert main(arguments(make_study(rows=rows), tmp_path)) == 4
    out = capsys.readouterr().out
    assert out.startswith("Too few rows. experiment")
    assert "Cannot tell (" in out


def test_a_target_is_read_by_its_own_column_names(clean, tmp_path, capsys):
    pd.DataFrame({"prompt": ["case 1: roof", "case 2: lamp"] * 40}).to_csv(tmp_path / "target.csv", index=False)
    assert main([*clean, "--target", str(tmp_path / "target.csv"), "--json"]) in (0, 3)
    checks = [finding["check"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert checks[-2:] == ["contexts of the target", "overlap with the target"]


@pytest.mark.parametrize(
    ("more", "code"), [(["--level", "1"], 2), (["--target", "none.csv"], 1), (["--map", "outcome"], 2)]
)
def test_wrong_usage_and_missing_files_end_with_their_codes(clean, more, code, capsys):
    assert main([*clean, *more]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deconfound: ")


def test_model_names_cannot_control_the_terminal(tmp_path, capsys):
    hostile = {name: f"\x1b[31m{name}" for name in MODELS}

    def rename(rows):
        for row in rows:
            row["model"] = hostile[row["model"]]

    def rename_and_route(rows):
        rename(rows)
        for row in rows[40:]:
            row["model"] = hostile["cat"]

    study = make_study(log=rename, replay=rename, experiment=rename_and_route)
    assert main(arguments(study, tmp_path)) == 3
    assert "\x1b" not in capsys.readouterr().out
