"""A benchmark in the process of a worker, as a task of an engine: what travels is JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from deconfound import engines
from deconfound_bench.results import Cell, Score
from deconfound_bench.sweep.folder import scores_to_text
from deconfound_bench.sweep.request import Benchmark, Opener, Task


def engine_task(benchmark: Benchmark, directory: Path) -> engines.Task:
    """How workers open a benchmark whose shared files are in a folder."""
    shared = {"benchmark": benchmark.name, "opener": asdict(benchmark.opener(directory.absolute()))}
    return engines.Task(__name__, open_benchmark.__name__, json.dumps(shared).encode())


def to_payload(task: Task) -> engines.Payload:
    """A task for ``open_benchmark``."""
    pairs = [[asdict(cell), family] for cell, family in task.pairs]
    return engines.Payload(task.title, json.dumps({"group": task.group, "seed": task.seed, "pairs": pairs}).encode())


def open_benchmark(shared: bytes) -> Callable[[bytes], bytes]:
    """The function from a task to its scores as text; scores that were not requested are an error."""
    document = json.loads(shared)
    worker = Opener(**document["opener"]).open()

    def run(content: bytes) -> bytes:
        task = _to_task(content)
        scores = worker.run(task)
        _require_requested(scores, task, document["benchmark"])
        return scores_to_text(scores).encode()

    return run


def _to_task(content: bytes) -> Task:
    document = json.loads(content)
    pairs = tuple((Cell(**cell), family) for cell, family in document["pairs"])
    return Task(document["group"], document["seed"], pairs)


def _require_requested(scores: Sequence[Score], task: Task, benchmark: str) -> None:
    if sorted(score.key for score in scores) != sorted(task.keys):
        raise ValueError("the returned scores are not the requested ones")
    if any(score.benchmark != benchmark for score in scores):
        raise ValueError(f"the returned scores do not belong to {benchmark}")
