"""The demo study keeps the promises on which everybody who uses it as a yardstick relies."""

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
from deconfound.demo.mechanism import PULLS
from deconfound.demo.message_text import tell
from deconfound.demo.messages import imagine, read
from deconfound.demo.phrases import CLAIMS, CONTACTS, COURTESIES, DEADLINES, HISTORIES, TRADES
from deconfound.demo.quality import mark, open_case
from deconfound.demo.study import MODELS
from deconfound.demo.text_sampling import TextSampler

SMALL = Sizes(log_contexts=30, log_people=10, experiment_contexts=12, experiment_people=6)
LARGE = Sizes(log_contexts=8, log_people=4, experiment_contexts=9_000, experiment_people=9_000, draws=0)
# Mean over a model's rows against a known mean: with six models a false alarm has probability below 0.0004.
DEVIATIONS = 4.0
# What the stored truth may itself be off by; stated where it is computed.
TRUTH_ERROR = 0.0025


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


def unrouted(confounding):
    """A log in which the message has no say in the choice of model."""
    return Mechanism(confounding=confounding, pulls=tuple(replace(pull, load=0.0) for pull in PULLS))


def test_the_same_seed_gives_the_same_tables_and_another_seed_others():
    first, again, other = make_demo(5, sizes=SMALL), make_demo(5, sizes=SMALL), make_demo(6, sizes=SMALL)
    for name in ("log", "experiment", "replay"):
        assert getattr(first, name).equals(getattr(again, name))
        assert not getattr(first, name).equals(getattr(other, name))


def test_the_tables_do_not_depend_on_the_process_that_makes_them():
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


def test_the_size_of_the_log_leaves_experiment_and_replay_alone():
    small, wider = make_demo(5, sizes=SMALL), make_demo(5, sizes=replace(SMALL, log_contexts=40))
    assert small.experiment.equals(wider.experiment)
    assert small.replay.equals(wider.replay)


def test_the_tables_have_the_promised_columns_and_sizes(demo):
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


def test_the_two_draws_of_a_model_on_one_context_usually_differ(demo):
    first, second = (demo.replay.filter(pc.equal(demo.replay["draw"], draw)) for draw in (0, 1))
    differ = np.array(first["output"].to_pylist()) != np.array(second["output"].to_pylist())
    assert all(differ[codes(first) == code].mean() > 0.5 for code in range(len(MODELS)))


def test_messages_are_all_different_and_of_readable_length(demo):
    contexts = set(demo.log["context"].to_pylist()) | set(demo.experiment["context"].to_pylist())
    assert len(contexts) == 1_200 + 360
    words = np.array([len(context.split()) for context in contexts])
    assert np.mean((words >= 40) & (words <= 120)) > 0.9


def test_reading_a_message_recovers_every_fact_that_was_told():
    dice = TextSampler(np.random.default_rng(0))
    for _ in range(500):
        message = imagine(dice)
        assert read(tell(message, dice)) == message


def test_no_phrase_of_the_vocabulary_hides_inside_another():
    phrases = {*HISTORIES, *DEADLINES, *CONTACTS, *CLAIMS, *COURTESIES}
    for trade in TRADES:
        phrases.update(trade.products + trade.problems + trade.tried + trade.impacts + trade.asks)
    hidden = [(one, other) for one, other in permutations(phrases, 2) if one.lower() in other.lower()]
    assert hidden == []


def test_customers_never_use_the_words_by_which_notes_are_faulted(demo):
    contexts = "\n".join(demo.log["context"].to_pylist())
    assert [phrase for phrase in CLAIMS + COURTESIES if phrase in contexts] == []


def test_a_note_is_marked_for_what_it_says():
    case = open_case(
        "Hello,\nMy laptop refuses the latest update. I bought it on 3 May (order KX-48213). I want a full refund.\n"
        "Thanks.\nAda Reid"
    )
    full = mark(case, "Laptop (order KX-48213, 3 May) refuses the latest update. Wants a full refund.")
    assert (full.coverage, full.invented, full.padding, full.repetition) == (1, 0, 0, 0)
    assert full.bloat > 0  # 14 words on a message of 25
    wrong = mark(case, "Laptop (order KX-48214, 4 May) is broken; the customer paid by bank transfer.")
    assert wrong.invented == 3
    assert wrong.coverage == pytest.approx(1 / 5.5)  # the product of product, reference, date, problem and wish
    warm = mark(case, f"{COURTESIES[0]}! A laptop, yes, a laptop. {COURTESIES[1]}!")
    assert warm.padding == 0.5
    assert warm.repetition == pytest.approx(1 / 5)


def test_the_reward_is_a_function_of_the_two_texts_alone(demo):
    order = np.random.default_rng(0).permutation(len(demo.experiment))
    texts = demo.experiment.select(["context", "output"]).take(order)
    np.testing.assert_array_equal(demo.q(texts), demo.q(demo.experiment)[order])


def test_the_reward_is_the_outcome_averaged_over_people_and_noise(demo):
    """Quadrature against 200,000 judges for single notes; the standard error of a mean is at most 0.0006."""
    rows = demo.replay.slice(0, 12)
    rng = np.random.default_rng(0)
    for row, expected in zip(rows.to_pylist(), demo.q(rows), strict=True):
        marks = np.tile(mark(open_case(row["context"]), row["output"]), (200_000, 1))
        judged = demo.mechanism.outcome(marks, rng.standard_normal((200_000, 2)), rng.standard_normal(200_000))
        assert judged.mean() == pytest.approx(expected, abs=0.0025)


def test_the_experiment_draws_models_uniformly_and_blind_to_the_message(large):
    """A1. A chi-square with 5 degrees of freedom exceeds 25 with probability 0.00014."""
    model = codes(large.experiment)
    expected = len(model) / len(MODELS)
    assert ((np.bincount(model) - expected) ** 2 / expected).sum() < 25
    assert set(large.experiment["propensity"].to_pylist()) == {1 / 6}
    load = np.array([open_case(context).load for context in large.experiment["context"].to_pylist()])
    mean, error = mean_and_error(load, model)
    assert (np.abs(mean - load.mean()) < DEVIATIONS * error).all()


def test_the_experiment_gives_each_model_average_judges_and_the_log_does_not(demo, large):
    """A1 and the mechanism: what a row scores beyond its reward shows who judged it."""
    mean, error = mean_and_error(outcomes(large.experiment) - large.q(large.experiment), codes(large.experiment))
    assert (np.abs(mean) < DEVIATIONS * error).all()
    logged, _ = mean_and_error(outcomes(demo.log) - demo.q(demo.log), codes(demo.log))
    assert logged[MODELS.index("maple")] > 0.1
    assert logged[MODELS.index("cedar")] < -0.1


def test_a_log_without_selection_tells_the_truth(demo):
    """A3 and A5: choice is all that sets the log apart from the experiment."""
    fair = make_demo(3, mechanism=unrouted(0.0), sizes=replace(SMALL, log_contexts=3_000, log_people=9_000))
    mean, error = mean_and_error(outcomes(fair.log), codes(fair.log))
    assert (np.abs(mean - demo.value) < DEVIATIONS * error + TRUTH_ERROR).all()


def test_who_asks_does_not_change_the_note(demo):
    """A2 and A4: where only people choose, each model's notes in the log are as good as in the population."""
    studied = make_demo(3, mechanism=unrouted(1.0), sizes=replace(SMALL, log_contexts=3_000, log_people=9_000))
    mean, error = mean_and_error(studied.q(studied.log), codes(studied.log))
    assert (np.abs(mean - demo.value) < DEVIATIONS * error + TRUTH_ERROR).all()


def test_labels_know_nothing_of_the_person(demo):
    """Within a model, chance correlation over 6,000 rows has standard deviation 0.013."""
    model = codes(demo.log)
    luck = outcomes(demo.log) - demo.q(demo.log)
    luck -= mean_and_error(luck, model)[0][model]
    for name in ("label_complete", "label_faithful", "label_brief", "label_warm"):
        label = demo.log[name].to_numpy()
        label = label - mean_and_error(label, model)[0][model]
        assert abs(np.corrcoef(label, luck)[0, 1]) < 0.055


def test_the_true_values_agree_with_brute_force(large):
    mean, error = mean_and_error(outcomes(large.experiment), codes(large.experiment))
    assert (np.abs(mean - large.value) < DEVIATIONS * error + TRUTH_ERROR).all()


def test_a_true_value_cannot_be_overwritten(demo):
    with pytest.raises(ValueError, match="read-only"):
        demo.value[0] = 1.0


@pytest.mark.parametrize("seed", range(5))
def test_the_log_prefers_a_poor_model(seed):
    studied = make_demo(seed, sizes=replace(SMALL, log_contexts=2_000, log_people=500))
    truth, logged = studied.value, studied.log_value
    assert studied.models[int(truth.argmax())] == "cedar"
    favourite = int(logged.argmax())
    assert studied.models[favourite] == "maple"
    assert (truth < truth[favourite]).sum() <= 1


def test_the_two_best_models_are_close_but_apart(demo):
    best, second = np.sort(demo.value)[:-3:-1]
    assert 0.05 < best - second < 0.07


def test_every_model_has_its_pull_and_its_place():
    assert tuple(pull.model for pull in PULLS) == MODELS


def test_written_tables_read_back_the_same(tmp_path):
    made = make_demo(5, sizes=SMALL)
    made.write(tmp_path / "new" / "folder")
    for name in ("log", "experiment", "replay"):
        assert parquet.read_table(tmp_path / "new" / "folder" / f"{name}.parquet").equals(getattr(made, name))
