"""Cross-fitting: what held-out rows may influence, and what bootstrap refits resample."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import deconfound as dc
from deconfound.crossfit import CrossFit, cross_fit
from deconfound.demo import Demo, Sizes, make_demo
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.progress import no_progress
from deconfound.reward import Auto, Cvci, ExpOnly, Family, ObsOnly
from deconfound.surface_share import SURFACE_SHARES, StudyTrainingData
from tests.support.auto import SOME_VARIANCES

SMALL = Sizes(log_contexts=60, log_repeats=3, log_people=30, experiment_contexts=48, experiment_people=48, draws=1)


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_demo(3, sizes=SMALL)


@pytest.fixture(scope="module")
def data(demo: Demo) -> StudyTrainingData:
    return training_data(demo, demo.experiment)


def training_data(demo: Demo, experiment: pa.Table) -> StudyTrainingData:
    study = dc.load(log=demo.log, experiment=experiment, replay=demo.replay)
    return StudyTrainingData(StudyArrays.from_study(study, FeatureSpec()))


def fit(data: StudyTrainingData, family: Family, surface_share: float | None = None) -> CrossFit[Family]:
    return cross_fit(data, family, 5, 0, surface_share, no_progress)


def test_steps_of_the_preparation_are_details_of_its_stage(data: StudyTrainingData) -> None:
    """So that streams other than a terminal get one line for it."""
    stages: list[str] = []
    cross_fit(data, Auto(), 5, 0, None, lambda stage, _: stages.append(stage), 2)
    preparing = [stage for stage in stages if stage.startswith("preparing auto")]
    assert preparing[:2] == ["preparing auto", "preparing auto: estimating variances, step 1 of usually 20 to 70"]
    assert len(preparing) > 3


def test_held_out_outcomes_do_not_influence_what_is_evaluated_on_them(demo: Demo) -> None:
    """Changing one person's outcomes must not move the predictions for their contexts, tuning included."""
    person = np.array([f"person {row // 2}" for row in range(demo.experiment.num_rows)])
    experiment = demo.experiment.drop_columns(["cluster"]).append_column("cluster", pa.array(person))
    changed = experiment["outcome"].to_numpy().copy()
    contexts = set(demo.experiment["context_id"].to_numpy()[person == person[0]])
    assert len(contexts) > 1
    changed[person == person[0]] = 1.0 - changed[person == person[0]]
    column = experiment.column_names.index("outcome")
    predictions = []
    for table in (experiment, experiment.set_column(column, "outcome", pa.array(changed))):
        data = training_data(demo, table)
        fitted = fit(data, Cvci())
        codes = [data.study.replay.contexts.index(name) for name in contexts]
        own = np.isin(data.study.experiment.context, codes)
        predictions.append((fitted.q[own], fitted.prediction[own], fitted.q[~own]))
    np.testing.assert_allclose(predictions[0][0], predictions[1][0], atol=1e-12)
    np.testing.assert_allclose(predictions[0][1], predictions[1][1], atol=1e-12)
    assert not np.allclose(predictions[0][2], predictions[1][2])


def test_logged_outcomes_of_a_context_do_not_influence_its_reward_as_an_unseen_one(demo: Demo) -> None:
    """The log gets the experiment's contexts, too; then the logged outcomes of one of them change.

    Values may use them, since the log is given. Whether a reward generalizes to new contexts, they must not show.
    """
    names = [name for name in demo.log.column_names if name in demo.experiment.column_names]
    shared = demo.experiment.select(names)
    column, first = names.index("outcome"), shared["context_id"][0].as_py()
    own = np.array(shared["context_id"].to_pylist()) == first
    results = []
    for outcome in (shared["outcome"].to_numpy(), np.where(own, 1.0 - shared["outcome"].to_numpy(), shared["outcome"])):
        log = pa.concat_tables([demo.log.select(names), shared.set_column(column, "outcome", pa.array(outcome))])
        study = dc.load(log=log, experiment=demo.experiment, replay=demo.replay)
        data = StudyTrainingData(StudyArrays.from_study(study, FeatureSpec()))
        fitted = fit(data, Auto(SOME_VARIANCES))
        rows = data.study.experiment.context == data.study.replay.contexts.index(first)
        results.append((fitted.q_unseen[rows], fitted.q[rows]))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-12)
    assert np.abs(results[0][1] - results[1][1]).max() > 1e-3


def test_a_log_of_other_contexts_needs_no_further_fits(data: StudyTrainingData) -> None:
    fitted = fit(data, ExpOnly())
    assert fitted.q_unseen is fitted.q


def test_refits_draw_whole_clusters(demo: Demo) -> None:
    """Two people can be drawn in three ways: the first twice, the second twice, or both."""
    person = np.where(np.arange(demo.experiment.num_rows) % 2, "one", "other")
    experiment = demo.experiment.drop_columns(["cluster"]).append_column("cluster", pa.array(person))
    data = training_data(demo, experiment)
    fitted = fit(data, ExpOnly())
    replay = data.study.replay.rows(fitted.final.surface_share)
    rewards = {reward.mean_by_cell(replay).tobytes() for reward in fitted.bootstrap_fits}
    assert 1 < len(rewards) <= 4  # the order of two equal halves may round differently
    for rows in fitted.bootstrap_rows:
        _, count = np.unique(data.study.experiment.cluster[rows], return_counts=True)
        assert set(count % (len(person) // 2)) == {0}


def test_a_family_that_ignores_the_experiment_is_fitted_once_and_not_refitted(data: StudyTrainingData) -> None:
    fitted = fit(data, ObsOnly())
    assert fitted.bootstrap_fits == ()
    assert len(fitted.bootstrap_rows) == 20
    q = fitted.final.reward.mean_by_cell(data.study.replay.rows(fitted.final.surface_share))
    np.testing.assert_allclose(fitted.q_all_contexts, q, atol=1e-12)
    np.testing.assert_array_equal(fitted.q, q[data.study.experiment.context])


def test_the_surface_share_is_the_familys_own_or_the_given_or_the_chosen_one(data: StudyTrainingData) -> None:
    assert fit(data, Auto(), surface_share=0.5).final.surface_share == Auto.surface_share
    assert fit(data, ExpOnly(), surface_share=0.3).final.surface_share == 0.3
    assert fit(data, ExpOnly()).final.surface_share in SURFACE_SHARES


def test_what_a_family_resolves_is_estimated_once_from_all_rows(data: StudyTrainingData) -> None:
    chosen = fit(data, Auto()).final.tuned.estimator
    assert chosen == Auto().resolve(data.at(0.0))
    assert chosen != Auto()


def test_an_experiment_on_a_single_context_cannot_be_split(demo: Demo) -> None:
    contexts = np.array(demo.experiment["context_id"].to_pylist())
    one = demo.experiment.filter(pa.array(contexts == contexts[0]))
    table = pa.concat_tables([one, one, one])
    with pytest.raises(dc.EvidenceError, match="single context"):
        fit(training_data(demo, table), ExpOnly())
