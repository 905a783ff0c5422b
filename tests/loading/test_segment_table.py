"""Columns of segments: from the experiment by row, from the replay or a table by context."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from deconfound.data import Study
from deconfound.errors import DataError, UsageError
from deconfound.loading import load, load_replay, with_segments
from tests.support.studies import CONTEXTS, Good, tables

LANGUAGES = dict(zip(CONTEXTS, ("de", "en", "de", "fr", "en", "de"), strict=True))


def with_column(good: Good, *roles: str, name: str = "language") -> Good:
    """A study with the language of each context in some tables."""
    for role in roles:
        for row in getattr(good, role):
            row[name] = LANGUAGES[str(row["context"])]
    return good


def languages(study: Study, name: str = "language") -> list[str | None]:
    """The segment of each row, which must be that of its context where it has one."""
    arrow = study.experiment.arrow
    return arrow[f"segment_{name}"].to_pylist()


def expected(study: Study) -> list[str]:
    return [LANGUAGES[text] for text in study.experiment.arrow["context"].to_pylist()]


def segment_table(by: str = "context", **columns: list[object]) -> pa.Table:
    return pa.table({by: CONTEXTS, "language": [LANGUAGES[text] for text in CONTEXTS], **columns})


@pytest.mark.parametrize("roles", [("experiment",), ("replay",), ("experiment", "replay")])
def test_segments_are_columns_of_the_experiment_or_of_the_replay(roles):
    study = load(**tables(with_column(Good(), *roles)), segments="language")
    assert languages(study) == expected(study)
    assert study.experiment.segment_names == ("language",)
    assert "segment_language" not in study.replay.arrow.column_names


def test_a_row_of_the_experiment_has_its_own_segment_whatever_its_context():
    good = Good()
    for place, row in enumerate(good.experiment):
        row["context"], row["tier"] = CONTEXTS[0], f"tier {place % 2}"
    assert (
        sorted(map(str, languages(load(**tables(good), segments=["tier"]), "tier"))) == ["tier 0"] * 3 + ["tier 1"] * 3
    )


def test_segments_change_no_order_of_rows():
    plain = load(**tables(with_column(Good(), "experiment"))).in_content_order()
    divided = load(**tables(with_column(Good(), "experiment")), segments="language").in_content_order()
    assert divided.experiment.arrow.drop_columns(["segment_language"]).equals(plain.experiment.arrow)


def test_missing_and_blank_values_are_null_and_na_is_a_country():
    good = with_column(Good(), "experiment")
    for row, value in zip(good.experiment, (None, " ", "NA", " de ", "de", "none"), strict=True):
        row["language"] = value
    found = languages(load(**tables(good), segments="language"))
    assert sorted(map(str, found)) == ["NA", "None", "None", "de", "de", "none"]


@pytest.mark.parametrize("values", [[None] * 6, [True, False] * 3, [1.0, 2.0, None] * 2, np.arange(6)])
def test_columns_of_any_simple_type_divide_rows(values):
    found = tables(Good())
    experiment = found["experiment"].append_column("kind", pa.array(values))
    names = languages(load(**{**found, "experiment": experiment}, segments="kind"), "kind")
    assert {name for name in names if name is not None} <= {"true", "false", *map(str, range(7))}


def test_a_feature_that_divides_rows_remains_a_feature():
    good = Good()
    for row in good.all_rows():
        row["feature_x"] = float(len(str(row["context"])))
    study = load(**tables(good), segments="feature_x")
    assert study.feature_names == ("feature_x",)


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ("langage", 'no column "langage", which is to divide rows into segments.*did you mean "language"'),
        ("model", '"model" is the model and cannot divide rows'),
        ("outcome", '"outcome" is the outcome and cannot divide rows'),
        ("label_ok", '"label_ok" is a label of the output and cannot divide rows'),
    ],
)
def test_columns_that_cannot_divide_rows_are_refused(segments, message):
    good = with_column(with_column(Good(), "experiment"), "experiment", name="label_ok")
    with pytest.raises(DataError, match=message):
        load(**tables(good), segments=segments)


@pytest.mark.parametrize(
    ("segments", "message"),
    [(["a", "a"], "more than once"), ([" "], "empty name"), ([str(n) for n in range(30)], "at most 20")],
)
def test_names_that_cannot_be_are_refused(segments, message):
    with pytest.raises(UsageError, match=message):
        load(**tables(Good()), segments=segments)


def test_a_context_with_two_values_in_the_replay_is_refused():
    good = with_column(Good(), "replay")
    good.replay[1]["language"] = "fr"
    with pytest.raises(
        DataError, match=r'row 2: the context has "language" "fr", but "de" in .* row 1 \(1 such context\)'
    ):
        load(**tables(good), segments="language")


@pytest.mark.parametrize("by", ["context", "prompt"])
def test_a_table_gives_segments_by_text(by):
    study = with_segments(load(**tables(Good())), segment_table(by))
    assert languages(study) == expected(study)


def test_a_table_gives_segments_by_id():
    good = Good()
    for row in good.all_rows():
        row["context_id"] = f"c{CONTEXTS.index(str(row['context']))}"
    ids = pa.array([f"c{place}" for place in range(len(CONTEXTS))])
    study = with_segments(load(**tables(good)), segment_table().set_column(0, "id", ids))
    assert languages(study) == expected(study)


def test_all_other_columns_of_a_table_are_segments_or_those_that_are_named():
    table = segment_table(task=["a"] * 6)
    assert with_segments(load(**tables(Good())), table).experiment.segment_names == ("language", "task")
    assert with_segments(load(**tables(Good())), table, "task").experiment.segment_names == ("task",)


def test_rows_without_an_outcome_have_segments_too_and_unknown_contexts_none():
    good = Good()
    good.experiment[0]["outcome"] = None
    study = with_segments(load(**tables(good)), segment_table().slice(0, 4))
    assert study.unrated_experiment is not None
    assert study.unrated_experiment.arrow["segment_language"].to_pylist() == ["de"]
    assert languages(study).count(None) == 2
    assert len(study.randomized) == 6


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (segment_table().append_column("x", pa.array([[1]] * 6)), "list or an object"),
        (pa.table({"context": CONTEXTS}), "no column beside that of the contexts"),
        (pa.table({"language": ["de"]}), "no column for the context"),
        (pa.table({"context": ["other"], "language": ["de"]}), "no context of the experiment"),
        (
            pa.concat_tables([segment_table(), pa.table({"context": CONTEXTS[:1], "language": ["fr"]})]),
            "row 7: .*row 1",
        ),
    ],
)
def test_tables_that_give_no_segments_are_refused(table, message):
    with pytest.raises(DataError, match=message):
        with_segments(load(**tables(Good())), table)


def test_a_named_column_that_the_table_lacks_is_refused():
    with pytest.raises(DataError, match='no column "task"'):
        with_segments(load(**tables(Good())), segment_table(), ["task"])


def test_texts_are_of_no_use_to_a_study_without_text():
    good = Good()
    for row in good.all_rows():
        row["context_id"], row["feature_x"] = row.pop("context"), 1.0
        del row["output"]
    with pytest.raises(DataError, match="by their text, which the study does not have"):
        with_segments(load(**tables(good)), segment_table())


def test_new_replays_are_read_whether_they_have_the_column_or_not():
    good = with_column(Good(), "replay")
    study = load(**tables(good), segments="language")
    for replay in (tables(good)["replay"], tables(Good())["replay"]):
        again = load_replay(replay, study=replace(study.reading))
        assert "segment_language" not in again.arrow.column_names
