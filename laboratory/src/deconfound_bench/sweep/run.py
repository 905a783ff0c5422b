"""Run a benchmark: find out what is missing, run it, write the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deconfound.errors import UsageError
from deconfound_bench.results import Cell, Score
from deconfound_bench.sweep.bar import Bar
from deconfound_bench.sweep.folder import Folder, opened
from deconfound_bench.sweep.pool import Work, run_tasks
from deconfound_bench.sweep.table import write_results
from deconfound_bench.sweep.task import Benchmark, Only, SweepError, Task, asked, tasks_for


def sweep(
    benchmark: Benchmark,
    cells: Sequence[Cell],
    seeds: Sequence[int],
    families: Sequence[str],
    directory: Path,
    workers: int,
    progress: Bar,
    *,
    only: Only | None = None,
) -> tuple[Score, ...]:
    """Score every family in every cell with every seed, and leave the table in ``directory``.

    ``only`` may leave some families out of some cells.

    Scores that an earlier sweep left there are not computed again. The numbers, times apart, are the same for any
    number of workers and any number of interruptions. One worker runs in this process.
    """
    if workers < 1:
        raise UsageError(f"--workers must be at least 1, not {workers}.")
    ask = asked(cells, seeds, families, only)
    with opened(directory, benchmark, progress.say) as folder:
        tasks = tasks_for(benchmark, ask, folder.known)
        total = len(tasks_for(benchmark, ask, ()))
        if tasks:
            _run(folder, Work(benchmark, folder.shared, tasks, workers), total, progress)
        scores = tuple(folder.known[key] for key in ask.keys)
        write_results(folder.results, benchmark, scores, ask.families)
    return scores


def _run(folder: Folder, work: Work, total: int, progress: Bar) -> None:
    from deconfound.linalg import one_blas_thread

    def keep(task: Task, scores: str) -> None:
        folder.keep(task, scores)
        progress.tick()

    advice = f"Finished work is kept in {folder.path}; run the same command again to go on."
    try:
        # Several BLAS threads add up in another order than one, and the workers have one.
        with one_blas_thread():
            work.benchmark.prepare(work.shared, progress)
            progress.begin(total, total - len(work.tasks))
            run_tasks(work, keep, progress.pulse)
    except KeyboardInterrupt:
        progress.say(f"Stopped. {advice}")
        raise
    except SweepError as error:
        if error.trace:
            progress.say(error.trace)
        raise SweepError(f"{error} {advice}", error.trace) from error
    finally:
        progress.clear()
