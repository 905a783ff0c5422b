"""Read the results of finished benchmarks for the page, and reject incomplete ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from deconfound.errors import DataError, Problem, UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.formatting import join_names, quote
from deconfound.reward import VARIANTS
from deconfound_bench.cached.target_r2 import TargetFit, read_target_fits
from deconfound_bench.results import Cell, Score, read_scores, unreadable_table
from deconfound_bench.score_tables import format_cell
from deconfound_bench.synthetic.benchmark import TARGETED_FAMILIES
from deconfound_bench.synthetic.constants import grid_cells, targeted_cells
from deconfound_bench.tasks.coding.spec import coding_cells
from deconfound_bench.tasks.instructions import instruction_cells
from deconfound_bench.tasks.summarization import HARD_CONTEXTS, main_cells, value_cells, winner_map_cells

KINDS = ("synthetic", "synthetic-targeted", "summarization", "coding", "instructions")
COMPLETE_HINT = "Run it without --cells and --families and with the same -o: finished tasks are reused."


@dataclass(frozen=True, slots=True)
class Source:
    """One finished benchmark: its scores, its constants, and the fits of its target if it is a cached one."""

    benchmark: str
    scores: tuple[Score, ...]
    constants: str  # JSON
    fits: tuple[TargetFit, ...] = ()

    @property
    def kind(self) -> str:
        """One of ``KINDS``; the name of a cached benchmark also contains that of its grid."""
        return benchmark_kind(self.benchmark)

    @property
    def command(self) -> str:
        """The command that produces the results."""
        if self.kind.startswith("synthetic"):
            targeted = " --targeted" if self.kind == "synthetic-targeted" else ""
            return f"deconfound bench synthetic{targeted} -o OUT"
        grid = self.benchmark.partition("-")[2]
        return f"deconfound bench {self.kind} --grid DIR/{grid}{self._contexts_option()} -o OUT"

    def _contexts_option(self) -> str:
        if self.kind != "summarization":
            return ""
        contexts = json.loads(self.constants).get("contexts", HARD_CONTEXTS)
        return "" if contexts == HARD_CONTEXTS else f" --contexts {'all' if contexts is None else contexts}"


def read_sources(paths: Sequence[Path]) -> tuple[Source, ...]:
    """All benchmarks among the files, in the order of ``KINDS`` and then by name."""
    fits: dict[str, tuple[TargetFit, ...]] = {}
    results: dict[str, tuple[tuple[Score, ...], str]] = {}
    for path in paths:
        if "r2" in _column_names(path):
            for benchmark, group in read_target_fits(path).items():
                _require_new(benchmark, fits, "alignments")
                fits[benchmark] = group
        else:
            scores = read_scores(path)
            for benchmark in sorted({score.benchmark for score in scores}):
                _require_new(benchmark, results, "results")
                own = tuple(score for score in scores if score.benchmark == benchmark)
                results[benchmark] = own, read_constants(path)
    _require_results(results, fits)
    sources = [Source(name, *stored, fits.get(name, ())) for name, stored in results.items()]
    for source in sources:
        _require_complete(source)
    return tuple(sorted(sources, key=lambda source: (KINDS.index(source.kind), source.benchmark)))


def benchmark_kind(benchmark: str) -> str:
    """The kind of a benchmark, from its name."""
    kind = benchmark if benchmark.startswith("synthetic") else benchmark.partition("-")[0]
    if kind not in KINDS:
        raise UsageError(f"The page covers {', '.join(KINDS)}, but there are results of {quote(benchmark)}.")
    return kind


def read_constants(path: Path) -> str:
    """The constants of a result table, as JSON."""
    import pyarrow.parquet as pq

    constants = (pq.read_schema(path).metadata or {}).get(b"constants")
    if constants is None:
        what = "does not contain the constants of its benchmark"
        raise DataError([Problem(str(path), what, "Pass the results.parquet that `deconfound bench` wrote.")])
    return bytes(constants).decode()


def _column_names(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable_table(path, error) from error


def _require_new(benchmark: str, present: Collection[str], what: str) -> None:
    if benchmark in present:
        raise UsageError(f"Two files contain {what} of {quote(benchmark)}. Pass one of them.")


def _require_results(results: dict[str, tuple[tuple[Score, ...], str]], fits: dict[str, tuple[TargetFit, ...]]) -> None:
    if not results:
        raise UsageError(f"The page needs results of at least one of {', '.join(KINDS)}; there are none.")
    without_results = sorted(set(fits) - set(results))
    if without_results:
        names = join_names(without_results)
        raise UsageError(f"There are alignments of {names} but no results. Pass the results.parquet, too.")


def _require_complete(source: Source) -> None:
    """Reject a partial benchmark: its averages would be compared with those of a complete one."""
    present = {(score.cell, score.family) for score in source.scores}
    missing = [
        (cell, family)
        for cells, families in _required_scores(source.kind)
        for cell in cells
        for family in families
        if (cell, family) not in present
    ]
    if missing:
        cell, family = missing[0]
        raise UsageError(
            f"{source.benchmark} is incomplete: {family} is missing at {format_cell(cell)}. {COMPLETE_HINT}"
        )


def _required_scores(kind: str) -> tuple[tuple[tuple[Cell, ...], tuple[str, ...]], ...]:
    """Cells and families that a section uses."""
    if kind == "summarization":
        with_variants = (*PAPER_FAMILY_NAMES, *(variant.name for variant in VARIANTS))
        return ((*main_cells(), *value_cells()), PAPER_FAMILY_NAMES), (winner_map_cells(), with_variants)
    cells, families = {
        "synthetic": (grid_cells, PAPER_FAMILY_NAMES),
        "synthetic-targeted": (targeted_cells, TARGETED_FAMILIES),
        "coding": (coding_cells, PAPER_FAMILY_NAMES),
        "instructions": (instruction_cells, PAPER_FAMILY_NAMES),
    }[kind]
    return ((cells(), families),)
