"""A5: the contexts of log, extra replay and target against the experiment's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.diagnose.context_shift import (
    ContextDifference,
    SameContexts,
    UndescribedContexts,
    check_context_shift,
    overlap_finding,
    require_overlap,
    sample_contexts,
)
from deconfound.errors import AssumptionError, DataError, EvidenceError
from deconfound.features.context_features import ContextTable
from deconfound.value.transport import transport_weights
from tests.support.checking import WORDS, by_check, each, make_study, study_arrays
from tests.support.transport import transport

OTHER = ("invoice", "router", "kettle", "passport", "violin")


def check(study, target=None):
    weights = None if target is None else transport_weights(study_arrays(study), study, target, 0)
    return check_context_shift(study, target, weights, 0)


def findings(study, target=None):
    return by_check(check(study, target))


def text(rng, words=WORDS):
    """A few words, and one that occurs nowhere else."""
    own = "".join(rng.choice(list("bcdfghjk"), 8))
    return " ".join([*rng.choice(words, int(rng.integers(3, 12))), own])


def text_study(seed=0, rows=90, log_words=WORDS, extra=()):
    """A study whose contexts are words of one list, unless log or extra contexts get another."""
    rng = np.random.default_rng([seed, 1])
    texts = {f"case {i}": text(rng) for i in range(rows)}
    texts |= {f"log {i}": text(rng, log_words) for i in range(2 * rows)}
    rename = each(lambda _, row: row.update(context=texts[row["context_id"]]))

    def replay(rows):
        rename(rows)
        for at, words in enumerate(extra):
            context = text(rng, words)
            rows += [dict(row, context_id=f"more {at}", context=context) for row in rows[:3]]

    return make_study(seed, rows, log=rename, experiment=rename, replay=replay)


def columns_study(shift=0.0, output_only=False, rows=80, extra=60):
    """A study without text: feature_a describes the output and, unless ``output_only``, feature_x the context."""
    rng = np.random.default_rng(3)
    sizes = {"e": rows, "l": 2 * rows, "r": extra}
    x = {f"{kind}{i}": rng.standard_normal() + shift * (kind != "e") for kind, n in sizes.items() for i in range(n)}

    def table(ids, models, **more):
        columns = {"context_id": ids, "model": models, "feature_a": [x[i] + rng.standard_normal() for i in ids]}
        return pa.table(columns | ({} if output_only else {"feature_x": [x[i] for i in ids]}) | more)

    names = [[i for i in x if i.startswith(kind)] for kind in "elr"]
    replayed = [i for i in names[0] + names[2] for _ in range(2)]
    replay = table(replayed, ["ant", "bee"] * (rows + extra), draw=np.zeros(len(replayed), dtype=np.int64))
    rated = [table(ids, rng.choice(["ant", "bee"], len(ids)), outcome=rng.random(len(ids))) for ids in names[:2]]
    return Study.from_tables(Log(rated[1], "log"), Experiment(rated[0], "experiment"), Replay(replay, "replay"))


# --- which contexts are compared ---


def compared_keys(experiment, other, clusters=(None, None), seed=0):
    tables = [
        ContextTable(np.array(key), None if cluster is None else np.array(cluster), pa.table({}))
        for key, cluster in zip((experiment, other), clusters, strict=True)
    ]
    rows = sample_contexts(*tables, seed)
    return [sorted(table.key[index].tolist()) for table, index in zip(tables, rows, strict=True)]


def test_every_context_counts_once():
    assert compared_keys([1, 1, 2, 3], [4, 5, 5]) == [[1, 2, 3], [4, 5]]


def test_a_part_of_a_list_is_compared_with_the_rest_of_it():
    assert compared_keys([1, 2, 2], [1, 2, 3, 4]) == [[1, 2], [3, 4]]
    assert compared_keys([1, 2, 3], [3, 3]) == [[1, 2], [3]]


def test_the_same_contexts_leave_nothing_to_compare():
    assert compared_keys([1, 2, 2], [2, 1]) == [[], []]


def test_of_a_cluster_one_row_is_taken():
    for seed in range(5):
        experiment, other = compared_keys([1, 2, 3, 4], [5, 6, 7], ([0, 0, 0, 1], [0, 0, 1]), seed)
        assert 4 in experiment
        assert len(experiment) == len(other) == 2


def test_popular_contexts_are_left_out_equally_on_both_sides():
    """Both sources draw alike from 300 popular and many rare contexts; the log is ten times as long.

    Of the remaining contexts, popular ones must be as frequent on both sides: over 200 studies the mean difference of
    the shares has standard error 0.004. With every row of both they would differ by 0.1.
    """
    differences = []
    for seed in range(200):
        rng = np.random.default_rng([8, seed])
        keys = [
            np.where(rng.random(n) < 0.4, rng.integers(300, size=n), rng.integers(300, 10**6, n)) for n in (100, 1000)
        ]
        experiment, other = compared_keys(*keys, seed=seed)
        differences.append(np.mean(np.array(experiment) < 300) - np.mean(np.array(other) < 300))
    assert abs(np.mean(differences)) < 0.016


# --- findings ---


def test_contexts_of_one_population_pass():
    (finding,) = findings(text_study()).values()
    assert (finding.check, finding.verdict, finding.assumption) == ("contexts of the log", "pass", "A5")


def test_other_contexts_in_the_log_warn_and_never_fail():
    finding = findings(text_study(log_words=OTHER))["contexts of the log"]
    assert finding.verdict == "warn"
    assert isinstance(finding.details, ContextDifference)
    assert finding.statistic == finding.details.auc > 0.9
    assert finding.adjusted_p_value < 0.001


def test_extra_replayed_contexts_are_compared():
    assert findings(text_study(extra=[WORDS] * 90))["contexts of the replay"].verdict == "pass"
    assert findings(text_study(extra=[OTHER] * 90))["contexts of the replay"].verdict == "warn"


def test_a_target_like_the_experiment_costs_little_and_another_much():
    rng = np.random.default_rng(5)
    alike = findings(text_study(), pa.table({"context": [text(rng) for _ in range(150)]}))
    assert alike["contexts of the target"].verdict == "pass"
    assert alike["overlap with the target"].verdict == "pass"
    assert alike["overlap with the target"].statistic > 0.6
    unlike = findings(text_study(), pa.table({"context": [f"{text(rng, OTHER)} please " * 9 for _ in range(150)]}))
    assert unlike["contexts of the target"].verdict == "pass"  # a target is given because it differs
    assert unlike["overlap with the target"].verdict == "fail"


def test_the_experiment_itself_is_a_target_at_no_cost():
    study = text_study()
    checks = findings(study, study.experiment.arrow.select(["context_id"]))
    assert checks["contexts of the target"].details == SameContexts("target")
    assert checks["overlap with the target"].statistic == pytest.approx(1.0, abs=0.05)


# --- studies without text ---


def test_columns_of_contexts_show_a_shift():
    assert {finding.verdict for finding in findings(columns_study()).values()} == {"pass"}
    assert {check: finding.verdict for check, finding in findings(columns_study(shift=1.5)).items()} == {
        "contexts of the log": "warn",
        "contexts of the replay": "warn",
    }


def test_columns_of_outputs_alone_compare_replayed_contexts_only():
    target = pa.table({"context_id": ["a", "b"], "feature_a": [0.0, 1.0]})
    checks = findings(columns_study(shift=2.5, output_only=True), target)
    assert {check: finding.verdict for check, finding in checks.items()} == {
        "contexts of the log": "cannot tell",
        "contexts of the replay": "warn",
        "contexts of the target": "cannot tell",
    }
    assert checks["contexts of the log"].details == UndescribedContexts("log")


def test_a_target_of_columns_is_covered_or_not():
    rng = np.random.default_rng(7)

    def target(center):
        values = center + 0.7 * rng.standard_normal(200)
        return pa.table({"context_id": [f"t{i}" for i in range(200)], "feature_x": values})

    assert findings(columns_study(), target(0.4))["overlap with the target"].verdict in ("pass", "warn")
    assert findings(columns_study(), target(9.0))["overlap with the target"].verdict == "fail"


# --- bad input ---


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (pa.table({"context": pa.array([], pa.string())}), "no rows"),
        (pa.table({"topic": ["a"]}), "no column context or context_id"),
        (pa.table({"context_id": ["unheard of"]}), "unheard of"),
    ],
)
def test_an_unreadable_target_is_refused_with_its_problem(target, problem):
    with pytest.raises(DataError, match=problem):
        findings(text_study(), target)


@pytest.mark.parametrize("values", [[np.nan, 1.0], [None, 1.0]])
def test_a_target_with_missing_features_names_the_column(values):
    target = pa.table({"context_id": ["a", "b"], "feature_x": pa.array(values, pa.float64())})
    with pytest.raises(DataError, match="feature_x"):
        findings(columns_study(), target)
    with pytest.raises(DataError, match="feature_x"):
        findings(columns_study(), pa.table({"context_id": ["a"]}))


def test_few_contexts_cannot_be_compared():
    assert findings(text_study(rows=5))["contexts of the log"].verdict == "cannot tell"
    one = findings(text_study(), pa.table({"context": ["one context"] * 30}))
    assert one["contexts of the target"].verdict == "cannot tell"


def test_contexts_without_words_end_in_a_verdict():
    blank = each(lambda _, row: row.update(context="?" * (int(row["context_id"].split()[1]) + 1)))
    study = make_study(log=blank, experiment=blank, replay=blank)
    assert findings(study)["contexts of the log"].verdict in ("pass", "warn")


# --- overlap ---


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        (transport(np.ones(100)), "pass"),
        (transport(np.ones(9)), "fail"),
        (transport(np.r_[np.full(12, 25.0), np.zeros(288)]), "fail"),
        (transport(np.r_[np.full(40, 2.5), np.zeros(60)]), "warn"),
        (transport(np.ones(100), density_ratio=0.1), "fail"),
        (transport(np.ones(100), outside=0.2), "warn"),
        (transport(np.ones(100), outside=0.6), "fail"),
        (transport(np.ones(100), imbalance=0.05), "pass"),
        (transport(np.ones(100), imbalance=0.2), "warn"),
        (transport(np.ones(100), imbalance=0.6), "fail"),
    ],
)
def test_every_lack_of_overlap_is_detected_and_a_failure_is_refused(weights, verdict):
    assert overlap_finding(weights).verdict == verdict
    if verdict == "fail":
        with pytest.raises(AssumptionError):
            require_overlap(weights)
    else:
        require_overlap(weights)


def test_a_target_that_nothing_describes_is_refused():
    """Values of the experiment's contexts would otherwise pass for the target's."""
    with pytest.raises(EvidenceError, match="target"):
        require_overlap(None)
