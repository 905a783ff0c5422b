"""Write the comparison with the paper from tables of results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deconfound_bench.reproduction.beside import joined
from deconfound_bench.reproduction.coding import coding_section
from deconfound_bench.reproduction.evidence import VERDICTS, Section, claims_table
from deconfound_bench.reproduction.instructions import instructions_section
from deconfound_bench.reproduction.sources import Source, read_sources
from deconfound_bench.reproduction.summarization import summarization_section
from deconfound_bench.reproduction.synthetic import synthetic_section, targeted_section
from deconfound_bench.results import Score
from deconfound_bench.sweep import digest
from deconfound_bench.tables import Table, to_markdown

OPENING = """# Reproduction

The paper's figures and ours, side by side. This page is written by

```
deconfound bench reproduction docs/reproduction/*.parquet -o docs/reproduction.md
```

from seed-level results that lie beside it, which were made by the commands named below. Errors are standard errors over
paired seeds; "found" means that a difference has the reported sign and exceeds two of its errors. Articles, systems,
agents, judges and constants are not the paper's, which it does not publish in full: the comparison is of conclusions,
not of decimals.
"""


def reproduction(paths: Sequence[Path]) -> str:
    """The whole page, from the results of any of the benchmarks and the alignments of cached ones."""
    sources = read_sources(paths)
    sections = _sections(sources)
    parts = [OPENING, _results(sources), _glance(sections), *map(_rendered, sections)]
    return "\n".join(part.strip() + "\n" for part in parts)


def _sections(sources: Sequence[Source]) -> tuple[Section, ...]:
    """One a benchmark, but the targeted regime belongs to the controlled validation where that is there."""
    targeted = next((source.scores for source in sources if source.kind == "synthetic-targeted"), ())
    whole = any(source.kind == "synthetic" for source in sources)
    return tuple(
        _section(source, targeted) for source in sources if not (whole and source.kind == "synthetic-targeted")
    )


def _section(source: Source, targeted: Sequence[Score]) -> Section:
    if source.kind == "synthetic":
        section = synthetic_section(source.scores, targeted)
        return replace(section, text=joined([section.text, _constants(source.constants)]))
    if source.kind == "synthetic-targeted":
        return targeted_section(source.scores)
    if source.kind == "summarization":
        return summarization_section(source.scores, source.aligned, source.constants)
    if source.kind == "coding":
        return coding_section(source.scores, source.aligned)
    return instructions_section(source.scores)


def _rendered(section: Section) -> str:
    parts = [f"## {section.title}", section.about, to_markdown(claims_table(section.claims)), section.text]
    return "\n\n".join(part.strip() for part in parts)


def _results(sources: Sequence[Source]) -> str:
    rows = tuple(
        (
            source.benchmark,
            source.command,
            len(source.scores),
            len({one.seed for one in source.scores}),
            digest(source.scores)[:16],
        )
        for source in sources
    )
    columns = ("benchmark", "command", "scores", "seeds", "digest")
    note = (
        "The digest covers everything but the seconds; the command prints it in full with --json. DIR is where the "
        "grids are, OUT any folder."
    )
    return to_markdown(Table("Results behind this page", columns, rows, note))


def _glance(sections: Sequence[Section]) -> str:
    rows: tuple[tuple[str | int, ...], ...] = tuple(
        (section.title, *(sum(claim.verdict == name for claim in section.claims) for name in VERDICTS))
        for section in sections
    )
    return to_markdown(Table("What the paper reports, here", ("benchmark", *VERDICTS), rows))


def _constants(text: str) -> str:
    told = json.loads(text)
    sizes = told.pop("sizes")
    rows = tuple((name, _shown(value)) for name, value in sorted({**told, **_under("sizes", sizes)}.items()))
    table = Table("Constants of the controlled validation", ("constant", "value"), rows)
    return f"### Constants\n\n{to_markdown(table)}"


def _under(name: str, parts: dict[str, object]) -> dict[str, object]:
    return {f"{name}.{part}": value for part, value in parts.items()}


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
