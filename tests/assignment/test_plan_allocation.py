"""The allocation of a plan, from the file that `deconfound plan` writes."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from deconfound.assignment.plan_allocation import allocation_from_plan
from deconfound.cli import main
from deconfound.errors import DataError
from tests.support.checking import each, make_study


def noisy_cat(at, row):
    """Outcomes of one model vary far more than those of the others, so that it needs more rows."""
    row["outcome"] = float(at % 2) if row["model"] == "cat" else row["outcome"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> list[str]:
    folder, study = tmp_path_factory.mktemp("plan"), make_study(seed=4, experiment=each(noisy_cat))
    for table in (study.log, study.experiment, study.replay):
        pq.write_table(table.arrow, folder / f"{table.role}.parquet")
    return [f"--{role}={folder / role}.parquet" for role in ("log", "experiment", "replay")]


def test_the_allocation_is_the_one_that_the_plan_recommends(tables, tmp_path):
    path = tmp_path / "plan.json"
    goal = ["--width", "0.1", "--allocation", "optimal"]
    assert main(["plan", "-q", *tables, *goal, "-o", str(path)]) == 0
    (answer,) = json.loads(path.read_text(encoding="utf-8"))["answers"]
    allocation = allocation_from_plan(path)
    assert allocation.propensity == dict(zip(("ant", "bee", "cat"), answer["propensity"], strict=True))
    assert allocation.propensity["cat"] > 0.4
    assert allocation.rows == answer["expected"]["total_rows"]


def document(**changes):
    answer = {"propensity": [0.7, 0.3], "expected": {"total_rows": 100}}
    return {"models": ["a", "b"], "inputs": {"source": "pilot"}, "answers": [answer]} | changes


OTHER = {"propensity": [0.5, 0.5], "expected": {"total_rows": 50}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "no plan"),
        ("{}", "no plan"),
        ("no", "no valid JSON"),
        (document(answers=[]), "no goal"),
        (document(answers=[*document()["answers"], OTHER]), "several goals"),
        (document(inputs={"source": "assumed"}), "--models"),
        (document(answers=[{"propensity": [1.0], "expected": {"total_rows": 1}}]), "no plan"),
        (document(answers=[{"propensity": ["x", "y"], "expected": {"total_rows": 1}}]), "no plan"),
        (document(answers=3), "no plan"),
    ],
)
def test_what_recommends_no_allocation_is_refused(content, message, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        allocation_from_plan(path)
