"""`deconfound init` writes a study file, and commands read it like options."""

from __future__ import annotations

import csv
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from tests.support.assigned import manifest
from tests.support.results import small_demo

FAST = ("--family", "exp-only", "--refits", "2", "-q")


@pytest.fixture
def folder(tmp_path):
    small_demo().write(tmp_path)
    return tmp_path


def write_study(folder, text):
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


TABLES = 'log = "log.parquet"\nexperiment = "experiment.parquet"\nreplay = "replay.parquet"\n'


def test_a_study_file_gives_the_same_result_as_options(folder, capsys):
    options = [f"--{name}={folder / name}.parquet" for name in ("log", "experiment", "replay")]
    assert main(["evaluate", *options, *FAST, "--seed", "3"]) == 0
    expected = capsys.readouterr().out
    study = write_study(folder, f'{TABLES}seed = 3\nfamily = "exp-only"\nrefits = 2\nquiet = true\n')
    assert main(["evaluate", study]) == 0
    assert capsys.readouterr().out == expected


def test_an_option_of_the_command_line_replaces_that_of_the_file(folder, capsys):
    study = write_study(folder, f'{TABLES}family = "no such family"\n')
    assert main(["evaluate", study, *FAST]) == 0
    assert "value" in capsys.readouterr().out


def test_tables_of_a_file_are_repeated_options(folder, capsys):
    models = sorted(set(small_demo().replay["model"].to_pylist()))
    costs = "".join(f"{name} = 0.1\n" for name in models)
    study = write_study(folder, f"{TABLES}value-of-outcome = 2\n[cost]\n{costs}")
    assert main(["evaluate", study, *FAST]) == 0
    assert "net of cost" in capsys.readouterr().out


def test_commands_share_a_file_and_ignore_each_others_options(folder, capsys):
    study = write_study(folder, f'{TABLES}family = "exp-only"\nwidth = 0.1\n')
    assert main(["check", study, "-q"]) == 0
    assert "No check failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        ("log = 'a", "no valid TOML", 1),
        (f'{TABLES}famly = "auto"\n', 'there is no option "famly"; did you mean "family"?', 2),
        (f"{TABLES}seed = true\n", "seed takes a value", 2),
        ('log = "nowhere.csv"\nexperiment = "experiment.parquet"\nreplay = "replay.parquet"\n', "nowhere.csv", 1),
    ],
)
def test_mistakes_in_a_study_file_are_named(folder, capsys, text, message, code):
    assert main(["check", write_study(folder, text)]) == code
    assert message in capsys.readouterr().err


def test_a_missing_study_file_is_named(tmp_path, capsys):
    assert main(["check", str(tmp_path / "none.toml")]) == 1
    assert "none.toml: the file cannot be opened" in capsys.readouterr().err


def test_init_finds_the_tables_and_the_written_file_can_be_evaluated(folder, capsys):
    assert main(["init", str(folder), "-o", str(folder / "study.toml")]) == 0
    text = (folder / "study.toml").read_text(encoding="utf-8")
    assert 'experiment = "experiment.parquet"  # 180 rows' in text or 'experiment = "experiment.parquet"' in text
    assert "deconfound check" in capsys.readouterr().err
    assert main(["evaluate", str(folder / "study.toml"), *FAST]) == 0


def test_init_writes_the_manifest_of_the_assignment(folder, tmp_path, monkeypatch, capsys):
    """The path is relative to the study file, as those of the tables are; any other file is refused."""
    monkeypatch.chdir(folder)
    drawn, elsewhere = tmp_path / "drawn.json", tmp_path / "studies"
    elsewhere.mkdir()
    drawn.write_text(manifest().to_json(), encoding="utf-8")
    tables = [f"{name}.parquet" for name in ("log", "experiment", "replay")]
    study = elsewhere / "study.toml"
    assert main(["init", *tables, "--assignment", str(drawn), "-o", str(study)]) == 0
    written = tomllib.loads(study.read_text(encoding="utf-8"))
    assert (elsewhere / written["assignment"]).samefile(drawn)
    assert (elsewhere / written["log"]).samefile("log.parquet")
    assert main(["init", *tables, "--assignment", "log.parquet", "-o", "other.toml"]) == 1
    assert "log.parquet" in capsys.readouterr().err
    assert main(["init", *tables, "--assignment", str(drawn), "-o", str(drawn), "--overwrite"]) == 2
    assert "would replace the input" in capsys.readouterr().err


def test_init_names_columns_that_it_recognizes_and_those_that_are_missing(tmp_path, capsys):
    rows = [["q", "ant", "a", 4, "u"], ["q", "bee", "b", 2, "v"]]
    for name, width in (("usage.csv", 5), ("random.csv", 4), ("replay.csv", 3)):
        with (tmp_path / name).open("w", newline="") as file:
            header = ["prompt", "engine", "reply", "gut_feeling", "user"]
            csv.writer(file).writerows([header[:width], *(row[:width] for row in rows)])
    assert main(["init", str(tmp_path), "-o", str(tmp_path / "s.toml")]) == 0
    text = (tmp_path / "s.toml").read_text()
    assert 'log = "usage.csv"' in text
    assert '# log.model = "engine"  # recognized' in text
    assert 'log.outcome = "COLUMN"  # missing; name one of prompt, engine, reply, gut_feeling, user' in text
    capsys.readouterr()


def test_init_replaces_nothing_without_being_told(folder, capsys):
    study = write_study(folder, "mine")
    assert main(["init", str(folder), "-o", study]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_init_refuses_two_logs(tmp_path, capsys):
    for name in ("log1.csv", "log2.csv", "log3.csv"):
        (tmp_path / name).write_text("context,model,output,outcome\nq,ant,a,1\n")
    assert main(["init", str(tmp_path), "-o", str(tmp_path / "s.toml")]) == 2
    assert "more than one table seems to be the log" in capsys.readouterr().err


def test_a_flag_of_another_command_does_not_disturb(folder, capsys):
    study = write_study(folder, f"{TABLES}extra-contexts = true\n")
    assert main(["plan", study, "-q", "--width", "0.2"]) == 0
    assert "rows" in capsys.readouterr().out


def test_words_of_outcomes_may_be_a_table(folder, capsys):
    study = write_study(folder, f"{TABLES}[outcome-values]\nnever = 0\nalways = 1\n")
    assert main(["check", study, "-q"]) == 1
    assert "no outcome is never, always" in capsys.readouterr().err


def with_codes(folder, code):
    """The study with a number for every tenth outcome, of which nobody asked."""
    for name in ("log", "experiment"):
        table = pq.read_table(folder / f"{name}.parquet")
        outcome = [code if row % 10 == 0 else y for row, y in enumerate(table["outcome"].to_pylist())]
        table = table.set_column(table.column_names.index("outcome"), "outcome", pa.array(outcome, pa.float64()))
        pq.write_table(table, folder / f"{name}.parquet")


def test_codes_for_missing_outcomes_may_be_negative_numbers(folder, capsys):
    with_codes(folder, -1.0)
    tables = [f"--{name}={folder / name}.parquet" for name in ("log", "experiment", "replay")]
    assert main(["check", *tables, "-q"]) == 1
    assert "pass --outcome-values -1=missing." in capsys.readouterr().err
    study = write_study(folder, f'{TABLES}[outcome-values]\n-1 = "missing"\n')
    for given in ([*tables, "--outcome-values", "-1=missing"], [*tables, "--outcome-values=-1=Missing"], [study]):
        assert main(["check", *given, "-q"]) == 0
        assert "outcomes count as missing: -1 (" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "values", ["-1=missing,-1=0", "-1=missing,-1=missing", "=missing", "missing", "a=missing,b", "a=nan"]
)
def test_meanings_that_cannot_be_are_refused(folder, values, capsys):
    study = write_study(folder, TABLES)
    assert main(["check", study, "-q", f"--outcome-values={values}"]) == 2
    assert "--outcome-values" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "expected"), [(-1.0, '# outcome-values = "-1=missing"'), (999.0, '# outcome-values = "999=missing"')]
)
def test_init_names_numbers_that_may_stand_for_missing_outcomes(folder, code, expected, capsys):
    with_codes(folder, code)
    assert main(["init", str(folder), "-o", str(folder / "study.toml")]) == 0
    text = (folder / "study.toml").read_text(encoding="utf-8")
    assert expected in text
    assert "outcome-range = [1, 5]" in text  # an example in a comment; the code is no end of the scale
    capsys.readouterr()


def test_init_reads_folders_that_have_the_name_of_a_table_and_no_list_of_contexts(folder, tmp_path, capsys):
    team = tmp_path / "team"
    for name in ("log", "experiment", "replay"):
        (team / name).mkdir(parents=True)
        (folder / f"{name}.parquet").rename(team / name / "part.parquet")
    (team / "contexts.csv").write_text("prompt\nHi\nHo\n", encoding="utf-8")
    assert main(["init", str(team), "-o", str(team / "study.toml")]) == 0
    text = (team / "study.toml").read_text(encoding="utf-8")
    for name in ("log", "experiment", "replay"):
        assert f'\n{name} = "{name}"  # ' in text
    assert "# not used: contexts.csv, which has no columns for model and output" in text
    assert "Not used, since there are no columns for model and output: contexts.csv." in capsys.readouterr().err
    assert main(["check", str(team / "study.toml"), "-q"]) == 0


def test_init_refuses_tables_that_are_none_of_a_study(tmp_path, capsys):
    (tmp_path / "contexts.csv").write_text("prompt\nHi\n", encoding="utf-8")
    assert main(["init", str(tmp_path / "contexts.csv"), "-o", str(tmp_path / "study.toml")]) == 1
    assert "contexts.csv: there are no columns for model and output" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["-q"], ["--quiet", "--json"]])
def test_the_file_may_stand_after_flags(folder, flags, capsys):
    assert main(["check", *flags, write_study(folder, TABLES)]) == 0
    capsys.readouterr()


def test_a_file_after_other_options_is_refused_with_its_place(folder, capsys):
    assert main(["check", "--level", "0.9", write_study(folder, TABLES)]) == 2
    assert "the study file comes right after the command: deconfound check study.toml" in capsys.readouterr().err
