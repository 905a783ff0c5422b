"""A score of a cached benchmark depends on its cell, seed and family only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.cached.benchmark import CachedBenchmark
from deconfound_bench.results import Cell, scores_digest
from deconfound_bench.sweep import SweepProgress, Task, run_sweep
from deconfound_bench.tasks.coding.spec import coding_cells
from deconfound_bench.tasks.coding.utility import REWARDS
from deconfound_bench.tasks.instructions import instruction_cells
from deconfound_bench.tasks.summarization import read_judged_grid, summarization_spec

from deconfound.engines import EngineOptions
from deconfound.evaluation import PAPER_FAMILY_NAMES

CELLS = tuple(
    Cell(confounding, n_log, size, reward)
    for confounding in (0.0, 0.9)
    for n_log in (100, 400)
    for size in (20, 60)
    for reward in ("smooth", "sharpened")
)


def make_benchmark(grid_folder, folder):
    grid = read_judged_grid(grid_folder / "summaries")
    spec = replace(summarization_spec(grid, 10), max_log_rows=400, max_experiment_rows=60)
    return CachedBenchmark(spec, grid_folder / "summaries", grid.digest, folder / "pool")


@pytest.fixture(scope="module")
def finished(grid_folder, tmp_path_factory):
    """The folder and the scores of a run with one worker."""
    folder = tmp_path_factory.mktemp("run")
    benchmark = make_benchmark(grid_folder, folder)
    return folder, run_sweep(
        benchmark, CELLS, range(2), PAPER_FAMILY_NAMES, folder, EngineOptions(workers=1), SweepProgress(quiet=True)
    )


def test_every_cell_seed_and_family_is_scored(finished):
    scores = finished[1]
    assert {score.key for score in scores} == {(c, s, f) for c in CELLS for s in range(2) for f in PAPER_FAMILY_NAMES}
    for score in scores:
        assert score.benchmark == "summarization-summaries"
        assert 0 <= score.regret <= 1
        assert np.isfinite([score.rmse_context, score.rmse_model_direct, score.rmse_model_dr]).all()
        assert score.hyperparameters.penalty is not None


def test_single_source_families_ignore_the_other_source(finished):
    """Exactly, because the draws are paired; doubly robust values of ``obs-only`` do use the experiment."""
    metrics = ("regret", "rmse_context", "rmse_model_direct", "top1", "top3")
    by_key = {score.key: [getattr(score, metric) for metric in metrics] for score in finished[1]}
    dr_by_key = {score.key: score.rmse_model_dr for score in finished[1]}
    for cell in CELLS:
        for seed in range(2):
            other = replace(cell, n_experiment=20)
            assert by_key[cell, seed, "obs-only"] == by_key[other, seed, "obs-only"]
            other = replace(cell, n_log=100, confounding=0.0)
            for family in ("exp-only", "representation-exp"):
                assert by_key[cell, seed, family] == by_key[other, seed, family]
                assert dr_by_key[cell, seed, family] == dr_by_key[other, seed, family]
    first = CELLS[0]
    assert by_key[first, 0, "exp-only"] != by_key[replace(first, n_experiment=60), 0, "exp-only"]
    assert by_key[first, 0, "obs-only"] != by_key[replace(first, n_log=400), 0, "obs-only"]
    assert by_key[first, 0, "obs-only"] != by_key[replace(first, confounding=0.9), 0, "obs-only"]
    assert by_key[first, 0, "exp-only"] != by_key[first, 1, "exp-only"]
    assert by_key[first, 0, "exp-only"] != by_key[replace(first, reward="sharpened"), 0, "exp-only"]


def test_smaller_and_larger_tasks_give_the_same_bits(grid_folder, finished):
    folder, scores = finished
    worker = make_benchmark(grid_folder, folder).opener(folder).open()
    by_key = {score.key: replace(score, seconds=0.0) for score in scores}
    for family in PAPER_FAMILY_NAMES:
        (score,) = worker.run(Task("any", 1, ((CELLS[6], family),)))
        assert replace(score, seconds=0.0) == by_key[score.key]
    mixed = worker.run(Task("any", 0, tuple((cell, "cvci") for cell in reversed(CELLS))))
    assert len(mixed) == len(CELLS)
    for score in mixed:
        assert replace(score, seconds=0.0) == by_key[score.key]


def test_two_workers_give_the_same_bits_as_one(grid_folder, finished, tmp_path):
    cells = CELLS[: len(CELLS) // 2]  # two logs, so four tasks
    benchmark = make_benchmark(grid_folder, tmp_path)
    two = run_sweep(
        benchmark, cells, range(2), PAPER_FAMILY_NAMES, tmp_path, EngineOptions(workers=2), SweepProgress(quiet=True)
    )
    assert scores_digest(two) == scores_digest([score for score in finished[1] if score.cell in cells])


def test_another_grid_or_constant_changes_the_constants(grid_folder, finished):
    benchmark = make_benchmark(grid_folder, finished[0])
    others = [
        replace(benchmark, grid_digest="other"),
        replace(benchmark, spec=replace(benchmark.spec, proxies=3)),
        replace(benchmark, spec=replace(benchmark.spec, max_log_rows=500)),
        replace(benchmark, spec=summarization_spec(read_judged_grid(grid_folder / "summaries"), 11)),
    ]
    assert len({one.constants for one in (benchmark, *others)}) == 5
    for name in ("held_out", "buckets", "routing", "sharpening", "segments", "components", "left_out"):
        assert f'"{name}"' in benchmark.constants


def test_the_cells_of_coding_and_instructions_are_complete():
    assert coding_cells() == tuple(Cell(0.5, 2_000, 100, reward.name) for reward in REWARDS)
    assert len(set(instruction_cells())) == 24
