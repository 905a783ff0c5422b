"""What an answer says beside the values: what it is made of, what routing is worth, how far the log can be believed."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deconfound as dc
from deconfound.cli import main
from deconfound.crossfit import THOROUGH
from deconfound.demo import make_demo
from deconfound.demo.study import Demo, Sizes
from deconfound.features import Features
from deconfound.material import Material
from deconfound.reward import Auto
from deconfound.trust import SLIGHT, SOURCES, VIEWS

SMALL = Sizes(log_contexts=80, log_repeats=3, log_people=40, experiment_contexts=96, experiment_people=96, draws=1)


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_demo(5, sizes=SMALL)


@pytest.fixture(scope="module")
def study(demo: Demo) -> dc.Study:
    return dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay)


@pytest.fixture(scope="module")
def result(study: dc.Study) -> dc.Result:
    return dc.evaluate(study)


def half(demo: Demo) -> pa.Table:
    """Every other row of the experiment, so that half of the replayed contexts lie beyond it."""
    return demo.experiment.take(np.arange(0, demo.experiment.num_rows, 2))


def test_shares_sum_to_one_and_know_their_spread(result):
    trust = result.trust
    assert trust is not None
    assert trust.shares.shape == (len(SOURCES), len(VIEWS))
    assert trust.shares.sum() == pytest.approx(1.0)
    assert (trust.spread >= 0).all()
    assert trust.spread.max() > 0
    assert trust.log == pytest.approx(trust.shares[0].sum())


def test_shares_are_covariances_of_leads_with_the_whole(study, result):
    """Against a loop over sources and views, contexts centred one by one."""
    material = Material.of(study, Features())
    sources = material.sources(0.0)
    prepared = Auto.prepare(sources, [result.choice.estimator])
    cells, everything = material.cells, np.arange(len(sources.experiment))
    leads = []
    for fit in prepared.shares(everything):
        rows = cells.rows(0.0)
        seen = (rows.phi @ fit.phi_coef, rows.proxies @ fit.psi_coef)
        tables = [cells.average(np.asarray(each)) for each in seen]
        tables.append(np.tile(fit.by_model[: cells.models], (len(cells.contexts), 1)))
        leads.append([np.array([row - row.mean() for row in table]) for table in tables])
    whole = sum(part for source in leads for part in source)
    expected = [[(part * whole).sum() / (whole**2).sum() for part in source] for source in leads]
    np.testing.assert_allclose(result.trust.shares, expected, atol=1e-9)


def test_only_auto_is_made_of_shares(study):
    assert dc.evaluate(study, family="cvci").trust is None


def test_a_log_that_is_too_long_is_sampled_and_the_result_says_so(study, monkeypatch):
    for module in ("deconfound.evaluation", "deconfound.reward.auto"):
        monkeypatch.setattr(f"{module}.LARGEST", 100)
    told = {finding.check: finding.message for finding in dc.evaluate(study).findings}
    assert "a random 100 of the log's 2" in told["long log"]
    assert "long log" not in {finding.check for finding in dc.evaluate(study, family="cvci").findings}


def test_the_reason_names_the_bias_that_is_there(result):
    """The demo's log is confounded through the choice of the model."""
    assert result.trust.log_bias > SLIGHT
    assert "goes with the model" in result.trust.reason
    assert result.trust.reason in result.summary()


def test_point_estimates_lean_and_intervals_do_not(result, study):
    values = result.values
    assert values.centre is not None
    assert 0 <= values.moved <= 1
    assert (np.abs(values.estimate - values.centre) <= values.error * (1 + 1e-9)).all()
    low, high = values.interval().T
    np.testing.assert_allclose((low + high) / 2, values.centre, atol=1e-9)
    assert dc.evaluate(study, family="cvci").values.centre is None


def test_the_alarm_and_the_routing_stand_in_every_form(result):
    text, document = result.summary(), result.document()
    assert result.alarm.sentence in text
    assert result.routing.sentence in text
    assert document["alarm"]["verdict"] == result.alarm.verdict
    assert document["routing"]["verdict"] == result.routing.verdict
    assert set(document["best_set"]) == set(result.values.best_set())
    assert json.loads(json.dumps(document, allow_nan=False))["routing"] == document["routing"]


def test_every_check_is_among_the_findings(result):
    assert {"A1", "A2", "A3", "A4", "A5"} <= {finding.assumption for finding in result.findings}


def test_a_cost_moves_recommendations_and_not_values(study, result):
    dear = result.values.ranking()[0]
    priced = dc.evaluate(study, cost={dear: 0.9})
    np.testing.assert_array_equal(priced.values.estimate, result.values.estimate)
    assert dear not in {row.model for row in priced.recommendations}
    assert f"Net of cost {dear}" not in priced.summary()
    assert "Net of cost" in priced.summary()
    with pytest.raises(dc.UsageError, match="there is no model"):
        dc.evaluate(study, cost={"nobody": 0.1})


def test_contexts_beyond_the_experiment_sharpen_the_average(demo):
    """The same experiment with and without the replay of other contexts of the same kind."""
    experiment = half(demo)
    ours = pc.is_in(demo.replay["context_id"], value_set=experiment["context_id"].combine_chunks())
    narrow = dc.evaluate(dc.load(log=demo.log, experiment=experiment, replay=demo.replay.filter(ours)))
    wide = dc.evaluate(dc.load(log=demo.log, experiment=experiment, replay=demo.replay))
    assert "contexts of the replay" in {f.check for f in wide.findings if f.verdict == "pass"}
    assert "contexts of the replay" not in {f.check for f in narrow.findings}
    assert wide.values.error.mean() < narrow.values.error.mean()


def test_a_target_reweights_and_one_without_overlap_is_refused(demo, study, result):
    contexts = demo.experiment.select(["context_id", "context"])
    same = dc.evaluate(study, target=contexts)
    np.testing.assert_allclose(same.values.centre, result.values.centre, atol=0.05)
    length = pc.utf8_length(contexts["context"]).to_numpy()
    longer = contexts.take(np.argsort(-length)[: len(length) // 2])
    shifted = dc.evaluate(study, target=longer)
    assert np.abs(shifted.values.centre - result.values.centre).max() > 1e-3
    assert np.abs(shifted.experiment.estimate - result.experiment.estimate).max() > 1e-3
    strange = pa.table(
        {"context_id": [f"x{i}" for i in range(60)], "context": [f"qqq{i} zzz{i} {i}" for i in range(60)]}
    )
    assert "effective" in same.summary()
    with pytest.raises(dc.AssumptionError, match="target"):
        dc.evaluate(study, target=strange)


def test_thorough_refits_ten_times_as_often_and_says_so(study, result):
    told: list[tuple[str, float]] = []
    thorough = dc.evaluate(study, thorough=True, progress=lambda stage, done: told.append((stage, done)))
    assert len(thorough.policy.replicates) == THOROUGH == 10 * len(result.policy.replicates)
    assert sum(stage == "refitting" for stage, _ in told) == THOROUGH
    np.testing.assert_array_equal(thorough.values.estimate, result.values.estimate)


def test_costs_and_targets_from_the_command_line(demo, tmp_path, capsys):
    demo.write(tmp_path)
    files = [f"--{name}={tmp_path / name}.parquet" for name in ("log", "experiment", "replay")]
    dear = demo.models[0]
    assert main(["evaluate", *files, "-q", "--json", f"--cost={dear}=9", "--worth=10"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert dear not in document["recommended"]["best_guess"]
    for wrong, match in (
        ([f"--cost={dear}"], "MODEL=AMOUNT"),
        ([f"--cost={dear}=much"], "MODEL=AMOUNT"),
        ([f"--cost={dear}=1", "--worth=0"], "--worth"),
        (["--cost=nobody=1"], "there is no model"),
    ):
        assert main(["evaluate", *files, "-q", *wrong]) == 2
        assert match in capsys.readouterr().err
