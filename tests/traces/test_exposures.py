"""Assignment tables turn calls into an experiment: who was exposed to what, since when, with which probability."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deconfound.chat.conversation import Message
from deconfound.errors import DataError, UsageError
from deconfound.traces.call import Call
from deconfound.traces.call_filter import Condition
from deconfound.traces.call_table import CallSummary
from deconfound.traces.experiment_rows import OTHER_MODEL, SWITCHED, ExperimentRule, find_experiment
from deconfound.traces.exposures import read_exposures

GROWTHBOOK = {
    "user_id": ["u1", "u2", "u3", "u4", "u4"],
    "timestamp": ["2026-10-02T08:00:00Z"] * 5,
    "experiment_id": ["model-test"] * 5,
    "variation_id": [0, 1, 1, 0, 1],
    "variation_weights": ["[0.75, 0.25]"] * 5,
}
VARIANTS = {"0": "ant", "1": "bee"}
START = 1_790_928_000.0  # 2026-10-02T08:00:00Z


def call(user, model, time=START + 60, **fields):
    full = Call("o", f"c{user}", model, (Message("user", "q"),), ("a",), user=user, time=time, **fields)
    return CallSummary.from_call("r", full)


def experiment(calls, table=GROWTHBOOK, variants=VARIANTS):
    return find_experiment(calls, ExperimentRule(exposures=read_exposures(pa.table(table)), variants=variants))


def test_exposed_users_are_randomized_with_the_recorded_weights():
    rows = experiment([call("u1", "ant"), call("u2", "bee"), call("u9", "ant")])
    assert rows.randomized.tolist() == [True, True, False]
    assert rows.propensity[:2].tolist() == [0.75, 0.25]


def test_calls_before_the_exposure_are_ordinary_use():
    rows = experiment([call("u1", "ant", START - 1), call("u1", "ant", START), call("u2", "bee")])
    assert rows.randomized.tolist() == [False, True, True]


def test_units_with_two_variants_are_left_out_and_counted():
    rows = experiment([call("u4", "ant"), call("u4", "bee"), call("u1", "ant"), call("u2", "bee")])
    assert rows.randomized.tolist() == [False, False, True, True]
    assert rows.reasons == {SWITCHED: 2}
    assert rows.excluded.tolist() == [True, True, False, False]
    assert rows.switched_units == 1


def test_units_with_two_variants_are_ordinary_use_before_their_first_exposure():
    rows = experiment([call("u4", "ant", START - 1), call("u1", "ant"), call("u2", "bee")])
    assert not rows.excluded.any()
    assert not rows.randomized[0]


def test_a_call_that_another_model_answered_is_neither_experiment_nor_log():
    rows = experiment([call("u1", "bee"), *[call("u1", "ant")] * 3, call("u2", "bee")])
    assert rows.randomized.tolist() == [False, True, True, True, True]
    assert rows.excluded.tolist() == [True, False, False, False, False]
    assert rows.reasons == {OTHER_MODEL: 1}


def test_exposures_that_many_calls_contradict_are_refused_with_the_likely_cause():
    """Calls that happen to have the right model would be a selection."""
    with pytest.raises(UsageError, match=r"40 % of 5 exposed calls.*most often .bee. instead of .ant. \(2 calls\)"):
        experiment([*[call("u1", "bee")] * 2, call("u1", "ant"), *[call("u2", "bee")] * 2])


def test_fallbacks_are_no_sign_of_another_experiment():
    rows = experiment([*[call("u1", "bee", flags=frozenset(["fallback"]))] * 3, call("u1", "ant"), call("u2", "bee")])
    assert rows.reasons == {"fallback": 3}


def test_a_variant_whose_model_no_call_has_is_named_with_the_models():
    calls = [call("u1", "cedar-2026-01-01"), call("u2", "bee")]
    with pytest.raises(UsageError) as caught:
        experiment(calls, variants={"0": "cedar", "1": "bee"})
    assert '--variant 0=cedar: "cedar" is no model of these calls' in str(caught.value)
    assert '("cedar" differs from "cedar-2026-01-01" only in a date at the end)' in str(caught.value)
    assert "The models are bee, cedar-2026-01-01." in str(caught.value)


def test_variants_that_are_no_models_are_asked_for():
    with pytest.raises(UsageError, match=r"which model does the variant .0. stand for"):
        experiment([call("u1", "ant"), call("u2", "bee")], variants={})


def test_users_in_another_case_are_named_as_the_cause():
    table = {**GROWTHBOOK, "user_id": ["U1", "U2", "U3", "U4", "U5"]}
    with pytest.raises(DataError, match="units in the table differ from users only in case"):
        experiment([call("u1", "ant"), call("u2", "bee")], table=table)


def test_of_several_experiments_one_must_be_named():
    table = pa.table({"user_id": ["a", "b"], "variant": ["x", "y"], "experiment_id": ["one", "two"]})
    with pytest.raises(UsageError, match="--exposure-name: one, two"):
        read_exposures(table)
    assert [each.unit for each in read_exposures(table, "two").exposures] == ["b"]


@pytest.mark.parametrize(
    ("columns", "unit", "variant"),
    [
        ({"unit_id": ["u"], "experiment_group": ["test"], "first_exposure_utc": ["2026-10-02 08:00:00"]}, "u", "test"),
        ({"context_key": ["u"], "variation_value": ["test"], "flag_key": ["f"]}, "u", "test"),
        (
            {"subject": ["u"], "variation": ["test"], "timestamp": ["2026-10-02T08:00:00Z"], "experiment": ["f"]},
            "u",
            "test",
        ),
        ({"distinct_id": ["u"], "variant": ["test"], "timestamp": ["2026-10-02T08:00:00Z"]}, "u", "test"),
        ({"subject": ["u"], "action": ["test"], "actionProbability": [0.4]}, "u", "test"),
        ({"User ID": ["u"], "Variant": ["test"]}, "u", "test"),
    ],
)
def test_tables_of_the_platforms_are_understood(columns, unit, variant):
    (exposure,) = read_exposures(pa.table(columns)).exposures
    assert (exposure.unit, exposure.variant) == (unit, variant)
    assert exposure.propensity == columns.get("actionProbability", [None])[0]


def test_records_of_a_bandit_are_one_draw_per_decision(tmp_path):
    """The latest decision before a call counts; two at the same time are ambiguous, and the unit is left out."""
    table = tmp_path / "bandit.csv"
    one, two = int(START), int(START) + 1000
    rows = [f"u1,ant,{one},0.8", f"u1,bee,{two},0.3", f"u2,bee,{one},0.2", f"u3,ant,{one},0.5", f"u3,bee,{one},0.5"]
    table.write_text("\n".join(["subject,action,timestamp,propensity", *rows]), encoding="utf-8")
    calls = [call("u1", "ant", one + 500.0), call("u1", "bee", two + 500.0), call("u2", "bee"), call("u3", "ant")]
    found = find_experiment(calls, ExperimentRule(exposures=read_exposures(table)))
    assert found.randomized.tolist() == [True, True, True, False]
    assert found.propensity[:3].tolist() == [0.8, 0.3, 0.2]
    assert found.switched_units == 1


def test_a_table_without_units_or_variants_is_refused():
    with pytest.raises(DataError, match="variation_id"):
        read_exposures(pa.table({"user_id": ["a"], "x": ["y"]}))


def test_router_groups_with_declared_propensities():
    calls = [call("a", "ant", group="chat"), call("b", "bee", group="chat"), call("c", "ant", group="ant")]
    rows = find_experiment(calls, ExperimentRule(propensity={"ant": 0.8, "bee": 0.2}))
    assert rows.randomized.tolist() == [True, True, False]
    assert rows.propensity[:2].tolist() == [0.8, 0.2]
    with pytest.raises(UsageError, match="there is none"):
        find_experiment(calls[2:], ExperimentRule(propensity={"ant": 0.8, "bee": 0.2}))


def test_recorded_propensities_make_an_experiment_by_themselves():
    calls = [call("a", "ant", attributes={"tag.propensity": "0.3"}), call("b", "ant")]
    rows = find_experiment(calls, ExperimentRule(attribute="tag.propensity"))
    assert rows.randomized.tolist() == [True, False]
    assert rows.propensity[0] == 0.3
    assert not find_experiment(calls, ExperimentRule()).randomized.any()
    with pytest.raises(UsageError, match="No call has an attribute"):
        find_experiment(calls, ExperimentRule(attribute="tag.propenity"))


@pytest.mark.parametrize("text", ["1.3", "0", "often", "nan"])
def test_a_recorded_propensity_that_cannot_be_read_is_refused(text):
    calls = [call("a", "ant", attributes={"p": "30%"}), call("b", "ant", attributes={"p": text})]
    with pytest.raises(DataError, match="is not a probability"):
        find_experiment(calls, ExperimentRule(attribute="p"))


def test_every_marked_call_must_record_the_propensity():
    calls = [call("a", "ant", attributes={"p": "0.3", "exp": "1"}), call("b", "ant", attributes={"exp": "1"})]
    with pytest.raises(DataError, match="p has no value"):
        find_experiment(calls, ExperimentRule(where=(Condition("exp", "1"),), attribute="p"))


def test_a_conversation_with_the_number_of_a_user_was_not_exposed():
    """A call is of its user, whatever the number of its conversation is; without a user, of its conversation."""
    table = {"user_id": ["1", "2"], "variant": ["ant", "bee"]}
    calls = [
        call("1", "ant", conversation="9"),
        call("9", "ant", conversation="1"),
        call("", "bee", conversation="2"),
    ]
    assert experiment(calls, table, {}).randomized.tolist() == [True, False, True]


def test_a_table_of_sessions_is_matched_by_session():
    table = {"session_id": ["1", "2"], "variant": ["ant", "bee"]}
    calls = [call("1", "ant", conversation="9"), call("9", "ant", conversation="1"), call("8", "bee", conversation="2")]
    assert experiment(calls, table, {}).randomized.tolist() == [False, True, True]


def test_units_of_another_name_are_what_their_ids_are():
    table = {"unit_id": ["s1", "s2"], "variant": ["ant", "bee"]}
    calls = [call("u1", "ant", conversation="s1"), call("u2", "ant", conversation="s9")]
    assert experiment(calls, table, {"bee": "ant"}).randomized.tolist() == [True, False]
    both = [call("1", "ant", conversation="2"), call("2", "ant", conversation="1")]
    with pytest.raises(DataError, match="user_id or session_id"):
        experiment(both, {"unit_id": ["1", "2"], "variant": ["ant", "bee"]}, {"bee": "ant"})
