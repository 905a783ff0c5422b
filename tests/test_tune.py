"""Tuning: its losses against a plain loop, its folds, ties, and too little data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.errors import UsageError
from deconfound.linalg import FactorizationLimits
from deconfound.reward import (
    EVERY,
    Cvci,
    CvciResidual,
    ExpOnly,
    Grounded,
    GroundedAnchor,
    GroundedLinear,
    TrainingData,
)
from deconfound.tune import Validation, best_candidate, tune, tune_subsets
from tests.support import naive
from tests.support.random_rows import TALL, WIDE, Pair, Shape, make, shuffled

AGREE = 1e-9
CANDIDATES: tuple[tuple[Any, ...], ...] = (
    (ExpOnly(0.1), ExpOnly(10.0)),
    (Cvci(0.0, 1e-3), Cvci(0.3, 1e-2), Cvci(0.85, 1e-2), Cvci(1.0, 1e-1)),
    (CvciResidual(0.0, 1e-2), CvciResidual(0.5, 1.0), CvciResidual(1.0, 0.1, 5.0)),
    (Grounded(strength=0.2), Grounded("quadratic", 100.0), Grounded(penalty=1e-2, log_penalty=9.0)),
    (GroundedLinear(strength=0.1), GroundedLinear(strength=0.9)),
    (GroundedAnchor(pooling=0.3), GroundedAnchor("quadratic", pooling=0.0)),
)


@pytest.mark.parametrize("candidates", CANDIDATES, ids=lambda candidates: candidates[0].name)
@pytest.mark.parametrize("shape", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("stored", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_losses_equal_those_of_a_plain_loop(candidates: Any, shape: Shape, stored: bool, weighted: bool) -> None:
    """The simulated models have counts that grow with their code, so folds by code are the tuner's folds."""
    pair = make(replace(shape, sparse=stored, weighted=False), seed=4)
    if weighted:
        pair = replace(pair, log=make(replace(shape, sparse=stored, weighted=True), seed=4).log)
    log, experiment = pair.log, pair.experiment
    assert experiment.model is not None
    assert experiment.context is not None
    for by, group in (("model", experiment.model), ("sample", experiment.context)):
        tuned = tune(candidates[0], log, experiment, by=by, seed=7, candidates=candidates)  # type: ignore[arg-type]
        folds = group_folds(group, 5, seed=7)
        twin = naive.tuned_losses(candidates, log, experiment, folds, by_model=by == "model")
        np.testing.assert_allclose(tuned.losses, twin, rtol=0, atol=AGREE)
        assert tuned.mode == by
        assert tuned.estimator == candidates[int(np.argmin(twin))]


@pytest.mark.parametrize("max_dense_kernel", [6000, 3], ids=["explicit", "implicit"])
@pytest.mark.parametrize("shape", [TALL, WIDE], ids=["tall", "wide"])
def test_losses_are_right_on_the_paths_for_large_problems(max_dense_kernel: int, shape: Shape) -> None:
    pair = make(replace(shape, sparse=True), seed=5)
    candidates = tuple(Cvci(pooling, p) for p in (1e-3, 1e-1) for pooling in (0.0, 0.05, 0.5, 1.0))
    assert pair.experiment.model is not None
    folds = group_folds(pair.experiment.model, 5, seed=0)
    twin = naive.tuned_losses(candidates, pair.log, pair.experiment, folds, by_model=True)
    limits = FactorizationLimits(max_eigh=3, max_dense_kernel=max_dense_kernel)
    prepared = Cvci.prepare(TrainingData(pair.log, pair.experiment, limits=limits), candidates)
    all_rows = [np.arange(len(pair.experiment))]
    (tuned,) = tune_subsets(prepared, candidates, Cvci(), pair.experiment, all_rows, Validation(5, "model", 0))
    np.testing.assert_allclose(tuned.losses, twin, rtol=0, atol=1e-8)


def test_the_whole_grid_of_cvci_equals_a_plain_loop(pair: Pair) -> None:
    tuned = tune(Cvci(), pair.log, pair.experiment, folds=3, seed=1)
    assert pair.experiment.model is not None
    folds = group_folds(pair.experiment.model, 3, seed=1)
    grid = Cvci().grid(TrainingData(pair.log, pair.experiment))
    twin = naive.tuned_losses(grid, pair.log, pair.experiment, folds, by_model=True)
    assert len(tuned.candidates) == 63
    np.testing.assert_allclose(tuned.losses, twin, rtol=0, atol=AGREE)


@dataclass(frozen=True)
class Constant:
    """A family that predicts one constant."""

    name: ClassVar[str] = "constant"
    learns_from_experiment: ClassVar[bool] = False
    level: float = 0.5

    def regularization_order(self) -> tuple[float, ...]:
        return (self.level,)


@dataclass
class PreparedConstant:
    """Its preparation, which records what it was trained on."""

    rows: int
    train_subsets: list[IntArray] = field(default_factory=list)

    def predict(self, candidate: Constant, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        self.train_subsets = list(train_subsets)
        return [np.full(self.rows, candidate.level) for _ in train_subsets]


DEFAULT: Any = Constant(0.25)


def tune_constants(experiment: Rows, by: Any, folds: int = 5, subset: IntArray | None = None) -> tuple[Any, Any]:
    """The preparation, which knows its training subsets, and the tuning result."""
    prepared: Any = PreparedConstant(len(experiment))
    candidates: Any = (Constant(0.0), Constant(0.5))
    subset = np.arange(len(experiment)) if subset is None else subset
    return prepared, tune_subsets(prepared, candidates, DEFAULT, experiment, [subset], Validation(folds, by))[0]


def small_experiment(model: list[int], outcome: list[float], context: list[int] | None = None) -> Rows:
    codes = None if context is None else np.array(context)
    return Rows(np.eye(len(model)), outcome=np.array(outcome), model=np.array(model), context=codes)


def test_the_model_level_loss_is_the_papers_formula() -> None:
    """Two folds. With models 0 and 1 in one fold: weights 3/4 and 1/4, errors of means 0 - 1/3 and 0 - 1."""
    experiment = small_experiment([0, 0, 0, 1], [1.0, 0.0, 0.0, 1.0])
    assert naive.model_loss(-experiment.require_outcome(), experiment) == pytest.approx(3 / 4 / 9 + 1 / 4)
    _, tuned = tune_constants(experiment, "model", folds=2)
    assert tuned.mode == "model"
    alone = [(1 / 3) ** 2, 1.0], [(0.5 - 1 / 3) ** 2, 0.25]
    np.testing.assert_allclose(tuned.losses, [np.mean(fold) for fold in alone])


def test_held_out_models_of_one_fold_are_weighted_by_their_counts() -> None:
    """Four models in two folds: every fold averages its two models by count, then all folds have equal weight."""
    model = [0] + [1] * 2 + [2] * 3 + [3] * 4
    outcome = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    experiment = small_experiment(model, outcome)
    mean, count = {0: 1.0, 1: 0.5, 2: 1 / 3, 3: 0.75}, {0: 1, 1: 2, 2: 3, 3: 4}
    _, tuned = tune_constants(experiment, "model", folds=2)
    expected = []
    for fold in group_folds(np.array(model), 2, seed=0):
        held = sorted(set(np.array(model)[fold.held_out].tolist()))
        assert len(held) == 2
        expected.append(sum(count[a] * mean[a] ** 2 for a in held) / sum(count[a] for a in held))
    assert tuned.losses[0] == pytest.approx(np.mean(expected))


def test_a_weighted_experiment_row_counts_as_its_repeats() -> None:
    model, outcome = [0, 0, 1, 2], [1.0, 0.0, 1.0, 0.0]
    weighted = replace(small_experiment(model, outcome), weight=np.array([1.0, 3.0, 5.0, 6.0]))
    repeats = small_experiment([0] * 4 + [1] * 5 + [2] * 6, [1.0] + [0.0] * 3 + [1.0] * 5 + [0.0] * 6)
    by_weight, by_repeats = (tune_constants(rows, "model", 3)[1] for rows in (weighted, repeats))
    np.testing.assert_allclose(by_weight.losses, by_repeats.losses)
    weighted = replace(weighted, context=np.array([0, 0, 1, 2]))
    repeats = replace(repeats, context=np.array([0] * 4 + [1] * 5 + [2] * 6))
    by_weight, by_repeats = (tune_constants(rows, "sample", 3)[1] for rows in (weighted, repeats))
    np.testing.assert_allclose(by_weight.losses, by_repeats.losses)


def test_too_few_models_fall_back_to_samples_and_report_it() -> None:
    experiment = small_experiment([0, 1, 2, 3] * 5, [0.0, 1.0] * 10)
    assert tune_constants(experiment, "model", folds=5)[1].mode == "sample"
    assert tune_constants(experiment, "model", folds=4)[1].mode == "model"
    assert tune_constants(replace(experiment, model=None), "model")[1].mode == "sample"


def test_only_the_models_in_the_subset_count() -> None:
    experiment = small_experiment([0, 1, 2, 3, 4] * 4, [0.0, 1.0] * 10)
    assert tune_constants(experiment, "model")[1].mode == "model"
    assert experiment.model is not None
    subset = np.flatnonzero(experiment.model != 4)
    prepared, tuned = tune_constants(experiment, "model", subset=subset)
    assert tuned.mode == "sample"
    assert all(set(train) <= set(subset) for train in prepared.train_subsets)


@pytest.mark.parametrize("by", ["sample", "holdout"])
def test_sample_folds_split_no_context(by: str) -> None:
    context = np.random.default_rng(0).permutation(np.repeat(np.arange(8), 3))
    experiment = small_experiment([0] * 24, [0.0, 1.0] * 12, context=context.tolist())
    assert experiment.context is not None
    prepared, tuned = tune_constants(experiment, by)
    assert tuned.mode == by
    assert len(prepared.train_subsets) == (5 if by == "sample" else 1)
    for train in prepared.train_subsets:
        held_out = np.setdiff1d(np.arange(24), train)
        assert 0 < len(held_out) < 12
        assert not set(experiment.context[train]) & set(experiment.context[held_out])


def test_one_candidate_or_too_few_rows_are_reported_as_fixed() -> None:
    pair = make(TALL)
    tuned = tune(ExpOnly(0.7), pair.log, pair.experiment)
    assert (tuned.mode, tuned.estimator) == ("fixed", ExpOnly(0.7))
    assert np.isnan(tuned.losses).all()
    one_context = small_experiment([0, 1], [0.0, 1.0], context=[3, 3])
    unsplit = tune_constants(one_context, "sample")[1]
    assert (unsplit.mode, unsplit.estimator) == ("fixed", DEFAULT)
    assert np.isnan(unsplit.losses).all()
    one_row = tune(Cvci(0.3, 0.2), pair.log, pair.experiment.take(np.array([4])))
    assert (one_row.mode, one_row.estimator) == ("fixed", Cvci(0.3, 0.2))


def test_an_unknown_validation_scheme_is_rejected() -> None:
    with pytest.raises(UsageError, match="by must be"):
        tune_constants(small_experiment([0, 1], [0.0, 1.0]), "row")
    with pytest.raises(UsageError, match="at least 2 folds"):
        tune_constants(small_experiment([0, 1], [0.0, 1.0]), "sample", folds=1)


def test_tuning_many_subsets_together_is_tuning_each_alone(pair: Pair) -> None:
    subsets = [np.arange(0, len(pair.experiment), 2), np.arange(9), np.arange(len(pair.experiment)), np.array([2])]
    candidates = (Cvci(0.2, 0.1), Cvci(0.8, 0.01))
    prepared = Cvci.prepare(TrainingData(pair.log, pair.experiment), candidates)
    together = tune_subsets(prepared, candidates, Cvci(), pair.experiment, subsets, Validation(4, "model", 5))
    for subset, result in zip(subsets, together, strict=True):
        alone = tune(Cvci(), pair.log, pair.experiment.take(subset), 4, seed=5, candidates=candidates)
        assert (result.mode, result.estimator) == (alone.mode, alone.estimator)
        np.testing.assert_allclose(result.losses, alone.losses, rtol=0, atol=AGREE)
    assert {result.mode for result in together} == {"model", "fixed"} | {together[1].mode}


@pytest.mark.parametrize("family", EVERY, ids=lambda family: family.name)
def test_ties_go_to_the_more_regularized_candidate(family: Any) -> None:
    """Where every outcome is one constant every candidate predicts it, and only regularization can decide."""
    pair = make(TALL)
    log = replace(pair.log, outcome=np.full(len(pair.log), 0.5))
    experiment = replace(pair.experiment, outcome=np.full(len(pair.experiment), 0.5))
    chosen = tune(family(), log, experiment).estimator
    grid = family().grid(TrainingData(log, experiment))
    assert chosen == max(grid, key=lambda candidate: candidate.regularization_order())
    if family in (Cvci, CvciResidual):
        assert (chosen.penalty, chosen.pooling) == (max(c.penalty for c in grid), 1.0)
    if family in (Grounded, GroundedLinear):
        assert chosen.strength == 0.0


def test_only_losses_equal_up_to_rounding_are_tied() -> None:
    weak, strong = Cvci(0.5, 1e-3), Cvci(0.5, 1e-1)
    assert best_candidate(np.array([0.2, 0.2 * (1 + 1e-12)]), [weak, strong]) == 1
    assert best_candidate(np.array([0.2, 0.2 * (1 + 1e-6)]), [weak, strong]) == 0
    assert best_candidate(np.array([0.2 * (1 + 1e-6), 0.2]), [weak, strong]) == 1
    assert best_candidate(np.array([1.0, 1.0, 1.0]), [Cvci(0.2, 0.1), Cvci(0.9, 0.1), Cvci(0.4, 0.1)]) == 1


def renamed(rows: Rows, seed: int) -> Rows:
    assert rows.model is not None
    return replace(rows, model=np.random.default_rng(seed).permutation(50)[rows.model])


@pytest.mark.parametrize("seed", range(4))
def test_renaming_the_models_changes_nothing(pair: Pair, seed: int) -> None:
    before = tune(Cvci(), pair.log, pair.experiment)
    after = tune(Cvci(), pair.log, renamed(pair.experiment, seed))
    assert after.estimator == before.estimator
    np.testing.assert_allclose(after.losses, before.losses, rtol=1e-12)  # sums over models in another order


@pytest.mark.parametrize("seed", range(4))
def test_renaming_models_with_equal_counts_and_means_changes_nothing(seed: int) -> None:
    """Balanced designs with binary outcomes often give two models the same count and mean."""
    pair = make(replace(TALL, experiment=48))
    balanced = replace(pair.experiment, model=np.arange(48) % 6, outcome=(np.arange(48) // 6 % 2).astype(float))
    before = tune(Cvci(), pair.log, balanced)
    for experiment in (renamed(balanced, seed), shuffled(balanced, seed)):
        after = tune(Cvci(), pair.log, experiment)
        assert after.estimator == before.estimator
        np.testing.assert_allclose(after.losses, before.losses, rtol=1e-9)


def test_the_order_of_rows_changes_no_model_level_loss(pair: Pair) -> None:
    before = tune(Cvci(), pair.log, pair.experiment)
    after = tune(Cvci(), shuffled(pair.log, 1), shuffled(pair.experiment, 2))
    np.testing.assert_allclose(after.losses, before.losses, rtol=1e-9)
    assert after.estimator == before.estimator


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_folds(pair: Pair) -> None:
    one, again, other = (tune(Cvci(), pair.log, pair.experiment, by="sample", seed=seed) for seed in (1, 1, 2))
    assert one.losses.tobytes() == again.losses.tobytes()
    assert not np.allclose(one.losses, other.losses, rtol=1e-6)
