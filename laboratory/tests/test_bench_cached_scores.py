"""Scores of a cached benchmark: each depends on its own cell, seed and family, and on nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.cached.benchmark import Cached
from deconfound_bench.coding import recipe as coding
from deconfound_bench.coding.utility import REWARDS
from deconfound_bench.instructions import recipe as chat
from deconfound_bench.results import Cell
from deconfound_bench.summarization import recipe as summaries
from deconfound_bench.sweep import Bar, Task, digest, sweep

from deconfound.evaluation import PAPER_FAMILY_NAMES

CELLS = tuple(
    Cell(confounding, n_log, size, reward)
    for confounding in (0.0, 0.9)
    for n_log in (100, 400)
    for size in (20, 60)
    for reward in ("smooth", "sharpened")
)


def cached(place, folder):
    grid = summaries.read_judged(place / "summaries")
    recipe = replace(summaries.summarization(grid, 10), longest_log=400, longest_experiment=60)
    return Cached(recipe, place / "summaries", grid.digest, folder / "pool")


@pytest.fixture(scope="module")
def run(place, tmp_path_factory):
    """A folder and what one worker found in it."""
    folder = tmp_path_factory.mktemp("run")
    return folder, sweep(cached(place, folder), CELLS, range(2), PAPER_FAMILY_NAMES, folder, 1, Bar(quiet=True))


def test_every_cell_seed_and_family_is_scored(run):
    scores = run[1]
    assert {one.key for one in scores} == {(c, s, f) for c in CELLS for s in range(2) for f in PAPER_FAMILY_NAMES}
    for one in scores:
        assert one.benchmark == "summarization-summaries"
        assert 0 <= one.regret <= 1
        assert np.isfinite([one.rmse_context, one.rmse_model_direct, one.rmse_model_dr]).all()
        assert one.choice.penalty is not None


def test_single_sources_do_not_see_the_other(run):
    """Exactly, by construction of the draws; doubly robust values of ``obs-only`` do see the experiment."""
    metrics = ("regret", "rmse_context", "rmse_model_direct", "top1", "top3")
    by = {one.key: [getattr(one, metric) for metric in metrics] for one in run[1]}
    robust = {one.key: one.rmse_model_dr for one in run[1]}
    for cell in CELLS:
        for seed in range(2):
            assert by[cell, seed, "obs-only"] == by[replace(cell, n_experiment=20), seed, "obs-only"]
            other = replace(cell, n_log=100, confounding=0.0)
            for family in ("exp-only", "representation-exp"):
                assert by[cell, seed, family] == by[other, seed, family]
                assert robust[cell, seed, family] == robust[other, seed, family]
    first = CELLS[0]
    assert by[first, 0, "exp-only"] != by[replace(first, n_experiment=60), 0, "exp-only"]
    assert by[first, 0, "obs-only"] != by[replace(first, n_log=400), 0, "obs-only"]
    assert by[first, 0, "obs-only"] != by[replace(first, confounding=0.9), 0, "obs-only"]
    assert by[first, 0, "exp-only"] != by[first, 1, "exp-only"]
    assert by[first, 0, "exp-only"] != by[replace(first, reward="sharpened"), 0, "exp-only"]


def test_asking_for_less_or_all_at_once_gives_the_same_bits(place, run):
    """A task may hold any cells: a score depends on its own cell, seed and family alone."""
    folder, scores = run
    worker = cached(place, folder).open(folder)
    known = {one.key: replace(one, seconds=0.0) for one in scores}
    for family in PAPER_FAMILY_NAMES:
        one = worker.run(Task("any", 1, ((CELLS[6], family),)))[0]
        assert replace(one, seconds=0.0) == known[one.key]
    mixed = worker.run(Task("any", 0, tuple((cell, "cvci") for cell in reversed(CELLS))))
    assert len(mixed) == len(CELLS)
    for one in mixed:
        assert replace(one, seconds=0.0) == known[one.key]


def test_workers_do_not_change_a_bit(place, run, tmp_path):
    cells = CELLS[: len(CELLS) // 2]  # two logs, so four tasks
    twice = sweep(cached(place, tmp_path), cells, range(2), PAPER_FAMILY_NAMES, tmp_path, 2, Bar(quiet=True))
    assert digest(twice) == digest([one for one in run[1] if one.cell in cells])


def test_another_grid_or_constant_is_another_benchmark(place, run):
    benchmark = cached(place, run[0])
    others = [
        replace(benchmark, grid_digest="other"),
        replace(benchmark, recipe=replace(benchmark.recipe, proxies=3)),
        replace(benchmark, recipe=replace(benchmark.recipe, longest_log=500)),
        replace(benchmark, recipe=summaries.summarization(summaries.read_judged(place / "summaries"), 11)),
    ]
    assert len({one.constants for one in (benchmark, *others)}) == 5
    told = benchmark.constants
    for name in ("held_out", "buckets", "routing", "sharpening", "segments", "components", "left_out"):
        assert f'"{name}"' in told


def test_cells_are_those_of_the_paper():
    main, winners, values = summaries.main_cells(), summaries.map_cells(), summaries.value_cells()
    assert [len(set(cells)) for cells in (main, winners, values)] == [48, 24, 18]
    assert {cell.confounding for cell in main} == {0.0, 0.2, 0.5, 0.8, 0.9, 0.99}
    assert {(cell.n_log, cell.n_experiment) for cell in main} == {(n, m) for n in (2_000, 20_000) for m in (20, 200)}
    assert {(cell.n_log, cell.n_experiment) for cell in winners} == {(n, m) for n in (2_000, 20_000) for m in (20, 100)}
    assert {(cell.n_log, cell.n_experiment) for cell in values} == {(20_000, m) for m in (100, 200, 800)}
    assert {cell.reward for cell in (*winners, *values)} == {"smooth"}
    assert coding.coding_cells() == tuple(Cell(0.5, 2_000, 100, reward.name) for reward in REWARDS)
    assert len(set(chat.instruction_cells())) == 24
