"""`deconfound check` as a user meets it, and the columns that came with it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.data import Study
from deconfound.diagnose import check
from deconfound.errors import UsageError
from deconfound.findings import Finding
from deconfound.loading import load
from deconfound.report.findings_text import failed, findings_text, told
from tests.support.checking import MODELS, each, make_study


def written(study: Study, folder: Path) -> list[str]:
    words = []
    for table in (study.log, study.experiment, study.replay):
        path = folder / f"{table.role}.parquet"
        pq.write_table(table.arrow, path)
        words += [f"--{table.role}", str(path)]
    return ["check", "-q", *words]


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> list[str]:
    return written(make_study(seed=4), tmp_path_factory.mktemp("sound"))


def test_a_sound_study_ends_with_code_0_and_one_sentence_first(sound, capsys):
    assert main(sound) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("No assumption is visibly broken")
    assert "Passed (" in out
    assert err == ""


def test_json_has_every_finding_with_its_number(sound, capsys):
    assert main([*sound, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert sum(document["verdicts"].values()) == len(document["findings"])
    read = [Finding(**finding) for finding in document["findings"]]
    assert {"A1", "A2", "A3", "A4", "A5"} <= {finding.assumption for finding in read}
    ratio = next(finding for finding in read if finding.check == "sample ratio")
    assert ratio.number is not None
    assert 0 < ratio.number <= 1


def test_a_broken_draw_ends_with_code_3(tmp_path, capsys):
    study = make_study(experiment=each(lambda at, row: row.update(model="cat") if at > 40 else None))
    assert main(written(study, tmp_path)) == 3
    out = capsys.readouterr().out
    assert out.startswith("The data say no: A1 failed.")
    assert out.index("Failed (") < out.index("Passed (")


def test_nothing_to_tell_ends_with_code_4(tmp_path, monkeypatch, capsys):
    open_question = Finding("sample ratio", "cannot tell", "Too few rows.", assumption="A1")
    monkeypatch.setattr("deconfound.diagnose.check", lambda *_, **__: (open_question,))
    assert main(written(make_study(rows=3), tmp_path)) == 4
    assert "Nothing can be told" in capsys.readouterr().out


def test_three_rows_end_in_findings_and_not_in_a_traceback(tmp_path, capsys):
    assert main(written(make_study(rows=3), tmp_path)) in (0, 3, 4)
    assert "too few" in capsys.readouterr().out


def test_a_target_is_read_by_its_own_names(sound, tmp_path, capsys):
    pd.DataFrame({"prompt": ["case 1: roof", "case 2: lamp"] * 40}).to_csv(tmp_path / "target.csv", index=False)
    assert main([*sound, "--target", str(tmp_path / "target.csv")]) in (0, 3)
    assert "target" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "code"), [(["--level", "1"], 2), (["--target", "none.csv"], 1), (["--map", "outcome"], 2)]
)
def test_bad_usage_and_missing_files_end_with_their_codes(sound, more, code, capsys):
    assert main([*sound, *more]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deconfound: ")


def test_names_cannot_steer_the_terminal(tmp_path, capsys):
    hostile = {name: f"\x1b[31m{name}" for name in MODELS}

    def rename(rows):
        for row in rows:
            row["model"] = hostile[row["model"]]

    study = make_study(log=rename, replay=rename, experiment=lambda rows: (rename(rows), _late(rows, hostile["cat"])))
    assert main(written(study, tmp_path)) == 3
    assert "\x1b" not in capsys.readouterr().out


def _late(rows, name):
    for row in rows[40:]:
        row["model"] = name


def test_check_runs_on_a_study_in_memory_and_repeats_itself():
    study = make_study(seed=4)
    stages = []
    found = check(study, seed=1, progress=lambda stage, _: stages.append(stage))
    assert found == check(study, seed=1)
    assert len(stages) == len(set(stages)) == 7
    assert not set(study.findings) & set(found)
    with pytest.raises(UsageError, match="level"):
        check(study, level=95)


def test_a_test_that_may_err_nearly_always_warns_nearly_always():
    """With 1 - level = 0.999 whatever gives a p-value below that warns; one check at least of each assumption does."""
    study = make_study(seed=4)
    replayed, log = study.replay.arrow, study.log.arrow
    elsewhere = replayed["output"].take(np.roll(np.arange(len(replayed)), len(MODELS)))
    again = replayed.drop_columns(["output"]).append_column("output", elsewhere)
    again = again.append_column("outcome", pa.array(np.linspace(0, 1, len(replayed)))).select(log.column_names)
    study = load(log=pa.concat_tables([log, again]), experiment=study.experiment.arrow, replay=replayed)
    found = check(study, level=0.001)
    warned = {finding.check for finding in found if finding.verdict == "warn"}
    assert {"sample ratio", "replay validity", "hidden path to the output", "contexts of the log"} <= warned


def test_findings_of_an_older_version_are_still_read():
    old = {"check": "text", "verdict": "warn", "message": "m", "remedy": "r"}
    assert Finding(**old) == Finding("text", "warn", "m", "r", None, "")
    assert list(asdict(Finding(**old)))[:4] == list(old)


def test_a_verdict_is_told_only_by_what_concerns_an_assumption():
    fine = Finding("labels", "pass", "m")
    open_question = Finding("sample ratio", "cannot tell", "m", assumption="A1")
    assert not told([fine, open_question])
    assert told([fine, open_question, Finding("sample ratio", "pass", "m", assumption="A1")])
    assert failed([Finding("labels", "fail", "m")])
    assert findings_text([fine], 0.95).startswith("Nothing can be told")
