"""The demo study satisfies the assumptions exactly, and its true values are right."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import permutations

import numpy as np
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from deconfound.demo import Demo, Mechanism, Sizes, make_demo
from deconfound.demo.demo_study import MODELS
from deconfound.demo.mechanism import CHOICE_LOGITS
from deconfound.demo.message_text import render_message
from deconfound.demo.messages import parse_message, sample_message
from deconfound.demo.phrases import CLAIMS, CONTACTS, COURTESIES, DEADLINES, HISTORIES, TRADES
from deconfound.demo.quality import parse_case, score_note
from deconfound.demo.text_sampling import TextSampler

SMALL = Sizes(log_contexts=30, log_people=10, experiment_contexts=12, experiment_people=6)
LARGE = Sizes(log_contexts=8, log_people=4, experiment_contexts=9_000, experiment_people=9_000, draws=0)
# Standard errors between a model's mean and its expectation; for six models a false alarm has probability 0.0004.
DEVIATIONS = 4.0
TRUTH_ERROR = 0.0025  # error of the stored true values, see ``TRUTH_SEED``


@pytest.fixture(scope="module")
def demo() -> Demo:
    return make_demo(0)


@pytest.fixture(scope="module")
def large() -> Demo:
    return make_demo(1, sizes=LARGE)


def codes(table):
    return np.array([MODELS.index(name) for name in table["model"].to_pylist()])


def outcomes(table):
    return table["outcome"].to_numpy()


def mean_and_error(values, model):
    groups = [values[model == code] for code in range(len(MODELS))]
    return np.array([g.mean() for g in groups]), np.array([g.std() / np.sqrt(len(g)) for g in groups])


def without_routing(confounding):
    """A log in which the choice of model does not depend on the message."""
    logits = tuple(replace(logit, load=0.0) for logit in CHOICE_LOGITS)
    return Mechanism(confounding=confounding, choice_logits=logits)


def test_the_same_seed_gives_the_same_tables_and_another_seed_different_ones():
    first, second, other = make_demo(5, sizes=SMALL), make_demo(5, sizes=SMALL), make_demo(6, sizes=SMALL)
    for name in ("log", "experiment", "replay"):
        assert getattr(first, name).equals(getattr(second, name))
        assert not getattr(first, name).equals(getattr(other, name))


def test_the_tables_do_not_depend_on_hash_randomization():
    code = (
        "import hashlib; from deconfound.demo import Sizes, make_demo;"
        "d = make_demo(2, sizes=Sizes(log_contexts=30, log_people=10, experiment_contexts=12, experiment_people=6));"
        "print(hashlib.sha256(repr([t.to_pylist() for t in (d.log, d.experiment, d.replay)]).encode()).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, check=True
        ).stdout
        for salt in ("1", "2")
    }
    assert len(runs) == 1


def test_the_size_of_the_log_does_not_change_experiment_and_replay():
    small, wider = make_demo(5, sizes=SMALL), make_demo(5, sizes=replace(SMALL, log_contexts=40))
    assert small.experiment.equals(wider.experiment)
    assert small.replay.equals(wider.replay)


def test_the_tables_have_the_documented_columns_and_sizes(demo):
    texts = ["context_id", "context", "model", "output"]
    labels = ["label_complete", "label_faithful", "label_brief", "label_warm"]
    assert demo.log.column_names == [*texts, "outcome", "cluster", *labels]
    assert demo.experiment.column_names == [*texts, "outcome", "propensity", "cluster"]
    assert demo.replay.column_names == [*texts, "draw"]
    assert (len(demo.log), len(demo.experiment), len(demo.replay)) == (3_600, 360, 360 * 6 * 2)
    assert np.bincount(codes(demo.log)).min() >= 100
    for column in [outcomes(demo.log), outcomes(demo.experiment), *(demo.log[name].to_numpy() for name in labels)]:
        assert column.min() >= 0
        assert column.max() <= 1


def test_every_experiment_context_is_replayed_by_every_model_in_every_draw(demo):
    cells = set(zip(*(demo.replay[name].to_pylist() for name in ("context_id", "model", "draw")), strict=True))
    ids = demo.experiment["context_id"].to_pylist()
    assert cells == {(context, model, draw) for context in ids for model in demo.models for draw in (0, 1)}
    text_of = dict(zip(ids, demo.experiment["context"].to_pylist(), strict=True))
    replayed = zip(demo.replay["context_id"].to_pylist(), demo.replay["context"].to_pylist(), strict=True)
    assert all(text_of[context_id] == context for context_id, context in replayed)


def test_two_draws_of_a_model_on_one_context_usually_differ(demo):
    first, second = (demo.replay.filter(pc.equal(demo.replay["draw"], draw)) for draw in (0, 1))
    differ = np.array(first["output"].to_pylist()) != np.array(second["output"].to_pylist())
    assert all(differ[codes(first) == code].mean() > 0.5 for code in range(len(MODELS)))


def test_all_messages_differ_and_most_have_40_to_120_words(demo):
    contexts = set(demo.log["context"].to_pylist()) | set(demo.experiment["context"].to_pylist())
    assert len(contexts) == 1_200 + 360
    words = np.array([len(context.split()) for context in contexts])
    assert np.mean((words >= 40) & (words <= 120)) > 0.9


def test_parsing_a_rendered_message_recovers_every_fact():
    sampler = TextSampler(np.random.default_rng(0))
    for _ in range(500):
        message = sample_message(sampler)
        assert parse_message(render_message(message, sampler)) == message


def test_no_phrase_contains_another_phrase():
    phrases = {*HISTORIES, *DEADLINES, *CONTACTS, *CLAIMS, *COURTESIES}
    for trade in TRADES:
        phrases.update(trade.products + trade.problems + trade.tried + trade.impacts + trade.asks)
    contained = [(one, other) for one, other in permutations(phrases, 2) if one.lower() in other.lower()]
    assert contained == []


def test_messages_never_contain_the_phrases_that_lower_a_notes_score(demo):
    contexts = "\n".join(demo.log["context"].to_pylist())
    assert [phrase for phrase in CLAIMS + COURTESIES if phrase in contexts] == []


def test_a_note_is_scored_by_its_content():
    case = parse_case(
        "Hello,\nMy laptop refuses the latest update. I bought it on 3 May (order KX-48213). I want a full refund.\n"
        "Thanks.\nAda Reid"
    )
    complete = score_note(case, "Laptop (order KX-48213, 3 May) refuses the latest update. Wants a full refund.")
    assert (complete.coverage, complete.invented, complete.padding, complete.repetition) == (1, 0, 0, 0)
    assert complete.bloat > 0  # 14 words on a message of 25
    wrong = score_note(case, "Laptop (order KX-48214, 4 May) is broken; the customer paid by bank transfer.")
    assert wrong.invented == 3
    assert wrong.coverage == pytest.approx(1 / 5.5)  # of product, reference, date, problem and request only the product
    polite = score_note(case, f"{COURTESIES[0]}! A laptop, yes, a laptop. {COURTESIES[1]}!")
    assert polite.padding == 0.5
    assert polite.repetition == pytest.approx(1 / 5)


def test_the_reward_depends_on_the_two_texts_alone(demo):
    order = np.random.default_rng(0).permutation(len(demo.experiment))
    texts = demo.experiment.select(["context", "output"]).take(order)
    np.testing.assert_array_equal(demo.true_reward(texts), demo.true_reward(demo.experiment)[order])


def test_the_reward_is_the_outcome_averaged_over_people_and_noise(demo):
    """Quadrature against 200,000 simulated ratings of single notes; a mean has a standard error of at most 0.0006."""
    rows = demo.replay.slice(0, 12)
    rng = np.random.default_rng(0)
    for row, expected in zip(rows.to_pylist(), demo.true_reward(rows), strict=True):
        scores = np.tile(score_note(parse_case(row["context"]), row["output"]), (200_000, 1))
        ratings = demo.mechanism.outcome(scores, rng.standard_normal((200_000, 2)), rng.standard_normal(200_000))
        assert ratings.mean() == pytest.approx(expected, abs=0.0025)


def test_the_experiment_assigns_models_uniformly_and_independently_of_the_message(large):
    """A1. A chi-square with 5 degrees of freedom exceeds 25 with probability 0.00014."""
    model = codes(large.experiment)
    expected = len(model) / len(MODELS)
    assert ((np.bincount(model) - expected) ** 2 / expected).sum() < 25
    assert set(large.experiment["propensity"].to_pylist()) == {1 / 6}
    load = np.array([parse_case(context).load for context in large.experiment["context"].to_pylist()])
    mean, error = mean_and_error(load, model)
    assert (np.abs(mean - load.mean()) < DEVIATIONS * error).all()


def test_ratings_are_unconfounded_in_the_experiment_and_confounded_in_the_log(demo, large):
    """A1: outcome minus true reward has mean zero for every model in the experiment, but not in the log."""
    mean, error = mean_and_error(
        outcomes(large.experiment) - large.true_reward(large.experiment), codes(large.experiment)
    )
    assert (np.abs(mean) < DEVIATIONS * error).all()
    logged, _ = mean_and_error(outcomes(demo.log) - demo.true_reward(demo.log), codes(demo.log))
    assert logged[MODELS.index("maple")] > 0.1
    assert logged[MODELS.index("cedar")] < -0.1


def test_a_log_without_selection_is_unbiased(demo):
    """A3 and A5: the choice of model is the only difference between log and experiment."""
    unconfounded = make_demo(
        3, mechanism=without_routing(0.0), sizes=replace(SMALL, log_contexts=3_000, log_people=9_000)
    )
    mean, error = mean_and_error(outcomes(unconfounded.log), codes(unconfounded.log))
    assert (np.abs(mean - demo.value) < DEVIATIONS * error + TRUTH_ERROR).all()


def test_notes_do_not_depend_on_the_person(demo):
    """A2 and A4: if only people choose the model, its notes in the log are as good as in the population."""
    confounded = make_demo(
        3, mechanism=without_routing(1.0), sizes=replace(SMALL, log_contexts=3_000, log_people=9_000)
    )
    mean, error = mean_and_error(confounded.true_reward(confounded.log), codes(confounded.log))
    assert (np.abs(mean - demo.value) < DEVIATIONS * error + TRUTH_ERROR).all()


def test_labels_do_not_depend_on_the_person(demo):
    """Within models, the correlation of independent columns over 3,600 rows has a standard deviation of 0.017."""
    model = codes(demo.log)
    residual = outcomes(demo.log) - demo.true_reward(demo.log)
    residual -= mean_and_error(residual, model)[0][model]
    for name in ("label_complete", "label_faithful", "label_brief", "label_warm"):
        label = demo.log[name].to_numpy()
        label = label - mean_and_error(label, model)[0][model]
        assert abs(np.corrcoef(label, residual)[0, 1]) < 0.055


def test_the_true_values_agree_with_a_large_experiment(large):
    mean, error = mean_and_error(outcomes(large.experiment), codes(large.experiment))
    assert (np.abs(mean - large.value) < DEVIATIONS * error + TRUTH_ERROR).all()


def test_a_true_value_cannot_be_overwritten(demo):
    with pytest.raises(ValueError, match="read-only"):
        demo.value[0] = 1.0


@pytest.mark.parametrize("seed", range(5))
def test_the_log_ranks_a_poor_model_first(seed):
    study = make_demo(seed, sizes=replace(SMALL, log_contexts=2_000, log_people=500))
    first = int(mean_and_error(outcomes(study.log), codes(study.log))[0].argmax())
    assert study.models[int(study.value.argmax())] == "cedar"
    assert study.models[first] == "maple"
    assert (study.value < study.value[first]).sum() <= 1


def test_the_two_best_models_differ_by_about_six_points(demo):
    best, second = np.sort(demo.value)[:-3:-1]
    assert 0.05 < best - second < 0.07


def test_choice_coefficients_are_in_the_order_of_the_models():
    assert tuple(logit.model for logit in CHOICE_LOGITS) == MODELS


def test_written_tables_are_read_back_unchanged(tmp_path):
    study = make_demo(5, sizes=SMALL)
    study.write(tmp_path / "new" / "folder")
    for name in ("log", "experiment", "replay"):
        assert parquet.read_table(tmp_path / "new" / "folder" / f"{name}.parquet").equals(getattr(study, name))


def test_true_values_are_also_available_by_name(demo):
    assert demo.true_values == dict(zip(demo.models, demo.value.tolist(), strict=True))
