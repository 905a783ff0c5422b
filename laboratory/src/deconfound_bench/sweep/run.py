"""Run a sweep: determine what is missing, run it, write the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deconfound.engines import EngineOptions, require_cluster
from deconfound.threads import one_blas_thread
from deconfound_bench.results import Cell, Score, write_results
from deconfound_bench.sweep.folder import SweepFolder, locked_folder
from deconfound_bench.sweep.progress import SweepProgress
from deconfound_bench.sweep.request import Benchmark, FamilyFilter, SweepError, Task, make_request, split_into_tasks
from deconfound_bench.sweep.run_tasks import TaskBatch, run_tasks


def run_sweep(
    benchmark: Benchmark,
    cells: Sequence[Cell],
    seeds: Sequence[int],
    families: Sequence[str],
    directory: Path,
    engine: EngineOptions,
    progress: SweepProgress,
    *,
    family_filter: FamilyFilter | None = None,
) -> tuple[Score, ...]:
    """Score every family in every cell with every seed, and write the table to ``directory``.

    ``family_filter`` may exclude families from some cells. Scores saved there by an earlier sweep are reused. Apart
    from the times, the results do not depend on the engine, on the number of its workers or on interruptions. A single
    worker of this computer is this process.
    """
    require_cluster(engine)
    request = make_request(cells, seeds, families, family_filter)
    with locked_folder(directory, benchmark, progress.message) as folder:
        tasks = split_into_tasks(benchmark, request, folder.scores)
        total = len(split_into_tasks(benchmark, request, ()))
        if tasks:
            _run(folder, TaskBatch(benchmark, folder.shared, tasks, engine), total, progress)
        scores = tuple(folder.scores[key] for key in request.keys)
        write_results(folder.results, benchmark.name, benchmark.constants, scores, request.families)
    return scores


def _run(folder: SweepFolder, batch: TaskBatch, total: int, progress: SweepProgress) -> None:
    def save(task: Task, scores: str) -> None:
        folder.save(task, scores)
        progress.finish_task()

    advice = f"Finished tasks are saved in {folder.path}; run the same command again to continue."
    try:
        # Several BLAS threads would add up in a different order than one, and each worker has one.
        with one_blas_thread():
            batch.benchmark.prepare(batch.shared, progress)
            progress.begin(total, total - len(batch.tasks))
            run_tasks(batch, save, progress.heartbeat)
    except KeyboardInterrupt:
        progress.message(f"Stopped. {advice}")
        raise
    except SweepError as error:
        if error.trace:
            progress.message(error.trace)
        raise SweepError(f"{error} {advice}", error.trace) from error
    finally:
        progress.clear()
