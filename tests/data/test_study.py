"""Studies from three tables: which models are compared, what is refused, what is dropped with a finding."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.errors import DataError, UsageError

CONTEXTS = ["c1", "c2", "c3", "c4"]


def rows(pairs, **more):
    ids = [context for context, _ in pairs]
    return {
        "context_id": ids,
        "context": [f"text of {context}" for context in ids],
        "model": [model for _, model in pairs],
        "output": [f"{model} on {context}" for context, model in pairs],
        **more,
    }


def log(pairs=(("c1", "ant"), ("c9", "bee"))):
    return Log(pa.table(rows(pairs, outcome=[0.5] * len(pairs))), "log.csv")


def experiment(models=("ant", "bee", "ant", "bee")):
    pairs = list(zip(CONTEXTS, models, strict=False))
    return Experiment(pa.table(rows(pairs, outcome=[1.0] * len(pairs))), "experiment.csv")


def replay(models=("ant", "bee"), contexts=CONTEXTS):
    pairs = [(context, model) for context in contexts for model in models]
    return Replay(pa.table(rows(pairs, draw=[0] * len(pairs))), "replay.csv")


def refused(*arguments, **options):
    with pytest.raises(DataError) as caught:
        Study.from_tables(*arguments, **options)
    return caught.value.problems


def test_the_replayed_models_are_compared_in_order_of_name():
    study = Study.from_tables(log(), experiment(), replay(("bee", "ant")))
    assert study.models == ("ant", "bee")
    assert study.uncompared_models == ()
    assert study.has_text
    assert study.findings == ()


def test_rows_of_models_that_are_not_compared_stay_in_log_and_experiment():
    study = Study.from_tables(
        log([("c1", "wasp")]),
        experiment(("ant", "bee", "cat", "ant")),
        replay(("ant", "bee", "cat")),
        models=["bee", "ant"],
    )
    assert study.models == ("ant", "bee")
    assert study.uncompared_models == ("cat", "wasp")
    assert len(study.log) == 1
    assert len(study.experiment) == 4
    assert study.replay.unique_values("model") == {"ant", "bee"}
    assert [finding.check for finding in study.findings].count("models") == 2


def test_an_experiment_model_without_replay_is_refused_with_the_models_that_have_one():
    (problem,) = refused(log(), experiment(("ant", "bee", "wasp", "ant")), replay())
    assert problem.where == "experiment.csv row 3"
    assert '"wasp"' in problem.what
    assert "replay.csv covers ant, bee" in problem.what
    assert "--models ant,bee" in problem.fix


def test_a_misspelled_experiment_model_is_refused_with_the_similar_name():
    (problem,) = refused(log(), experiment(("ant", "bee", "aunt", "ant")), replay())
    assert '"aunt"' in problem.what
    assert '"ant"' in problem.fix


def test_an_unknown_model_to_compare_is_a_usage_error_with_the_similar_name():
    with pytest.raises(UsageError, match=r'--models: "aunt" .* did you mean "ant"'):
        Study.from_tables(log(), experiment(), replay(), models=["aunt", "bee"])


def test_one_model_cannot_be_compared():
    (problem,) = refused(log(), experiment(), replay(), models=["ant"])
    assert "two models" in problem.what


def test_contexts_without_full_replay_are_refused_or_dropped_on_request():
    partial = replay(contexts=CONTEXTS[:3])
    (problem,) = refused(log(), experiment(), partial)
    assert problem.where == "experiment.csv row 4"
    assert "ant, bee" in problem.what
    assert "--drop-incomplete" in problem.fix
    study = Study.from_tables(log(), experiment(), partial, incomplete="drop")
    assert study.experiment.arrow["context_id"].to_pylist() == CONTEXTS[:3]
    (finding,) = [finding for finding in study.findings if finding.check == "incomplete replay"]
    assert finding.verdict == "warn"
    assert "1 of 4 rows" in finding.message


def test_rows_have_their_original_numbers_after_others_were_dropped():
    study = Study.from_tables(log(), experiment(), replay(contexts=CONTEXTS[1:]), incomplete="drop")
    assert study.experiment.locate(0) == "experiment.csv row 2"


def test_an_experiment_without_any_complete_context_is_refused():
    (problem,) = refused(log(), experiment(), replay(contexts=["other"]), incomplete="drop")
    assert "0 usable rows" in problem.what


def test_an_unknown_treatment_of_incomplete_contexts_is_a_usage_error():
    with pytest.raises(UsageError, match="incomplete"):
        Study.from_tables(log(), experiment(), replay(), incomplete="ignore")


def test_models_with_fewer_than_two_experiment_rows_are_inconclusive():
    study = Study.from_tables(log(), experiment(("ant", "bee", "ant")), replay(("ant", "bee", "cat")))
    (finding,) = [finding for finding in study.findings if finding.verdict == "cannot tell"]
    assert "bee, cat" in finding.message
    assert "ant" not in finding.message.replace("bee, cat", "")


def test_an_id_with_two_texts_is_refused_across_tables():
    other = pa.table(rows([("c1", "ant")], outcome=[1.0])).set_column(1, "context", [["another text"]])
    (problem,) = refused(Log(other, "log.csv"), experiment(), replay())
    assert problem.where == "experiment.csv row 1"
    assert '"c1"' in problem.what
    assert "log.csv row 1" in problem.what


def test_features_must_be_in_all_three_tables():
    table = log().arrow.append_column("feature_a", [[0.0, 1.0]])
    problems = refused(Log(table, "log.csv"), experiment(), replay())
    assert [problem.where for problem in problems] == ["experiment.csv", "replay.csv"]
    assert all("feature_a is missing" in problem.what for problem in problems)


def with_feature(table):
    return type(table)(table.arrow.append_column("feature_a", [[0.5] * len(table)]), table.source)


def test_text_that_one_table_lacks_is_unused_with_a_finding():
    without_text = with_feature(log()).drop_text()
    study = Study.from_tables(without_text, with_feature(experiment()), with_feature(replay()))
    assert not study.has_text
    assert study.feature_names == ("feature_a",)
    assert "context" not in study.experiment.arrow.column_names
    assert [finding.check for finding in study.findings] == ["text"]


def test_a_study_with_neither_text_nor_features_is_refused():
    problems = refused(log().drop_text(), experiment().drop_text(), replay().drop_text())
    places = [(problem.where, name) for problem in problems for name in ("context", "output") if name in problem.what]
    assert places[:2] == [("log.csv", "context"), ("log.csv", "output")]
    assert len(places) == 6


def test_problems_of_different_kinds_are_in_one_error():
    problems = refused(log(), experiment(("ant", "bee", "wasp", "ant")), replay(contexts=CONTEXTS[:3]))
    assert len(problems) == 2
    assert '"wasp"' in problems[0].what
    assert "--drop-incomplete" in problems[1].fix
