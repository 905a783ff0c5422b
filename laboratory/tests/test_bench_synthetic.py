"""The controlled validation from articles to the table, at a size that fits into a test."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.articles import make_articles
from deconfound_bench.contenders import contender
from deconfound_bench.kept import is_kept
from deconfound_bench.results import Cell, read_scores
from deconfound_bench.sweep import Bar, Task, digest, sweep
from deconfound_bench.synthetic import constants
from deconfound_bench.synthetic.benchmark import Synthetic, articles_digest
from deconfound_bench.synthetic.making import hash_texts, make_pool, write_library
from deconfound_bench.synthetic.pool import VERSION, load_pool
from deconfound_bench.synthetic.splitting import deal
from deconfound_bench.systems import SYSTEMS

from deconfound.cli import main
from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES

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


def silent(_stage, _done):
    pass


@pytest.fixture(scope="module")
def library():
    return write_library(make_articles(ARTICLES), TINY, 1, silent)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One finished pool for all tests of this file."""
    place = tmp_path_factory.mktemp("synthetic")
    benchmark(place).prepare(place, silent)
    return place


def benchmark(folder, setting=TINY):
    return Synthetic("synthetic", setting, folder / "pool", None, articles_digest(None), 1)


@pytest.fixture(scope="module")
def scores(folder):
    return sweep(benchmark(folder), CELLS, range(2), PAPER_FAMILY_NAMES, folder / "run", 1, Bar(quiet=True))


def test_the_pool_in_numbers_is_its_texts(folder, library):
    """Stored coordinates have the inner products of the hashed texts, inside the pool and across to held-out rows."""
    pool = load_pool(folder / "pool")
    kept = hash_texts(library.corpus, library.split.kept.articles, library.kept, TINY).phi()
    held = hash_texts(library.corpus, library.split.evaluation.articles, library.evaluation, TINY).phi()
    np.testing.assert_allclose(pool.store.kernel, (kept @ kept.T).toarray(), atol=1e-12)
    np.testing.assert_allclose(pool.store.coordinates @ pool.store.coordinates.T, pool.store.kernel, atol=1e-11)
    across = pool.evaluation_phi @ pool.store.coordinates.T
    np.testing.assert_allclose(across, (held @ kept.T).toarray(), atol=1e-10)


def test_every_article_has_one_use(library):
    split = library.split
    uses = [split.kept.articles, split.truth.articles, split.evaluation.articles, split.learned_from]
    assert [len(use) for use in uses] == [8, 6, 6, 40]
    assert len(set(np.concatenate(uses))) == 60


def test_articles_are_dealt_so_that_every_use_has_the_same_levels():
    """Means of dealt hands spread less than a fifth as far as those of random hands."""
    rng = np.random.default_rng(0)
    level = rng.standard_normal(280)
    dealt, drawn = [], []
    for _ in range(50):
        hands = deal(level, (80, 100, 100), rng)
        assert [len(hand) for hand in hands] == [80, 100, 100]
        assert sorted(np.concatenate(hands)) == list(range(280))
        dealt.append([level[hand].mean() for hand in hands])
        drawn.append([part.mean() for part in np.split(rng.permutation(level), [80, 180])])
    assert np.std(dealt) < 0.2 * np.std(drawn)


def test_rows_belong_to_their_contexts_and_only_random_systems_vary(folder, library):
    pool = load_pool(folder / "pool")
    context = pool.evaluation.context()
    for number, cell in enumerate(pool.evaluation.row):
        assert (context[cell] == number).all()
    varies = (library.evaluation.row[:, :, 0] != library.evaluation.row[:, :, 1]).any(axis=0)
    for system, moved in zip(SYSTEMS, varies, strict=True):
        assert system.random or not moved
    assert varies.sum() >= 6


def test_the_pool_is_made_once_and_again_only_for_other_inputs(folder):
    kernel = folder / "pool" / "kernel.npy"
    before = kernel.stat().st_mtime_ns
    benchmark(folder).prepare(folder, silent)
    assert kernel.stat().st_mtime_ns == before
    assert is_kept(folder / "pool", VERSION, benchmark(folder)._pool_digest())
    other = replace(TINY, seed=1)
    assert not is_kept(folder / "pool", VERSION, benchmark(folder, other)._pool_digest())
    louder = replace(TINY, noise=0.5)
    assert is_kept(folder / "pool", VERSION, benchmark(folder, louder)._pool_digest())


def test_too_few_articles_are_refused():
    with pytest.raises(UsageError, match="needs 27 usable articles"):
        make_pool(make_articles(10), TINY, 1, silent)


def test_every_cell_seed_and_family_is_scored(scores):
    assert len(scores) == len(CELLS) * 2 * 6
    for one in scores:
        assert 0 <= one.regret <= 1
        assert 0 <= one.rmse_context <= 1
        assert np.isfinite([one.rmse_model_direct, one.rmse_model_dr]).all()
        assert one.top1 in (0.0, 1.0)
        assert one.choice.penalty is not None


def test_the_log_alone_does_not_see_the_experiment_and_the_other_way_round(scores):
    """By construction of the draws, not by averaging: exact equality."""
    metrics = ("regret", "rmse_context", "rmse_model_direct", "top1", "top3")
    by = {one.key: [getattr(one, metric) for metric in metrics] for one in scores}
    for cell in CELLS:
        for seed in range(2):
            other_size = replace(cell, n_experiment=20)
            assert by[cell, seed, "obs-only"] == by[other_size, seed, "obs-only"]
            other_log = replace(cell, n_log=80, confounding=0.0)
            assert by[cell, seed, "exp-only"] == by[other_log, seed, "exp-only"]
    assert by[CELLS[0], 0, "exp-only"] != by[CELLS[0], 1, "exp-only"]


def test_asking_for_less_gives_the_same_bits(folder, scores):
    worker = benchmark(folder).open(folder)
    known = {one.key: one for one in scores}
    for family in PAPER_FAMILY_NAMES:
        one = worker.run(Task("any", 1, ((CELLS[5], family),)))[0]
        assert replace(one, seconds=0.0) == replace(known[one.key], seconds=0.0)


def test_workers_do_not_change_a_bit(folder, scores, tmp_path):
    twice = sweep(benchmark(folder), CELLS, range(2), PAPER_FAMILY_NAMES, tmp_path / "two", 2, Bar(quiet=True))
    assert digest(twice) == digest(scores)
    tables = [(where / "results.parquet") for where in (folder / "run", tmp_path / "two")]
    assert digest(read_scores(tables[0])) == digest(read_scores(tables[1])) == digest(scores)


def test_the_ends_of_pooling_are_the_two_single_sources():
    cell = Cell(0.9, 300, 100, "latent")
    entered = contender("cvci", cell)
    penalties = sorted({one.penalty for one in entered.candidates})
    assert penalties[0] == pytest.approx(1 / 300)
    assert penalties[-1] == pytest.approx(1 / 100)
    assert {one.pooling for one in entered.candidates} >= {0.0, 1.0}


def test_the_targeted_regime_compares_four_underfitted_families(folder):
    setting = replace(TINY, noise=0.05, longest_experiment=400)
    worker = benchmark(folder, setting).open(folder)
    cell = Cell(0.99, 300, 400, "underfit")
    found = worker.run(
        Task("any", 0, tuple((cell, family) for family in ("exp-only", "obs-only", "representation-exp", "cvci")))
    )
    assert {one.choice.mode for one in found} == {"fixed"}
    with pytest.raises(UsageError, match="grounded has no underfitted version"):
        worker.run(Task("any", 0, ((cell, "grounded"),)))


def test_the_built_in_texts_are_those_of_their_edition(library):
    """A pool is kept under its edition: whoever changes articles or systems must raise ``EDITION`` and this digest."""
    from deconfound_bench.articles.corpus import digest as sign

    texts = (*library.corpus.texts, *library.kept.outputs, *library.truth.outputs, *library.evaluation.outputs)
    assert (constants.EDITION, sign(texts)[:16]) == (1, "002962ef3f34c94f")


COMMAND = [sys.executable, "-m", "deconfound", "bench", "synthetic", "--quick", "--seeds", "2", "--workers", "2"]


def test_the_quick_command_prints_winners_and_keeps_tables(tmp_path, capsys):
    where = tmp_path / "quick"
    assert main(["bench", "synthetic", "--quick", "--seeds", "1", "--workers", "1", "-o", str(where), "-q"]) == 0
    said = capsys.readouterr()
    assert "family with the lowest mean regret" in said.out
    assert len(read_scores(where / "results.parquet")) == 8 * 6
    assert (where / "tables" / "winners.svg").read_bytes().startswith(b"<?xml")
    assert (
        main(["bench", "synthetic", "--quick", "--seeds", "1", "--workers", "1", "-o", str(where), "-q", "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["constants"]["sizes"]["contexts"] == constants.QUICK.sizes.contexts
    assert told["digest"] == digest(read_scores(where / "results.parquet"))


def run_and_kill(where: Path, times: int) -> None:
    """Start the command again and again, kill it at random moments, and let the last run finish."""
    moments = np.random.default_rng(0)
    for _ in range(times):
        process = subprocess.Popen([*COMMAND, "-o", str(where), "-q"], stdout=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.5, 6.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*COMMAND, "-o", str(where), "-q"], stdout=subprocess.DEVNULL, check=True)


@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_and_started_again_it_ends_in_the_same_table(times, tmp_path):
    subprocess.run([*COMMAND, "-o", str(tmp_path / "whole"), "-q"], stdout=subprocess.DEVNULL, check=True)
    run_and_kill(tmp_path / "killed", times)
    whole, killed = (read_scores(tmp_path / name / "results.parquet") for name in ("whole", "killed"))
    assert len(killed) == 8 * 2 * 6
    assert digest(killed) == digest(whole)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "none"], "--seeds takes a number"),
        (["--seeds", "9-3"], "--seeds takes a number"),
        (["--families", "cvcy,cvci"], "did you mean"),
        (["--families", "cvci"], "name at least two"),
        (["--cells", "noise=3"], "The names are"),
        (["--workers", "0"], "--workers must be at least 1"),
    ],
)
def test_wrong_options_are_explained(options, message, tmp_path, capsys):
    assert main(["bench", "synthetic", "--quick", "-o", str(tmp_path / "x"), *options]) == 2
    assert message in capsys.readouterr().err
