"""The controlled validation from articles to scores, at a small size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.articles import make_articles
from deconfound_bench.artifact_dir import is_current
from deconfound_bench.results import Cell, read_scores, scores_digest
from deconfound_bench.summarizers import SUMMARIZERS
from deconfound_bench.sweep import SweepProgress, Task, run_sweep
from deconfound_bench.synthetic import constants
from deconfound_bench.synthetic.article_split import stratified_split
from deconfound_bench.synthetic.benchmark import SyntheticBenchmark, corpus_digest
from deconfound_bench.synthetic.draws import draw_log
from deconfound_bench.synthetic.pool import (
    POOL_VERSION,
    build_pool,
    featurize,
    hash_summaries,
    load_pool,
    write_summaries,
)

from deconfound.engines import EngineOptions
from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from laboratory.tests.support.package_modifiers import package_modifiers

TINY = replace(
    constants.QUICK,
    sizes=constants.Sizes(contexts=8, truth=6, evaluation=6, embedding=40, draws=2),
    embedding=6,
    proxies=4,
    longest_log=300,
)
CELLS = tuple(
    Cell(confounding, rows, size, "latent") for confounding in (0.0, 0.9) for rows in (80, 300) for size in (20, 100)
)
ARTICLES = 60


def no_progress(_stage, _done):
    pass


def benchmark(folder, setting=TINY):
    return SyntheticBenchmark("synthetic", setting, folder / "pool", None, corpus_digest(None), 1)


@pytest.fixture(scope="module")
def summaries():
    return write_summaries(make_articles(ARTICLES), TINY, 1, no_progress)


@pytest.fixture(scope="module")
def pool_folder(summaries, tmp_path_factory):
    """One saved pool for all tests of this file."""
    folder = tmp_path_factory.mktemp("synthetic")
    featurize(summaries, TINY, no_progress).save(folder / "pool", benchmark(folder).pool_digest())
    return folder


@pytest.fixture(scope="module")
def scores(pool_folder):
    return run_sweep(
        benchmark(pool_folder),
        CELLS,
        range(2),
        PAPER_FAMILY_NAMES,
        pool_folder / "run",
        EngineOptions(workers=1),
        SweepProgress(quiet=True),
    )


def test_the_pool_has_the_inner_products_of_its_texts(pool_folder, summaries):
    """Within the train rows, and between train and evaluation rows."""
    pool = load_pool(pool_folder / "pool")
    split = summaries.split
    train = hash_summaries(summaries.corpus, split.train.articles, summaries.train, TINY).phi()
    evaluation = hash_summaries(summaries.corpus, split.evaluation.articles, summaries.evaluation, TINY).phi()
    np.testing.assert_allclose(pool.store.kernel, (train @ train.T).toarray(), atol=1e-12)
    np.testing.assert_allclose(pool.store.coordinates @ pool.store.coordinates.T, pool.store.kernel, atol=1e-11)
    across = pool.evaluation_phi @ pool.store.coordinates.T
    np.testing.assert_allclose(across, (evaluation @ train.T).toarray(), atol=1e-10)


def test_effect_modifiers_of_a_replication_are_those_of_the_package(pool_folder, summaries):
    """On the rows of log and experiment and on the evaluation rows; the drawn log determines the scale of both."""
    sampler = benchmark(pool_folder).opener(pool_folder).open().sampler
    replication = sampler.replication(0.9, 80, 1)
    log = draw_log(sampler.dgp, sampler.pool.train, 0.9, 80, TINY.longest_log, 1)
    parts = {"train": summaries.train, "evaluation": summaries.evaluation}
    texts = {
        name: [
            (summaries.corpus.texts[getattr(summaries.split, name).articles[context]], output)
            for context, output in zip(part.context, part.outputs, strict=True)
        ]
        for name, part in parts.items()
    }
    logged = [texts["train"][row] for row in log.row]
    replays = {"train": replication.train_replay, "evaluation": replication.test_replay}
    for name, replay in replays.items():
        expected = package_modifiers(logged, texts[name], TINY.buckets)
        np.testing.assert_allclose(replay.modifiers, expected, atol=1e-12)
    for rows in (replication.log, replication.experiment):
        np.testing.assert_array_equal(rows.modifiers, replication.train_replay.modifiers[rows.phi.index])


def test_every_article_belongs_to_one_part(summaries):
    split = summaries.split
    parts = [split.train.articles, split.truth.articles, split.evaluation.articles]
    assert [len(part) for part in parts] == [8, 6, 6]
    assert len(set(np.concatenate(parts))) == 20


def test_a_stratified_split_gives_parts_with_similar_levels():
    """Means of the parts vary less than a fifth as much as with random splits."""
    rng = np.random.default_rng(0)
    level = rng.standard_normal(280)
    stratified, random = [], []
    for _ in range(50):
        parts = stratified_split(level, (80, 100, 100), rng)
        assert [len(part) for part in parts] == [80, 100, 100]
        assert sorted(np.concatenate(parts)) == list(range(280))
        stratified.append([level[part].mean() for part in parts])
        random.append([part.mean() for part in np.split(rng.permutation(level), [80, 180])])
    assert np.std(stratified) < 0.2 * np.std(random)


def test_rows_belong_to_their_contexts_and_only_stochastic_summarizers_vary(pool_folder, summaries):
    pool = load_pool(pool_folder / "pool")
    context = pool.evaluation.context_of_row()
    for number, rows in enumerate(pool.evaluation.row):
        assert (context[rows] == number).all()
    varies = (summaries.evaluation.row[:, :, 0] != summaries.evaluation.row[:, :, 1]).any(axis=0)
    for summarizer, is_varying in zip(SUMMARIZERS, varies, strict=True):
        assert summarizer.is_stochastic or not is_varying
    assert varies.sum() >= 6


def test_the_pool_is_built_again_only_for_other_inputs(pool_folder):
    kernel = pool_folder / "pool" / "kernel.npy"
    before = kernel.stat().st_mtime_ns
    benchmark(pool_folder).prepare(pool_folder, no_progress)
    assert kernel.stat().st_mtime_ns == before
    digests = {
        name: benchmark(pool_folder, replace(TINY, **change)).pool_digest()
        for name, change in {"same": {}, "seed": {"seed": 1}, "noise": {"noise": 0.5}}.items()
    }
    current = {name: is_current(pool_folder / "pool", POOL_VERSION, digest) for name, digest in digests.items()}
    assert current == {"same": True, "seed": False, "noise": True}


def test_too_few_articles_are_rejected():
    with pytest.raises(UsageError, match="needs 27 usable articles"):
        build_pool(make_articles(10), TINY, 1, no_progress)


def test_every_cell_seed_and_family_is_scored(scores):
    assert len(scores) == len(CELLS) * 2 * 6
    for score in scores:
        assert 0 <= score.regret <= 1
        assert 0 <= score.rmse_context <= 1
        assert np.isfinite([score.rmse_model_direct, score.rmse_model_dr]).all()
        assert score.top1 in (0.0, 1.0)
        assert score.hyperparameters.penalty is not None


def test_obs_only_ignores_the_experiment_and_exp_only_ignores_the_log(scores):
    """Exactly, because the draws are paired."""
    metrics = ("regret", "rmse_context", "rmse_model_direct", "top1", "top3")
    by_key = {score.key: [getattr(score, metric) for metric in metrics] for score in scores}
    for cell in CELLS:
        for seed in range(2):
            other_experiment = replace(cell, n_experiment=20)
            assert by_key[cell, seed, "obs-only"] == by_key[other_experiment, seed, "obs-only"]
            other_log = replace(cell, n_log=80, confounding=0.0)
            assert by_key[cell, seed, "exp-only"] == by_key[other_log, seed, "exp-only"]
    assert by_key[CELLS[0], 0, "exp-only"] != by_key[CELLS[0], 1, "exp-only"]


def test_a_smaller_request_gives_the_same_bits(pool_folder, scores):
    worker = benchmark(pool_folder).opener(pool_folder).open()
    by_key = {score.key: score for score in scores}
    for family in PAPER_FAMILY_NAMES:
        (score,) = worker.run(Task("any", 1, ((CELLS[5], family),)))
        assert replace(score, seconds=0.0) == replace(by_key[score.key], seconds=0.0)


def test_two_workers_give_the_same_bits_as_one(pool_folder, scores, tmp_path):
    cells = CELLS[:4]  # two logs, so two tasks
    two = run_sweep(
        benchmark(pool_folder),
        cells,
        range(1),
        PAPER_FAMILY_NAMES,
        tmp_path / "two",
        EngineOptions(workers=2),
        SweepProgress(quiet=True),
    )
    one = [score for score in scores if score.cell in cells and score.seed == 0]
    assert scores_digest(two) == scores_digest(one)
    assert scores_digest(read_scores(tmp_path / "two" / "results.parquet")) == scores_digest(one)
    assert scores_digest(read_scores(pool_folder / "run" / "results.parquet")) == scores_digest(scores)


def test_the_targeted_regime_compares_four_underfitted_families(pool_folder):
    setting = replace(TINY, noise=0.05, longest_experiment=400)
    worker = benchmark(pool_folder, setting).opener(pool_folder).open()
    cell = Cell(0.99, 300, 400, "underfit")
    families = ("exp-only", "obs-only", "representation-exp", "cvci")
    scores = worker.run(Task("any", 0, tuple((cell, family) for family in families)))
    assert {score.hyperparameters.mode for score in scores} == {"fixed"}
    with pytest.raises(UsageError, match="grounded has no underfitted version"):
        worker.run(Task("any", 0, ((cell, "grounded"),)))


def test_the_built_in_texts_are_those_of_their_version(summaries):
    """Saved pools depend on it: a change of articles or summarizers must raise ``CORPUS_VERSION`` and this digest."""
    from deconfound_bench.articles.corpus import digest

    texts = (
        *summaries.corpus.texts,
        *summaries.train.outputs,
        *summaries.truth.outputs,
        *summaries.evaluation.outputs,
    )
    assert (constants.CORPUS_VERSION, digest(texts)[:16]) == (1, "002962ef3f34c94f")
