"""Write the comparison with the paper from tables of results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from deconfound.bench.reproduction.synthetic import synthetic_section
from deconfound.bench.results import Score, read_scores
from deconfound.bench.sweep import digest
from deconfound.bench.tables import Table, to_markdown
from deconfound.errors import UsageError

OPENING = """# Reproduction

The paper's figures and ours, side by side. This page is written by

```
deconfound bench reproduction docs/reproduction/*.parquet -o docs/reproduction.md
```

from seed-level results that lie beside it, which were made by the commands named below. Errors are standard errors over
paired seeds; "found" means that a difference has the reported sign and exceeds two of its errors. Articles, systems and
constants are not the paper's, which it does not publish in full: the comparison is of conclusions, not of decimals.
"""

COMMANDS = {
    "synthetic": "deconfound bench synthetic -o DIR",
    "synthetic-targeted": "deconfound bench synthetic --targeted -o DIR",
}


def reproduction(paths: Sequence[Path]) -> str:
    """The whole page, from one table of results a benchmark."""
    results = {scores[0].benchmark: scores for scores in map(read_scores, paths) if scores}
    unknown = sorted(set(results) - set(COMMANDS))
    if unknown or "synthetic" not in results:
        have = ", ".join(sorted(results)) or "nothing"
        raise UsageError(f"The comparison needs results of {', '.join(COMMANDS)}; there are {have}.")
    sources = {name: path for path in paths for name in [read_scores(path)[0].benchmark]}
    synthetic = synthetic_section(results["synthetic"], results.get("synthetic-targeted", ()))
    parts = [OPENING, _sources(results), "## Controlled validation\n", synthetic, _constants(sources["synthetic"])]
    return "\n".join(part.strip() + "\n" for part in parts)


def _sources(results: dict[str, tuple[Score, ...]]) -> str:
    rows = tuple(
        (name, COMMANDS[name], len(scores), len({one.seed for one in scores}), digest(scores)[:16])
        for name, scores in sorted(results.items())
    )
    columns = ("benchmark", "command", "scores", "seeds", "digest")
    note = "The digest covers everything but the seconds; the command prints it in full with --json."
    return to_markdown(Table("Results behind this page", columns, rows, note))


def _constants(path: Path) -> str:
    import pyarrow.parquet as pq

    told = json.loads(pq.read_schema(path).metadata[b"constants"])
    sizes = told.pop("sizes")
    rows = tuple((name, _shown(value)) for name, value in sorted({**told, **_under("sizes", sizes)}.items()))
    table = Table("Constants of the controlled validation", ("constant", "value"), rows)
    return f"### Constants\n\n{to_markdown(table)}"


def _under(name: str, parts: dict[str, object]) -> dict[str, object]:
    return {f"{name}.{part}": value for part, value in parts.items()}


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
