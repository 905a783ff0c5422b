from __future__ import annotations

import pyarrow as pa
import pytest

from deconfound.data import Experiment, Log, Replay, RowNumbers, Study, text_ids
from deconfound.errors import DataError, UsageError
from deconfound.formatting import did_you_mean, join_names, quote

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
    return str(caught.value)


def test_the_candidates_are_the_replayed_models_in_order_of_name():
    study = Study.from_tables(log(), experiment(), replay(("bee", "ant")))
    assert study.models == ("ant", "bee")
    assert study.uncompared_models == ()
    assert study.has_text
    assert study.findings == ()


def test_rows_of_models_that_are_not_compared_stay_and_teach_the_reward():
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
    message = refused(log(), experiment(("ant", "bee", "wasp", "ant")), replay())
    assert message == (
        'experiment.csv row 3: model "wasp" has no replay; replay.csv covers ant, bee. '
        "Replay it, or leave it out with --models ant,bee."
    )


def test_an_unknown_candidate_is_bad_usage_with_the_nearest_name():
    with pytest.raises(UsageError, match='"aunt" has no replay; did you mean "ant"'):
        Study.from_tables(log(), experiment(), replay(), models=["aunt", "bee"])


def test_one_candidate_is_no_comparison():
    assert "takes two models" in refused(log(), experiment(), replay(), models=["ant"])


def test_contexts_without_full_replay_are_refused_or_dropped_as_asked():
    partial = replay(contexts=CONTEXTS[:3])
    message = refused(log(), experiment(), partial)
    assert "experiment.csv row 4" in message
    assert "no replay of ant, bee" in message
    study = Study.from_tables(log(), experiment(), partial, incomplete="drop")
    assert study.experiment.arrow["context_id"].to_pylist() == CONTEXTS[:3]
    assert ("incomplete replay", "warn") in [(finding.check, finding.verdict) for finding in study.findings]


def test_dropping_leaves_the_rows_their_old_numbers():
    study = Study.from_tables(log(), experiment(), replay(contexts=CONTEXTS[1:]), incomplete="drop")
    assert study.experiment.locate(0) == "experiment.csv row 2"


def test_an_experiment_that_is_dropped_entirely_is_refused():
    assert "0 usable rows" in refused(log(), experiment(), replay(contexts=["other"]), incomplete="drop")


def test_an_unknown_way_to_treat_incomplete_contexts_is_bad_usage():
    with pytest.raises(UsageError, match="incomplete"):
        Study.from_tables(log(), experiment(), replay(), incomplete="ignore")


def test_a_model_with_one_experiment_row_cannot_be_told():
    study = Study.from_tables(log(), experiment(("ant", "bee", "ant")), replay(("ant", "bee", "cat")))
    (finding,) = [finding for finding in study.findings if finding.verdict == "cannot tell"]
    assert "bee, cat" in finding.message
    assert "ant" not in finding.message.replace("bee, cat", "")


def test_an_id_that_means_two_texts_is_refused_across_tables():
    other = pa.table(rows([("c1", "ant")], outcome=[1.0])).set_column(1, "context", [["another text"]])
    message = refused(Log(other, "log.csv"), experiment(), replay())
    assert 'experiment.csv row 1: context_id "c1" stands for another text than in log.csv row 1' in message


def test_features_must_stand_in_all_three_tables():
    table = log().table.append_column("feature_a", [[0.0, 1.0]])
    message = refused(Log(table, "log.csv"), experiment(), replay())
    assert "experiment.csv: feature_a is missing here" in message
    assert "replay.csv: feature_a is missing here" in message


def with_feature(source):
    kind = type(source)
    return kind(source.arrow.append_column("feature_a", [[0.5] * len(source)]), source.source)


def test_text_that_one_table_lacks_is_left_unused_and_said_so():
    bare = with_feature(log()).drop_text()
    study = Study.from_tables(bare, with_feature(experiment()), with_feature(replay()))
    assert not study.has_text
    assert study.feature_names == ("feature_a",)
    assert "context" not in study.experiment.arrow.column_names
    assert [finding.check for finding in study.findings] == ["text"]


def test_a_study_with_neither_text_nor_features_is_refused():
    message = refused(log().drop_text(), experiment().drop_text(), replay().drop_text())
    assert "log.csv: the output has no text here" in message


def test_problems_of_different_kinds_come_together():
    message = refused(log(), experiment(("ant", "bee", "wasp", "ant")), replay(contexts=CONTEXTS[:3]), models=None)
    assert 'model "wasp" has no replay' in message
    assert "--drop-incomplete" in message


def test_a_table_of_the_wrong_type_or_with_foreign_columns_is_refused():
    table = pa.table({"context_id": ["a"], "model": ["ant"], "outcome": [1], "mood": ["good"]})
    with pytest.raises(DataError) as caught:
        Log(table, "log")
    assert [problem.fix for problem in caught.value.problems] == ["Cast it to double.", "Drop it."]


def test_a_table_without_its_required_columns_is_refused():
    with pytest.raises(DataError, match='no column "draw"'):
        Replay(pa.table({"context_id": ["a"], "model": ["ant"]}), "replay")


def test_the_id_of_a_text_never_changes():
    """The digits are those of ``printf TEXT | b2sum -l 64``."""
    texts = pa.chunked_array([["a", "größe"], ["a"]])
    assert text_ids(texts).to_pylist() == ["40f89e395b66422f", "f4f8e155c9329ae9", "40f89e395b66422f"]


def test_a_place_is_counted_from_one_and_survives_two_filters():
    import numpy as np

    places = RowNumbers().keep(np.array([False, True, True])).keep(np.array([False, True]))
    assert places.number(0) == 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb", '"a\\nb"'),
        ("\x1b[31m", '"\\x1b[31m"'),
        ("x" * 61, '"' + "x" * 60 + '…"'),
        ('say "no"', '"say \\"no\\""'),
    ],
)
def test_a_strangers_value_is_harmless_in_a_message(value, shown):
    assert quote(value) == shown


def test_direction_marks_are_shown_and_not_obeyed():
    assert "\u202e" not in quote("abc\u202etxt")


def test_long_lists_are_cut_and_counted():
    assert join_names(f"m{i}" for i in range(10)) == "m0, m1, m2, m3, m4, m5, m6, m7 and 2 more"


def test_the_closest_name_ignores_case():
    assert did_you_mean("modle", ["Output", "Model"]) == '; did you mean "Model"?'
    assert did_you_mean("zzz", ["Output", "Model"]) == ""
