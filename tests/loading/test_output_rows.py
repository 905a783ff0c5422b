"""Tables with outputs of any kind: rows in their order, columns as they were."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.loading import load_output_tables, load_replay


def test_columns_stay_as_they_are_and_texts_are_those_of_load():
    talk = [{"role": "user", "content": "Where is it?"}]
    table = pa.table({"messages": [json.dumps(talk)] * 2, "arm": ["a", "b"], "response": ["x", ""], "n": [1, 2]})
    (found,) = load_output_tables([table])
    assert found.columns.equals(table)
    assert (found.contexts, found.models, found.outputs) == (("Where is it?",) * 2, ("a", "b"), ("x", ""))
    assert found.context_ids == tuple(load_replay(table).arrow["context_id"].to_pylist())


def test_the_answer_in_the_messages_is_the_output():
    talk = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "In Graz."}]
    (found,) = load_output_tables([pa.table({"messages": [json.dumps(talk)] * 3, "model": ["a"] * 3})])
    assert found.contexts[0] == "Where?"
    assert found.outputs == ("In Graz.",) * 3
    assert found.columns.column_names == ["messages", "model"]


def test_a_table_with_ids_takes_its_texts_from_another():
    texts = pa.table({"context_id": ["1", "2"], "context": ["A.", "B."], "model": ["m", "m"], "output": ["x", "y"]})
    ids = pa.table({"context_id": ["2", "1"], "model": ["m", "n"], "output": ["z", "w"]})
    assert load_output_tables([ids, texts])[0].contexts == ("B.", "A.")
    with pytest.raises(dc.DataError, match="ids only"):
        load_output_tables([ids])


def test_rows_can_be_chosen_and_columns_named():
    table = pa.table({"q": ["A", "B"], "m": ["x", "y"], "text": ["1", "2"], "env": ["prod", "test"]})
    (found,) = load_output_tables([table], columns={"context": "q", "model": "m", "output": "text"}, where="env=prod")
    assert found.outputs == ("1",)
    assert found.columns.num_rows == 1


@pytest.mark.parametrize("values", [[0.5, None, 4.0], ["0.5", "", "4"], ["yes", "no", "yes"]])
def test_scores_of_persons_are_numbers_or_words(values):
    table = pa.table({"context": ["A"] * 3, "model": ["m"] * 3, "output": ["x"] * 3, "rating": values})
    (found,) = load_output_tables([table])
    assert found.human is not None
    assert np.isfinite(found.human).sum() >= 2


def test_unreadable_scores_matter_only_if_they_are_asked_for():
    table = pa.table({"context": ["A"], "model": ["m"], "output": ["x"], "rating": ["a lot"]})
    assert load_output_tables([table])[0].human is None
    with pytest.raises(dc.DataError, match="rating"):
        load_output_tables([table], human="rating")
    with pytest.raises(dc.DataError, match="--human names"):
        load_output_tables([table], human="stars")


def test_all_faults_of_all_tables_come_at_once():
    good = pa.table({"context": ["A"], "model": ["m"], "output": ["x"]})
    with pytest.raises(dc.DataError) as caught:
        load_output_tables([good.drop_columns(["output"]), good.drop_columns(["model"]), "absent.csv"])
    assert len(caught.value.problems) == 3
