"""Run studies in batches and store their raw measures, so that an interrupted run loses at most one batch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import deconfound
from benchmarks.stress_scenarios import all_scenarios
from benchmarks.stress_scores import Measures, measure

FORMAT = 1
BATCH = 20  # studies between two writes of the file
SECONDS = "seconds"  # processor time of one study, stored next to its measures
MEASURING_MODULES = ("generators", "scenarios", "learner", "measures", "references", "scores")
Study = tuple[str, int]  # scenario and number


@dataclass(slots=True)
class Results:
    """Raw measures by scenario and study, and what they were computed with."""

    seed: int
    source: str  # digest of the code; studies of different code are never mixed
    studies: dict[str, dict[int, Measures]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Results:
        """The results that ``write`` stored."""
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document.get("format") != FORMAT:
            raise SystemExit(f"{path} is not a result of this benchmark in format {FORMAT}.")
        studies = {name: {int(n): one for n, one in rows.items()} for name, rows in document["studies"].items()}
        return cls(document["seed"], document["source"], studies)

    def write(self, path: Path) -> None:
        """Replace the file at once: an interruption leaves the old or the new one."""
        rows = {name: {str(n): by_number[n] for n in sorted(by_number)} for name, by_number in self.studies.items()}
        document = {"format": FORMAT, "seed": self.seed, "source": self.source, "studies": rows}
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(json.dumps(document), encoding="utf-8")
        partial.replace(path)

    def add(self, study: Study, measures: Measures) -> None:
        """Store one study."""
        self.studies.setdefault(study[0], {})[study[1]] = measures

    def merge(self, other: Results, name: str) -> None:
        """Add the studies of another run of the same code and seed."""
        if (other.seed, other.source) != (self.seed, self.source):
            raise SystemExit(f"{name} was computed with another seed or another version of the code.")
        for scenario, rows in other.studies.items():
            self.studies.setdefault(scenario, {}).update(rows)

    def missing(self, names: Iterable[str], count: int) -> list[Study]:
        """Studies that have not been run; the scenarios take turns, so that early tables cover all of them."""
        return [(name, n) for n in range(count) for name in names if n not in self.studies.get(name, {})]


def source_digest() -> str:
    """Digest of all code that the measures depend on."""
    package = sorted(Path(deconfound.__file__).parent.rglob("*.py"))
    own = [Path(__file__).with_name(f"stress_{name}.py") for name in MEASURING_MODULES]
    digest = sha256()
    for path in (*package, *own):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run_study(task: tuple[Study, int]) -> tuple[Study, Measures]:
    """Measures of one study and the processor time that it took; depends on nothing but its arguments."""
    (name, number), seed = task
    start = time.process_time()
    measures = measure(all_scenarios()[name], seed, number)
    return (name, number), {**measures, SECONDS: time.process_time() - start}


def run(results: Results, studies: Sequence[Study], processes: int, path: Path | None) -> Iterator[int]:
    """Run the studies and store them after each batch; yields the number of finished studies."""
    batches = [studies[start : start + BATCH] for start in range(0, len(studies), BATCH)]
    with ExitStack() as stack:
        apply: Callable[[list[tuple[Study, int]]], Iterable[tuple[Study, Measures]]] = partial(map, run_study)
        if processes > 1:
            pool = stack.enter_context(ProcessPoolExecutor(processes, mp_context=get_context("spawn")))
            apply = partial(pool.map, run_study)
        finished = 0
        for batch in batches:
            for study, measures in apply([(study, results.seed) for study in batch]):
                results.add(study, measures)
            if path is not None:
                results.write(path)
            finished += len(batch)
            yield finished
