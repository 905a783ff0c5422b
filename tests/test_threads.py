"""Threads: BLAS runs on one inside the numerical code, results never depend on their number, and none deadlocks."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import CancelledError
from threading import Event

import numpy as np
import pytest
from scipy import linalg
from threadpoolctl import threadpool_info

from deconfound.design import DenseMatrix
from deconfound.linalg import ridge
from deconfound.reward import Cvci
from deconfound.threads import one_blas_thread, parallel_map, stoppable, thread_count
from deconfound.tune import tune
from tests.support.random_rows import TALL, make


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_runs_on_one_thread_inside_and_as_before_outside():
    linalg.solve(np.eye(2), np.ones(2))  # loads SciPy's own BLAS
    before = blas_threads()
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == before


@pytest.mark.parametrize("entry", ["tune", "fit"])
def test_every_entry_to_the_numerical_code_limits_blas(entry, monkeypatch):
    """Many small solves are ten times slower with two BLAS threads, and large products have crashed."""
    threads: list[set[int]] = []
    real = Cvci.prepare.__func__

    def prepare(cls, sources, candidates):
        threads.append(blas_threads())
        return real(cls, sources, candidates)

    monkeypatch.setattr(Cvci, "prepare", classmethod(prepare))
    pair = make(TALL)
    if entry == "tune":
        tune(Cvci(), pair.log, pair.experiment, candidates=[Cvci(0.1), Cvci(0.9)])
    else:
        Cvci().fit(pair.log, pair.experiment)
    assert threads == [{1}]


def test_results_are_in_the_order_of_the_items_and_errors_are_raised():
    assert parallel_map(lambda x: x * x, range(50)) == [x * x for x in range(50)]
    assert parallel_map(lambda x: x, []) == []
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda x: 1 // x, [1, 0, 2])


def test_nested_maps_do_not_deadlock():
    nested = parallel_map(lambda x: parallel_map(lambda y: x + y, range(4)), range(8))
    assert nested == [[x + y for y in range(4)] for x in range(8)]


def _in_child(queue: multiprocessing.queues.Queue[list[int]]) -> None:
    queue.put(parallel_map(lambda x: x + 1, range(4)))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # the very thing Python warns of
def test_a_forked_child_starts_its_own_threads():
    """The child inherits the parent's pool without its threads."""
    parallel_map(lambda x: x, range(4))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=30) == [1, 2, 3, 4]
    child.join(30)


@pytest.mark.parametrize(("setting", "expected"), [("3", 3), ("1", 1), ("0", None), ("-2", None), ("many", None)])
def test_the_environment_can_set_the_number_of_threads(setting, expected, monkeypatch):
    monkeypatch.delenv("DECONFOUND_THREADS", raising=False)
    default = thread_count()
    monkeypatch.setenv("DECONFOUND_THREADS", setting)
    assert thread_count() == (default if expected is None else expected)


def test_the_number_of_threads_changes_no_bit_of_a_ridge(monkeypatch):
    rng = np.random.default_rng(0)
    features, targets = DenseMatrix(rng.standard_normal((9000, 12))), rng.random(9000)
    many = ridge(features, targets, 1.0)
    monkeypatch.setenv("DECONFOUND_THREADS", "1")
    single = ridge(features, targets, 1.0)
    np.testing.assert_array_equal(many.coef, single.coef)


def test_tiles_of_work_that_nobody_waits_for_are_not_begun(monkeypatch):
    monkeypatch.setenv("DECONFOUND_THREADS", "1")
    stop, done = Event(), []

    def work(tile: int) -> None:
        done.append(tile)
        if tile == 3:
            stop.set()

    with stoppable(stop), pytest.raises(CancelledError):
        parallel_map(work, range(100))
    assert done == [0, 1, 2, 3]
    parallel_map(work, range(5))  # the flag is that of the block
    assert len(done) == 9
