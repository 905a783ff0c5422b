"""--assignment: propensities, units and drawn models from a manifest; contradictions are errors with their row."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deconfound.assignment import AssignmentManifest, AssignmentRule
from deconfound.errors import DataError, UsageError
from deconfound.loading import load, load_contexts
from tests.support.assigned import SHARES, assigned_study, assigned_tables, manifest


def column(study, name):
    return study.experiment.arrow[name].to_pylist()


def with_columns(tables, **columns):
    experiment = tables["experiment"]
    for name, given in columns.items():
        values = given if isinstance(given, list) else [given] * experiment.num_rows
        experiment = experiment.append_column(name, pa.array(values))
    return {**tables, "experiment": experiment}


def test_without_propensities_the_manifests_apply():
    study = assigned_study(manifest())
    assert column(study, "propensity") == [SHARES[model] for model in column(study, "model")]
    assert study.experiment.propensities().keys() == SHARES.keys()
    assert column(study, "assigned_model") == column(study, "model")
    assert "propensities are those of the assignment (ant 0.5, bee 0.3, cat 0.2)" in study.findings[-1].message


def test_propensities_that_agree_are_replaced_by_the_exact_ones():
    declared = AssignmentManifest(AssignmentRule.from_models("e", ["ant", "bee", "cat"]))
    tables = with_columns(assigned_tables(declared), propensity=0.33, propensity_ant=0.33, propensity_bee=0.33)
    study = load(**with_columns(tables, propensity_cat=0.34), assignment=declared)
    assert set(column(study, "propensity")) == {1 / 3}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"propensity": 0.4}, r"row \d+: propensity 0.4 contradicts the assignment, which says 0.[532]"),
        ({"propensity_ant": 0.4, "propensity_bee": 0.4, "propensity_cat": 0.2}, "propensity_ant 0.4 contradicts"),
        (
            {"propensity_ant": 0.25, "propensity_bee": 0.3, "propensity_cat": 0.2, "propensity_x": 0.25},
            "propensity_ant 0.25 contradicts",
        ),
    ],
)
def test_propensities_that_differ_are_an_error_with_their_row(columns, message):
    with pytest.raises(DataError, match=message):
        load(**with_columns(assigned_tables(manifest()), **columns), assignment=manifest())


def test_the_row_at_fault_is_named():
    tables = assigned_tables(manifest())
    values = [SHARES[model] for model in tables["experiment"]["model"].to_pylist()]
    values[41] = 0.9
    with pytest.raises(DataError, match=r"row 42: propensity 0.9 contradicts"):
        load(**with_columns(tables, propensity=values), assignment=manifest())


def test_a_model_that_is_never_drawn_is_an_error_with_its_row():
    tables = assigned_tables(manifest(), change=lambda rows: rows[6].update(model="dog"))
    with pytest.raises(DataError, match=r'row 7: model "dog" is none of those that the assignment draws'):
        load(**tables, assignment=manifest(), models=["ant", "bee", "cat"])


def test_a_manifest_on_disk_is_named_in_messages(tmp_path):
    path = tmp_path / "prices.manifest.json"
    path.write_text(manifest().to_json(), encoding="utf-8")
    study = load(**assigned_tables(manifest()), assignment=path)
    assert "prices.manifest.json" in study.findings[-1].message


def test_the_text_is_hashed_where_it_is_the_unit():
    study = assigned_study(manifest(unit="context"))
    assert column(study, "assigned_model") == column(study, "model")
    without_ids = {
        role: t.drop_columns(["context_id"]) for role, t in assigned_tables(manifest(unit="context")).items()
    }
    read = load(**without_ids, assignment=manifest(unit="context"))
    assert column(read, "assigned_model") == column(read, "model")


def test_units_outside_the_share_have_no_model():
    declared = manifest(share=0.5)
    study = assigned_study(declared)
    expected = [drawn.model if (drawn := declared.assign(name)) else "" for name in column(study, "context_id")]
    assert column(study, "assigned_model") == expected
    assert "" in expected


@pytest.mark.parametrize("name", ["user", "tenant"])
def test_the_unit_is_the_cluster_also_under_a_name_of_its_own(name):
    tables = assigned_tables(manifest(unit="user"))
    renamed = tables["experiment"].rename_columns(
        [name if old == "user" else old for old in tables["experiment"].column_names]
    )
    study = load(**{**tables, "experiment": renamed}, assignment=manifest(unit=name))
    assert column(study, "cluster") == column(study, "unit") == renamed[name].to_pylist()
    assert column(study, "assigned_model") == column(study, "model")


def test_clusters_that_contain_the_units_stay():
    tables = assigned_tables(manifest(unit="user"))
    towns = [f"town {int(user[1:]) % 5}" for user in tables["experiment"]["user"].to_pylist()]
    study = load(**with_columns(tables, cluster=towns), assignment=manifest(unit="user"))
    assert column(study, "cluster") == towns
    sessions = [f"s{at}" for at in range(len(towns))]
    study = load(**with_columns(tables, cluster=sessions), assignment=manifest(unit="user"))
    assert column(study, "cluster") == column(study, "unit")
    assert any("clusters are the units" in finding.message for finding in study.findings)


def test_of_two_possible_clusters_the_unit_is_chosen():
    tables = with_columns(assigned_tables(manifest(unit="user")), session_id="s")
    with pytest.raises(DataError, match="several columns could be the cluster"):
        load(**tables)
    assert column(load(**tables, assignment=manifest(unit="user")), "cluster") == column(
        load(**assigned_tables(manifest(unit="user")), assignment=manifest(unit="user")), "cluster"
    )


def test_a_unit_under_another_name_is_asked_for_and_mapped():
    tables = assigned_tables(manifest(unit="user"))
    with pytest.raises(DataError, match=r'no column "usr", for which models were drawn.*did you mean "user"'):
        load(**tables, assignment=manifest(unit="usr"))
    study = load(**tables, assignment=manifest(unit="usr"), columns={"unit": "user"})
    assert column(study, "assigned_model") == column(study, "model")


def test_units_can_be_named_without_a_manifest():
    tables = assigned_tables(manifest(unit="user"))
    study = load(**tables, columns={"unit": "user"})
    assert column(study, "unit") == tables["experiment"]["user"].to_pylist()
    assert "assigned_model" not in study.experiment.arrow.column_names
    contexts = load_contexts(pa.table({"context": ["a"], "user": ["u"]}), columns={"unit": "user"})
    assert "unit" not in contexts.column_names
    with pytest.raises(DataError, match="no column for the context"):
        load_contexts(pa.table({"user": ["u"]}), columns={"unit": "user"})


def test_renamed_models_are_drawn_under_their_old_names():
    """The order of the names decides the draw, so a new name must not change it."""
    declared = AssignmentManifest(AssignmentRule.from_models("e", {"x/ant": 0.5, "bee": 0.3, "cat": 0.2}))
    plain = AssignmentManifest(AssignmentRule.from_models("e", SHARES))
    assert [declared.rule.draw(i).model for i in range(50)] != [plain.rule.draw(i).model for i in range(50)]
    tables = assigned_tables(declared)
    study = load(**tables, assignment=declared, rename_models={"x/ant": "ant"})
    assert column(study, "assigned_model") == column(study, "model")
    with pytest.raises(UsageError, match="one name"):
        load(**tables, assignment=declared, rename_models={"x/ant": "bee"})


def test_a_gateways_manifest_gives_propensities_only():
    declared = AssignmentManifest(AssignmentRule.from_models("e", SHARES), "call", "litellm", "chat")
    study = load(**assigned_tables(manifest()), assignment=declared)
    assert {"unit", "assigned_model"}.isdisjoint(study.experiment.arrow.column_names)
    assert set(column(study, "propensity")) <= set(SHARES.values())


def test_declaring_the_assignment_moves_no_row():
    """The order of rows decides folds and samples: it must be the one of the same table with its propensities."""
    tables = assigned_tables(manifest(unit="user"))
    own = [SHARES[model] for model in tables["experiment"]["model"].to_pylist()]
    plain = load(**with_columns(tables, propensity=own)).in_content_order()
    declared = load(**tables, assignment=manifest(unit="user")).in_content_order()
    assert column(plain, "context_id") == column(declared, "context_id")
