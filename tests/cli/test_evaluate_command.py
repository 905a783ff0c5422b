"""`deconfound evaluate`: what it prints and saves, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.short_answers import answer_tables
from deconfound.cli import main
from deconfound.cli.evaluate import parse_costs
from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.result import Result
from tests.support.broken_files import Broken, make_all
from tests.support.commands import evaluate_command
from tests.support.results import small_demo


def test_the_summary_starts_with_the_best_model(study_folder, capsys):
    assert main(evaluate_command(study_folder, "--json")) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    assert main(evaluate_command(study_folder)) == 0
    out, err = capsys.readouterr()
    assert best in out.splitlines()[0]
    assert err == ""


def test_json_contains_the_whole_result_and_nothing_else_is_printed(study_folder, capsys):
    assert main(evaluate_command(study_folder, "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["best"] == document["values"]["table"][0]["model"]
    assert {"direct", "experiment", "raw_log", "contrasts", "counts", "findings", "recommendations"} <= set(document)


def test_segments_of_several_families_are_refused_where_they_would_not_be_shown(study_folder, capsys):
    assert main(evaluate_command(study_folder, "--family", "all", "--segments", "topic")) == 2
    assert "--segments is shown for one family" in capsys.readouterr().err


def test_progress_goes_to_stderr(study_folder, capsys):
    assert main([word for word in evaluate_command(study_folder) if word != "-q"]) == 0
    out, err = capsys.readouterr()
    assert "fitting bootstrap refits" in err
    assert "fitting bootstrap refits" not in out


def test_verbose_is_accepted(study_folder, capsys):
    assert main(evaluate_command(study_folder, "--verbose")) == 0
    assert capsys.readouterr().out


def test_all_families_are_compared_side_by_side(study_folder, capsys):
    assert main(evaluate_command(study_folder, "--family", "all")) == 0
    heading = capsys.readouterr().out.splitlines()[0].split()
    assert [name for name in heading if name != "model"] == ["auto", *PAPER_FAMILY_NAMES]


def test_the_number_of_refits_is_an_option(study_folder, tmp_path):
    options = ("--family", "exp-only", "--refits", "7", "-o", str(tmp_path / "saved"))
    assert main(evaluate_command(study_folder, *options)) == 0
    assert len(Result.load(tmp_path / "saved").policy.bootstrap_fits) == 7


def test_a_folder_is_saved_and_the_next_step_printed(study_folder, tmp_path, capsys):
    assert main(evaluate_command(study_folder, "-o", str(tmp_path / "saved"))) == 0
    assert f"deconfound recommend {tmp_path / 'saved'}" in capsys.readouterr().err
    assert (tmp_path / "saved").is_dir()


def test_one_run_saves_a_folder_and_writes_a_page(study_folder, tmp_path, monkeypatch, capsys):
    """The next command is the last line, whatever the order of the options."""
    monkeypatch.chdir(tmp_path)
    options = ("--family", "exp-only", "--refits", "2")
    assert main(evaluate_command(study_folder, *options, "-o", "saved", "-o", "report.html", "-o", "saved.json")) == 0
    written = "Written to report.html.\nWritten to saved.json.\nSaved to saved\nNext: deconfound recommend saved"
    assert written in capsys.readouterr().err
    assert Result.load(tmp_path / "saved").models
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert main(evaluate_command(study_folder, *options, "-o", "new", "-o", "report.html")) == 2
    assert "-o report.html exists" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_control_characters_in_model_names_do_not_reach_the_terminal(study_folder, tmp_path, capsys):
    for name in ("log", "experiment", "replay"):
        table = pq.read_table(study_folder / f"{name}.parquet")
        models = pa.array([f"\x1b[31m{model}\x07" for model in table["model"].to_pylist()])
        column = table.column_names.index("model")
        pq.write_table(table.set_column(column, "model", models), tmp_path / f"{name}.parquet")
    assert main(evaluate_command(tmp_path)) == 0
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
        ["--refits", "1"],
        ["--method", "guess"],
        ["-o", "result.xlsx"],
        ["--family", "all", "-o", "saved"],
    ],
)
def test_invalid_usage_ends_with_code_2_and_a_message(study_folder, more, capsys):
    assert main(evaluate_command(study_folder, *more)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deconfound: ")
    assert "Traceback" not in err


def test_each_method_is_an_option(tmp_path, capsys):
    for name, table in answer_tables().items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    documents = {}
    for method in ("doubly-robust", "efficient", "paper", "direct"):
        assert main(evaluate_command(tmp_path, "--method", method, "--refits", "2", "--json")) == 0
        documents[method] = json.loads(capsys.readouterr().out)
    assert documents["efficient"]["values"]["method"] == "efficient, shrunk"
    assert documents["efficient"]["efficient"]["used"]
    assert "exclusion" in {finding["check"] for finding in documents["efficient"]["findings"]}
    assert documents["paper"]["values"]["method"] == "paper"
    assert documents["direct"]["values"]["method"] == "direct"
    assert not documents["doubly-robust"]["efficient"]["used"]
    contexts = str(tmp_path / "experiment.parquet")
    assert main(evaluate_command(tmp_path, "--method", "paper", "--target", contexts)) == 2
    assert "method paper" in capsys.readouterr().err


def test_costs_are_divided_by_the_value_of_an_outcome():
    assert parse_costs([], None) is None
    assert parse_costs(["oak=1"], None) == {"oak": 1.0}
    assert parse_costs(["a=b=0.5", "oak=1"], 10.0) == {"a=b": 0.05, "oak": 0.1}
    for pairs, value in ((["oak"], 1.0), (["oak=much"], 1.0), (["=1"], 1.0), (["oak=1"], 0.0), ([], 1.0)):
        with pytest.raises(UsageError):
            parse_costs(pairs, value)


def test_costs_reach_values_and_recommendations(study_folder, capsys):
    assert main(evaluate_command(study_folder, "--json")) == 0
    plain = json.loads(capsys.readouterr().out)
    best = plain["best"]
    costs = [f"--cost={name}={9 * (name == best)}" for name in plain["models"]]
    assert main(evaluate_command(study_folder, "--json", *costs, "--value-of-outcome=10")) == 0
    net = json.loads(capsys.readouterr().out)
    assert best not in net["recommendation_counts"]["most_likely"]
    assert net["best"] == net["values"]["table"][0]["model"] == net["routing"]["best"] != best
    assert net["values"]["cost"] == [0.9 * (name == best) for name in plain["models"]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--cost=oak"], "MODEL=AMOUNT"),
        (["--cost=oak=much"], "MODEL=AMOUNT"),
        (["--cost=oak=1", "--value-of-outcome=0"], "--value-of-outcome"),
        (["--value-of-outcome=2"], "give these too"),
        (["--cost=unknown=1"], "(--cost): no model"),
        (["--cost=oak=1"], "0 if it is free"),
        (["--extra-contexts"], "extra_contexts: no context outside the experiment"),
    ],
)
def test_a_wrong_cost_ends_with_code_2_and_names_the_option(study_folder, wrong, message, capsys):
    assert main(evaluate_command(study_folder, *wrong)) == 2
    assert message in capsys.readouterr().err


def test_a_target_reaches_the_evaluation(study_folder, capsys):
    assert main(evaluate_command(study_folder, "--json", f"--target={study_folder / 'experiment.parquet'}")) in (0, 3)
    document = json.loads(capsys.readouterr().out)
    assert "overlap with the target" in {finding["check"] for finding in document["findings"]}
    assert (document["population"]["kind"], document["population"]["source"]) == ("target", "experiment.parquet")


def test_too_few_experiment_rows_end_with_code_4(study_folder, tmp_path, capsys):
    experiment = pq.read_table(study_folder / "experiment.parquet")
    models = experiment["model"].to_pylist()
    other = next(i for i, name in enumerate(models) if name != models[0])
    pq.write_table(experiment.take([0, other]), tmp_path / "experiment.parquet")
    for name in ("log", "replay"):
        (tmp_path / f"{name}.parquet").symlink_to(study_folder / f"{name}.parquet")
    assert main(evaluate_command(tmp_path)) == 4
    assert "Randomize more contexts" in capsys.readouterr().err


def test_every_broken_file_ends_with_code_1_and_a_message(tmp_path, capsys):
    """At least forty kinds; each message names the file, the row if there is one, and a fix."""
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
    """The command line for a call of ``load``; None for arguments that only Python can express."""
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


def test_stars_are_printed_as_stars(study_folder, tmp_path, capsys):
    for name in ("log", "experiment", "replay"):
        table = pq.read_table(study_folder / f"{name}.parquet")
        if "outcome" in table.column_names:
            stars = pa.array(1 + 4 * table["outcome"].to_numpy())
            table = table.set_column(table.column_names.index("outcome"), "outcome", stars)
        pq.write_table(table, tmp_path / f"{name}.parquet")
    command = evaluate_command(tmp_path, "--outcome-range", "1", "5", "-o", str(tmp_path / "saved"))
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "Values are on your scale from 1 to 5." in out
    saved = Result.load(tmp_path / "saved")
    assert saved.outcome_range == (1.0, 5.0)
    assert f"value {1 + 4 * saved.values.table()[0]['estimate']:.2f}" in out
    assert main(["recommend", str(tmp_path / "saved"), "--replay", str(tmp_path / "replay.parquet")]) == 0
    assert "on your scale from 1 to 5" in " ".join(capsys.readouterr().out.split())


def write_two_outcomes(folder: Path) -> list[str]:
    """A small demo whose log and experiment have the outcomes "liked" and "solved", the reverse of it."""
    demo = small_demo()
    demo.write(folder)
    for name in ("log", "experiment"):
        table = getattr(demo, name)
        outcome = table["outcome"].to_numpy()
        table = table.drop_columns(["outcome"]).append_column("liked", pa.array(outcome))
        pq.write_table(table.append_column("solved", pa.array(1 - outcome)), folder / f"{name}.parquet")
    return [f"--{name}={folder / name}.parquet" for name in ("log", "experiment", "replay")]


def test_several_outcomes_are_evaluated_one_after_the_other(tmp_path, capsys):
    options = [*write_two_outcomes(tmp_path), "--family", "exp-only", "--refits", "2", "-q"]
    assert main(["evaluate", *options, "--map", "outcome=liked", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert main(["evaluate", *options, "--outcome", "liked", "--outcome", "solved", "--json"]) == 0
    liked, solved = json.loads(capsys.readouterr().out)["results"]
    assert "--outcome solved" in liked["reproduction"]["command"]
    assert {**liked, "reproduction": None} == {"outcome": "liked", **alone, "reproduction": None}
    assert solved["values"]["estimate"] == pytest.approx([1 - value for value in alone["values"]["estimate"]], abs=1e-9)
    assert main(["evaluate", *options, "--outcome", "liked", "--outcome", "solved"]) == 0
    text = capsys.readouterr().out
    assert text.index("Outcome: liked") < text.index("Outcome: solved") < text.index("by chance")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--map", "outcome=liked"), "say the same"),
        (("--outcome", "liked"), "more than once"),
        (("--outcome", "solved", "-o", "out.json"), "-o saves one result"),
    ],
)
def test_outcomes_that_contradict_other_options_are_refused(tmp_path, capsys, more, message):
    assert main(["evaluate", *write_two_outcomes(tmp_path), "--outcome", "liked", *more]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("ends", "message"), [(("1", "5"), "is outside"), (("0", "5"), "liked is only 0 or 1")])
def test_outcomes_on_two_scales_are_refused_before_one_is_evaluated(tmp_path, capsys, ends, message):
    options = write_two_outcomes(tmp_path)
    for name in ("log", "experiment"):
        table = pq.read_table(tmp_path / f"{name}.parquet")
        liked = pa.array(table["liked"].to_numpy().round())
        pq.write_table(table.drop_columns(["liked"]).append_column("liked", liked), tmp_path / f"{name}.parquet")
    command = ["evaluate", *options, "--outcome", "solved", "--outcome", "liked", "--outcome-range", *ends]
    assert main(command) == 1
    printed = capsys.readouterr()
    assert message in printed.err
    assert "evaluate each by itself, with its own --outcome-range" in printed.err
    assert not printed.out


def test_every_command_takes_the_outcome_and_no_table_may_lack_it(tmp_path, capsys):
    options = write_two_outcomes(tmp_path)
    for command in ("check", "plan"):
        assert main([command, *options, "-q", "--json", "--map", "outcome=solved"]) == 0
        expected = capsys.readouterr().out
        assert main([command, *options, "-q", "--json", "--outcome", "solved"]) == 0
        assert capsys.readouterr().out == expected
        assert main([command, *options, "--outcome", "solved", "--outcome", "liked"]) == 2
        assert "Only `evaluate` takes several outcomes" in capsys.readouterr().err
    table = pq.read_table(tmp_path / "experiment.parquet")
    names = ["outcome" if name == "liked" else name for name in table.column_names]
    pq.write_table(table.rename_columns(names), tmp_path / "e.parquet")
    options[1] = f"--experiment={tmp_path / 'e.parquet'}"
    assert main(["evaluate", *options, "--outcome", "liked"]) == 1
    assert 'e.parquet: there is no column "liked"' in capsys.readouterr().err
