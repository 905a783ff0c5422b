"""How much faster the controlled validation is than the same fits with scikit-learn.

A sample of tasks (one log, both experiment sizes, all six families) is run as the sweep runs it. The comparison fits
the same families with one scikit-learn `Ridge` after another on the hashed text: a sample of these fits is timed in the
same process and scaled up to all of them. README.md in this folder explains the output.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from deconfound_bench.articles import make_articles
from deconfound_bench.replication import candidate_for
from deconfound_bench.results import Cell
from deconfound_bench.summarizers import SUMMARIZERS
from deconfound_bench.sweep import Task
from deconfound_bench.synthetic.benchmark import SyntheticWorker
from deconfound_bench.synthetic.constants import EXPERIMENT_ROWS, GRID, LOG_ROWS, QUICK, Constants
from deconfound_bench.synthetic.draws import ExperimentRows, LogRows, SyntheticSampler, draw_experiment, draw_log
from deconfound_bench.synthetic.pool import featurize, hash_summaries, write_summaries
from scipy import sparse
from sklearn.linear_model import Ridge

from deconfound.design import FloatArray, Rows
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.reward import TrainingData
from deconfound.reward.cvci import penalties
from deconfound.threads import one_blas_thread

GOAL = 30.0
FOLDS = 5  # of tuning, and of cross-fitting
TUNED = ("grounded", "cvci", "cvci-residual")
CONFOUNDINGS = (0.0, 0.9)


@dataclass(frozen=True, slots=True)
class Plain:
    """Log and experiment as plain rows: hashed text, proxies, outcomes."""

    log: sparse.csr_matrix
    experiment: sparse.csr_matrix
    log_psi: FloatArray
    experiment_psi: FloatArray
    log_rows: LogRows
    experiment_rows: ExperimentRows

    def training_data(self, rows: int) -> TrainingData:
        """The log and the first rows of the experiment, as the families get them."""
        return TrainingData(
            Rows(self.log, outcome=self.log_rows.outcome),
            Rows(self.experiment[:rows], outcome=self.experiment_rows.outcome[:rows]),
        )

    def pooled(self, pooling: float, rows: int, proxies: bool) -> tuple[object, FloatArray, FloatArray]:
        """Both sources stacked and weighted, over phi or over psi."""
        log, experiment = (self.log_psi, self.experiment_psi) if proxies else (self.log, self.experiment)
        stack = np.vstack if proxies else sparse.vstack
        count = log.shape[0]
        weight = np.concatenate([np.full(count, pooling / count), np.full(rows, (1.0 - pooling) / rows)])
        outcome = np.concatenate([self.log_rows.outcome, self.experiment_rows.outcome[:rows]])
        return stack([log, experiment[:rows]]), outcome, weight


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The controlled validation against plain scikit-learn fits.")
    parser.add_argument("--quick", action="store_true", help="a small pool and log, without a goal for the ratio")
    options = parser.parse_args(arguments)
    os.environ["DECONFOUND_THREADS"] = "1"  # as in a worker of the sweep: one thread for each side
    setting, logs = (QUICK, (200, 1_000)) if options.quick else (GRID, LOG_ROWS)
    sampler, phi = make_sampler(setting)
    Ridge().fit(np.eye(3), np.arange(3.0))  # scikit-learn loads much at its first fit, and that is not its speed
    ours, plain = [], []
    for confounding in CONFOUNDINGS:
        for rows in logs:
            cells = [Cell(confounding, rows, size, "latent") for size in EXPERIMENT_ROWS]
            ours.append(time_ours(sampler, cells))
            plain.append(time_plain(sampler, phi, cells))
            print(f"confounding {confounding:g}, {rows:,} log rows: ours {ours[-1]:.2f} s, plain {plain[-1]:.0f} s")
    ratio = sum(plain) / sum(ours)
    print(f"ratio over the sampled tasks: {ratio:.0f} (goal {GOAL:g})")
    return 0 if options.quick or ratio >= GOAL else 1


def make_sampler(setting: Constants) -> tuple[SyntheticSampler, sparse.csr_matrix]:
    sizes = setting.sizes
    corpus = make_articles(sizes.contexts + sizes.truth + sizes.evaluation + sizes.embedding, setting.seed)
    summaries = write_summaries(corpus, setting, 2, lambda _stage, _done: None)
    pool = featurize(summaries, setting, lambda _stage, _done: None)
    phi = hash_summaries(corpus, summaries.split.train.articles, summaries.train, setting).phi()
    print(f"pool: {phi.shape[0]:,} outputs, {phi.nnz / phi.shape[0]:.0f} hashed words and pairs each")
    models = tuple(summarizer.name for summarizer in SUMMARIZERS)
    return SyntheticSampler.from_pool(pool, setting, models), phi


def time_ours(sampler: SyntheticSampler, cells: Sequence[Cell]) -> float:
    worker = SyntheticWorker("synthetic", sampler)
    task = Task("sample", 0, tuple((cell, family) for cell in cells for family in PAPER_FAMILY_NAMES))
    start = time.perf_counter()
    worker.run(task)
    return time.perf_counter() - start


def time_plain(sampler: SyntheticSampler, phi: sparse.csr_matrix, cells: Sequence[Cell]) -> float:
    """Seconds of all fits at both experiment sizes; each kind is timed on a few fits and scaled up."""
    rows = plain_rows(sampler, phi, cells[0])
    log_fit = timed(lambda: Ridge(alpha=1.0).fit(rows.log, rows.log_rows.outcome), 1)
    labels = timed(lambda: Ridge(alpha=3.0).fit(rows.log, rows.log_rows.labels), 1)
    total = labels + log_fit  # the proxies, and f_obs, which obs-only, grounded and cvci-residual share
    for cell in cells:
        total += sum(count * seconds for count, seconds in fits_of(rows, cell))
    return total


def fits_of(rows: Plain, cell: Cell) -> list[tuple[int, float]]:
    """The number of fits of each kind in one cell, and the seconds per fit."""
    size = cell.n_experiment
    refits = 1 + FOLDS  # the final fit and the cross-fitted ones
    data = rows.training_data(size)
    counts = {name: len(candidate_for(name).grid(data)) * FOLDS + refits for name in TUNED}
    outcome, psi = rows.experiment_rows.outcome[:size], rows.experiment_psi[:size]
    alone = timed(lambda: Ridge(alpha=1.0).fit(rows.experiment[:size], outcome), 3)
    small = timed(lambda: Ridge(alpha=1.0).fit(psi, outcome), 3)

    def pooled(proxies: bool) -> float:  # the penalty determines how long the iterative solver takes
        return float(np.mean([timed(partial(fit_pooled, rows, size, p, proxies), 1) for p in penalties(data)]))

    return [
        (refits, alone),
        (refits + counts["grounded"], small),
        (counts["cvci"], pooled(proxies=False)),
        (counts["cvci-residual"], pooled(proxies=True)),
    ]


def fit_pooled(rows: Plain, size: int, penalty: float, proxies: bool) -> Ridge:
    features, outcome, weight = rows.pooled(0.5, size, proxies)
    return Ridge(alpha=penalty).fit(features, outcome, sample_weight=weight)


def plain_rows(sampler: SyntheticSampler, phi: sparse.csr_matrix, cell: Cell) -> Plain:
    train, constants = sampler.pool.train, sampler.constants
    log = draw_log(sampler.dgp, train, cell.confounding, cell.n_log, constants.longest_log, 0)
    experiment = draw_experiment(sampler.dgp, train, constants.longest_experiment, 0)
    psi = sampler.replication(cell.confounding, cell.n_log, 0).train_replay.psi
    return Plain(phi[log.row], phi[experiment.row], psi[log.row], psi[experiment.row], log, experiment)


def timed(run: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        with one_blas_thread():
            run()
    return (time.perf_counter() - start) / times


if __name__ == "__main__":
    raise SystemExit(main())
