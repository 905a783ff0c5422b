"""A2 and A4: outputs beside their replay, in studies that are sound and in studies that are not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.diagnose.hidden_path import compare_log, hidden_path
from deconfound.diagnose.outputs import beside_replay
from deconfound.diagnose.replay_validity import compare_experiment, nearest, outside, replay_validity, supports
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from tests.support.checking import MODELS, each, make_study


def material(study):
    return StudyArrays.from_study(study, FeatureSpec(source="text" if study.has_text else "columns"))


def found(study, seed=0):
    return {finding.check: finding for finding in replay_validity(material(study), seed, 0.95)}


def hidden(study, seed=0):
    (finding,) = hidden_path(material(study), study, seed, 0.95)
    return finding


def with_replayed_log(seed=0, **changes):
    """A study whose log shares contexts with the replay: outputs are drawn by the same law in both."""
    study = make_study(seed, **changes)
    texts = dict(zip(*(study.experiment.arrow[n].to_pylist() for n in ("context_id", "context")), strict=True))
    names = list(texts)
    table = study.log.arrow
    ids = [names[at % len(names)] for at in range(table.num_rows)]
    table = table.set_column(table.column_names.index("context_id"), "context_id", pa.array(ids))
    table = table.set_column(table.column_names.index("context"), "context", pa.array([texts[i] for i in ids]))
    return Study.from_tables(Log(table, "log"), study.experiment, study.replay)


# --- replay validity ---


def test_a_sound_replay_passes():
    findings = found(make_study())
    assert {finding.verdict for finding in findings.values()} == {"pass"}
    assert {finding.assumption for finding in findings.values()} == {"A2"}
    assert all(finding.number is not None and 0 <= finding.number < 0.2 for finding in findings.values())


def test_one_model_replayed_in_another_voice_fails_and_is_named():
    def greet(_, row):
        if row["model"] == "bee":
            row["output"] = f"Certainly! {row['output']}"

    finding = found(make_study(rows=150, replay=each(greet)))["replay validity"]
    assert finding.verdict == "fail"
    assert "bee (" in finding.message
    assert "ant (" not in finding.message
    assert finding.number > 0.5
    assert finding.remedy


def test_a_replay_that_is_cut_short_in_all_models_fails():
    cut = each(lambda _, row: row.update(output=" ".join(row["output"].split()[:3])))
    assert found(make_study(rows=150, replay=cut))["replay validity"].verdict == "fail"


def test_models_that_always_write_the_same_pass_with_nothing_to_tell():
    def fixed(_, row):
        row["output"] = f"{row['model']} on {row['context_id']}"

    finding = found(make_study(experiment=each(fixed), replay=each(fixed)))["replay validity"]
    assert (finding.verdict, finding.number) == ("pass", 0.0)


def test_every_experiment_row_stands_beside_its_own_cell():
    """Naive twin of the strata: a cell holds what the tables say about one context and one model."""
    study = make_study(rows=12)
    numbers = material(study)
    trial = numbers.experiment
    sample = beside_replay(numbers, trial.blocks, trial.context, trial.model, 0)
    expected = set()
    for row in study.experiment.arrow.to_pylist():
        expected.add((numbers.replay.contexts.index(row["context_id"]), MODELS.index(row["model"])))
    seen = {(int(code) // 3, int(code) % 3) for code in sample.stratum}
    assert seen == expected
    assert sample.group.sum() == len(sample.group) / 2 == 12
    np.testing.assert_array_equal(sample.part, sample.stratum % 3)


def test_rows_of_models_that_are_not_compared_are_left_out():
    study = make_study(rows=60)
    fewer = Study.from_tables(study.log, study.experiment, study.replay, models=("ant", "bee"))
    telling = compare_experiment(material(fewer), 0)
    counts = study.experiment.arrow["model"].to_pylist()
    assert telling.strata == counts.count("ant") + counts.count("bee")


@pytest.mark.parametrize("empty", [("experiment", "replay"), ("replay",), ("experiment",)])
def test_empty_outputs_end_in_a_verdict(empty):
    changes = {name: each(lambda _, row: row.update(output=" ")) for name in empty}
    finding = found(make_study(**changes))["replay validity"]
    assert finding.verdict == ("pass" if len(empty) == 2 else "fail")


def test_a_handful_of_rows_tells_nothing():
    findings = found(make_study(rows=4))
    assert findings["replay validity"].verdict == "cannot tell"
    assert findings["replay support"].verdict == "cannot tell"
    assert findings["replay validity"].number is None


def test_a_study_of_columns_alone_is_compared_by_them():
    def study(shift):
        rng = np.random.default_rng(0)
        context = np.repeat(np.arange(60), 2)
        middle = rng.standard_normal(60)
        model = rng.integers(2, size=60)
        replayed = middle[context] + np.tile([0.0, 1.0], 60) + 0.3 * rng.standard_normal(120)
        own = middle + model + 0.3 * rng.standard_normal(60) + shift

        def table(at, codes, values, **more):
            ids, names = [f"c{i}" for i in at], [MODELS[code] for code in codes]
            return pa.table({"context_id": ids, "model": names, "feature_a": values, **more})

        judged = table(np.arange(60), model, own, outcome=rng.random(60))
        replay = table(context, np.tile([0, 1], 60), replayed, draw=np.zeros(120, dtype=np.int64))
        return Study.from_tables(Log(judged, "log"), Experiment(judged, "experiment"), Replay(replay, "replay"))

    assert found(study(0.0))["replay validity"].verdict == "pass"
    assert found(study(1.0))["replay validity"].verdict == "fail"


# --- support ---


def test_garbage_in_one_replay_is_outside_the_support():
    def garble(at, row):
        if row["model"] == "cat" and at % 9 == 2:
            row["output"] = " ".join(f"zx{at}q{i}" for i in range(40))

    finding = found(make_study(rows=180, replay=each(garble)))["replay support"]
    assert finding.verdict == "warn"
    assert "cat (" in finding.message
    assert 0.25 < finding.number < 0.45


def test_a_replay_that_is_garbage_throughout_fails():
    def garble(at, row):
        row["output"] = " ".join(f"zx{at}q{i}" for i in range(40))

    finding = found(make_study(rows=120, replay=each(garble)))["replay support"]
    assert (finding.verdict, finding.number) == ("fail", 1.0)


def test_the_share_outside_has_the_law_of_order_statistics():
    """Closed form: beyond the largest of n alike distances lie k of N with the chance C(n + N - 1 - k, ...) of urns.

    For n = 1 and N = 1 it is one half; for n = 2, N = 1 a third lies beyond both.
    """
    assert outside(np.array([1.0]), np.array([2.0])) == (1.0, pytest.approx(1 / 2))
    assert outside(np.array([1.0, 2.0]), np.array([3.0])) == (1.0, pytest.approx(1 / 3))
    assert outside(np.array([1.0, 2.0]), np.array([1.5])) == (0.0, 1.0)


def test_a_share_beyond_as_large_as_this_is_as_rare_as_its_p_value_says():
    """Independent distances: p-values below 0.1 in at most 10 % of 2,000 draws, plus 4 standard errors."""
    rng = np.random.default_rng(0)
    p_values = [outside(rng.random(150), rng.random(100))[1] for _ in range(2000)]
    assert np.mean(np.array(p_values) <= 0.1) < 0.1 + 4 * np.sqrt(0.09 / 2000)
    assert stats.kstest(p_values, "uniform", alternative="greater").pvalue > 0.001


def test_the_nearest_row_is_of_another_context():
    rng = np.random.default_rng(1)
    rows, reference = rng.standard_normal((7, 3)), rng.standard_normal((9, 3))
    context, where = rng.integers(4, size=7), rng.integers(4, size=9)
    expected = []
    for row, own in zip(rows, context, strict=True):
        expected.append(min(np.linalg.norm(row - r) for r, at in zip(reference, where, strict=True) if at != own))
    np.testing.assert_allclose(nearest(rows, context, reference, where), expected)


def test_models_with_few_experiment_rows_are_said_not_to_be_looked_at():
    def rare(at, row):
        row["model"] = "cat" if at < 3 else MODELS[at % 2]

    study = make_study(experiment=each(rare))
    assert [support.model for support in supports(material(study), 0)] == [0, 1]
    assert "Not looked at" in found(study)["replay support"].message


# --- draws ---


def test_contexts_without_every_model_and_cells_without_every_draw_are_counted():
    def less(rows):
        rows += [dict(row, draw=1) for row in rows]
        del rows[-5:]
        extra = dict(rows[0], context_id="further", context="a further context", draw=0)
        rows.append(extra)

    def number(_, row):
        row["draw"] = 0

    def change(rows):
        each(number)(rows)
        less(rows)

    finding = found(make_study(replay=change))["replay draws"]
    assert finding.verdict == "warn"
    assert "1 of 91 replayed contexts lack" in finding.message
    assert "6 of 271 cells have fewer than the 2 draws" in finding.message


# --- hidden path ---


def test_a_log_on_other_contexts_cannot_tell():
    finding = hidden(make_study())
    assert (finding.verdict, finding.assumption, finding.number) == ("cannot tell", "A4", None)
    assert "Replay some of the log's contexts" in finding.remedy


def test_a_log_that_is_written_like_its_replay_passes():
    finding = hidden(with_replayed_log())
    assert finding.verdict == "pass"
    assert finding.number < 0.3


def test_a_system_that_remembers_its_user_fails():
    def remember(at, row):
        row["output"] = f"hello again {['anna', 'ben', 'cleo'][at % 3]} {row['output']}"

    finding = hidden(with_replayed_log(log=each(remember)))
    assert finding.verdict == "fail"
    assert "memory" in finding.message
    assert finding.number > 0.5


def test_log_rows_of_models_and_contexts_without_replay_are_left_out():
    study = with_replayed_log()
    table = study.log.arrow
    odd = pa.table({**{n: table[n].slice(0, 30) for n in table.column_names}, "model": pa.array(["dog"] * 30)})
    more = Study.from_tables(
        Log(pa.concat_tables([table, odd.select(table.column_names)]), "log"), study.experiment, study.replay
    )
    assert compare_log(material(more), more, 0).strata == compare_log(material(study), study, 0).strata


# --- rates: small versions of benchmarks/checks.py ---


@pytest.mark.slow
def test_false_alarms_of_the_comparisons():
    """More than 21 alarms in 200 clean studies have probability 0.0006 at 5 %; benchmarks/checks.py has the power."""
    checks = [
        (lambda s: compare_experiment(material(s), 0).p_value),
        (lambda s: compare_log(material(s), s, 0).p_value),
    ]
    for check in checks:
        clean = [check(with_replayed_log(seed)) for seed in range(200)]
        assert sum(p < 0.05 for p in clean) <= 21
