"""Read finished benchmarks for the page, and refuse what is not whole."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from deconfound.errors import DataError, Problem, UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.formatting import join_names, quote
from deconfound.reward import VARIANTS
from deconfound_bench.cached.alignment import Aligned, read_alignment
from deconfound_bench.coding.recipe import coding_cells
from deconfound_bench.instructions.recipe import instruction_cells
from deconfound_bench.results import Cell, Score, read_scores
from deconfound_bench.summarization import recipe as summaries
from deconfound_bench.synthetic.constants import grid_cells, targeted_cells
from deconfound_bench.synthetic.targeted import TARGETED_FAMILIES
from deconfound_bench.tables.paired import named

KINDS = ("synthetic", "synthetic-targeted", "summarization", "coding", "instructions")
WHOLE = "Run it without --cells and --families, with the same -o: what is finished is kept."


@dataclass(frozen=True, slots=True)
class Source:
    """One finished benchmark: its scores, what it was made with, and the fits of its target if there are any."""

    benchmark: str
    scores: tuple[Score, ...]
    constants: str  # JSON
    aligned: tuple[Aligned, ...] = ()

    @property
    def kind(self) -> str:
        """One of ``KINDS``; what is cached has its grid's name after it."""
        return kind(self.benchmark)

    @property
    def command(self) -> str:
        """What makes it again."""
        if self.kind.startswith("synthetic"):
            targeted = " --targeted" if self.kind == "synthetic-targeted" else ""
            return f"deconfound bench synthetic{targeted} -o OUT"
        return f"deconfound bench {self.kind} --grid DIR/{self.benchmark.partition('-')[2]}{self._contexts()} -o OUT"

    def _contexts(self) -> str:
        if self.kind != "summarization":
            return ""
        contexts = json.loads(self.constants).get("contexts", summaries.HARD)
        return "" if contexts == summaries.HARD else f" --contexts {'all' if contexts is None else contexts}"


def read_sources(paths: Sequence[Path]) -> tuple[Source, ...]:
    """All benchmarks among the files, in the order of ``KINDS`` and then by name."""
    aligned: dict[str, tuple[Aligned, ...]] = {}
    results: dict[str, tuple[tuple[Score, ...], str]] = {}
    for path in paths:
        if "r2" in _columns(path):
            for benchmark, fits in read_alignment(path).items():
                _once(benchmark, aligned, "alignments")
                aligned[benchmark] = fits
        else:
            scores = read_scores(path)
            for benchmark in sorted({one.benchmark for one in scores}):
                _once(benchmark, results, "results")
                results[benchmark] = tuple(one for one in scores if one.benchmark == benchmark), constants(path)
    _match(results, aligned)
    sources = [Source(name, *held, aligned.get(name, ())) for name, held in results.items()]
    for source in sources:
        _whole(source)
    return tuple(sorted(sources, key=lambda source: (KINDS.index(source.kind), source.benchmark)))


def kind(benchmark: str) -> str:
    """What sort of benchmark goes by this name."""
    found = benchmark if benchmark.startswith("synthetic") else benchmark.partition("-")[0]
    if found not in KINDS:
        raise UsageError(f"The comparison knows {', '.join(KINDS)}; there are results of {quote(benchmark)}.")
    return found


def constants(path: Path) -> str:
    """JSON of all that decided the numbers of a results table."""
    import pyarrow.parquet as pq

    held = (pq.read_schema(path).metadata or {}).get(b"constants")
    if held is None:
        what = "does not say what it was made with"
        raise DataError([Problem(str(path), what, "Name the results.parquet that `deconfound bench` wrote.")])
    return bytes(held).decode()


def _columns(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowInvalid) as error:
        what = f"cannot be read as a table ({error})"
        raise DataError([Problem(str(path), what, "Run the benchmark again with the same -o.")]) from error


def _once(benchmark: str, there: Collection[str], what: str) -> None:
    if benchmark in there:
        raise UsageError(f"Two files hold {what} of {quote(benchmark)}. Name one of them.")


def _match(results: dict[str, tuple[tuple[Score, ...], str]], aligned: dict[str, tuple[Aligned, ...]]) -> None:
    if not results:
        raise UsageError(f"The comparison needs results of {', '.join(KINDS)}; there are none.")
    alone = sorted(set(aligned) - set(results))
    if alone:
        raise UsageError(f"There are alignments of {join_names(alone)} but no results. Name its results.parquet, too.")


def _whole(source: Source) -> None:
    """Refuse a part of a benchmark: its averages would stand beside those of the whole."""
    there = {(one.cell, one.family) for one in source.scores}
    missing = [
        (cell, family)
        for cells, families in _needed(source.kind)
        for cell in cells
        for family in families
        if (cell, family) not in there
    ]
    if missing:
        cell, family = missing[0]
        raise UsageError(f"{source.benchmark} lacks {family} at {named(cell)} and is not whole. {WHOLE}")


def _needed(name: str) -> tuple[tuple[tuple[Cell, ...], tuple[str, ...]], ...]:
    """Cells and families that a section speaks of."""
    if name == "summarization":
        everyone = (*PAPER_FAMILY_NAMES, *(variant.name for variant in VARIANTS))
        return (
            ((*summaries.main_cells(), *summaries.value_cells()), PAPER_FAMILY_NAMES),
            (summaries.map_cells(), everyone),
        )
    cells, families = {
        "synthetic": (grid_cells, PAPER_FAMILY_NAMES),
        "synthetic-targeted": (targeted_cells, TARGETED_FAMILIES),
        "coding": (coding_cells, PAPER_FAMILY_NAMES),
        "instructions": (instruction_cells, PAPER_FAMILY_NAMES),
    }[name]
    return ((cells(), families),)
