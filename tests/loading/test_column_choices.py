"""Column maps of single tables, ignored columns, and models under one name."""

from __future__ import annotations

import pytest

from deconfound.data import ReadingChoices
from deconfound.errors import UsageError
from deconfound.loading import load, load_contexts, load_replay
from tests.support.studies import Good, good_with, refused, same, tables


def move(row, old, new):
    row[new] = row.pop(old)


def test_each_table_has_a_map_of_its_own():
    good = good_with(log=lambda row: move(row, "outcome", "liked"), experiment=lambda row: move(row, "outcome", "mark"))
    study = load(**tables(good), columns={"log.outcome": "liked", "experiment.outcome": "mark"})
    assert same(study, load(**tables(Good())))


def test_the_map_of_one_table_goes_before_that_of_all():
    good = good_with(
        log=lambda row: move(row, "outcome", "liked"),
        experiment=lambda row: (move(row, "outcome", "mark"), row.update(liked=0.0)),
    )
    study = load(**tables(good), columns={"outcome": "liked", "experiment.outcome": "mark"})
    assert same(study, load(**tables(Good())))


def test_a_map_without_its_column_names_the_table():
    good = good_with(log=lambda row: move(row, "outcome", "liked"))
    message = refused(**tables(good), columns={"log.outcome": "likes"})
    assert 'log (Table): there is no column "likes", which --map gives for log.outcome' in message
    assert '--map log.outcome=COLUMN (did you mean "liked"?)' in message
    assert "there is no column for the outcome" not in message


@pytest.mark.parametrize("name", ["log.outcom", "journal.outcome", "log."])
def test_a_map_of_a_name_that_does_not_exist_is_refused(name):
    with pytest.raises(UsageError, match="is not a column that can be mapped"):
        load(**tables(Good()), columns={name: "x"})


def test_a_study_s_map_serves_its_replay_and_its_target():
    good = good_with(replay=lambda row: move(row, "output", "said"))
    columns = {"log.outcome": "liked", "replay.output": "said", "target.context": "question"}
    replay = load_replay(tables(good)["replay"], study=ReadingChoices(columns))
    assert replay.arrow["output"].to_pylist()[0] == "ant on question 0"
    target = tables(good)["replay"].select(["context"]).rename_columns(["question"])
    assert load_contexts(target, columns=columns)["context"].to_pylist()[0] == "question 0"


def with_options():
    return good_with(
        log=lambda row: row.update(time="2026-05-01", user_id="u", label_tone=1.0),
        experiment=lambda row: row.update(time="2026-05-01", user_id="u"),
    )


@pytest.mark.parametrize(
    ("ignore", "log", "experiment"),
    [
        ("time", {"cluster", "label_tone"}, {"cluster"}),
        ("log.time", {"cluster", "label_tone"}, {"cluster", "time"}),
        ("user_id", {"time", "label_tone"}, {"time"}),
        ("cluster", {"time", "label_tone"}, {"time"}),
        ("label_*", {"time", "cluster"}, {"time", "cluster"}),
        (["time", "cluster"], {"label_tone"}, set()),
    ],
)
def test_ignored_columns_are_not_used(ignore, log, experiment):
    study = load(**tables(with_options()), ignore=ignore)
    usual = {"context_id", "context", "model", "output", "outcome"}
    assert set(study.log.arrow.column_names) - usual == log
    assert set(study.experiment.arrow.column_names) - usual == experiment
    assert "time" in study.log.unused_columns or "time" in log


def test_ignoring_what_a_study_needs_is_refused():
    with pytest.raises(UsageError, match="every study needs the outcome"):
        load(**tables(Good()), ignore="log.outcome")
    assert 'there is no column "tme" to --ignore' in refused(**tables(with_options()), ignore="tme")


def test_models_are_merged_on_request_only():
    good = good_with(log=lambda row: row.update(model=row["model"].replace("ant", "acme/ANT")))
    study = load(**tables(good))
    warning = next(finding for finding in study.findings if finding.verdict == "warn")
    assert warning.remedy == "If they are the same model: --rename-model acme/ANT=ant."
    assert study.uncompared_models == ("acme/ANT",)
    renamed = load(**tables(good), rename_models={"acme/ANT": "ant"})
    assert same(renamed, load(**tables(Good())))
    assert any('acme/ANT as "ant" (5 rows)' in str(finding.details) for finding in renamed.findings)


def test_propensities_follow_their_models():
    good = good_with(
        experiment=lambda row: row.update({"model": row["model"].upper()} | dict.fromkeys(PROPENSITIES, 1 / 3))
    )
    study = load(**tables(good), rename_models={"ANT": "ant", "BEE": "bee", "CAT": "cat"})
    assert set(study.experiment.propensities()) == {"ant", "bee", "cat"}


PROPENSITIES = ("propensity_ANT", "propensity_BEE", "propensity_CAT")


def test_two_propensities_are_not_merged():
    good = good_with(experiment=lambda row: row.update(dict.fromkeys(("propensity_ant", "propensity_bee"), 0.5)))
    good.experiment = [row for row in good.experiment if row["model"] != "cat"]
    assert 'two columns would be called "propensity_bee"' in refused(**tables(good), rename_models={"ant": "bee"})


def test_renaming_a_model_that_does_not_exist_is_refused():
    assert 'there is no model "and" to rename' in refused(**tables(Good()), rename_models={"and": "ant"})


@pytest.mark.parametrize("alias", ["thumbs", "stars", "vote", "user_rating"])
def test_usual_names_of_ratings_are_outcomes(alias):
    good = good_with(log=lambda row: move(row, "outcome", alias))
    assert same(load(**tables(good)), load(**tables(Good())))
