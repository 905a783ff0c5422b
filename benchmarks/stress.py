"""Ordinary situations in which intervals, routing and recommendations can fail, with exactly known truth.

    python -m benchmarks.stress --studies 400 --processes 2 --out results.json
    python -m benchmarks.stress --only interaction --only one_best --studies 60
    python -m benchmarks.stress --out results.json --compare earlier.json

Every study has its own seed, so results do not depend on the number of processes. With ``--out`` the raw measures of
every study are stored after each batch, and a later run with the same file continues. The exit code is 1 if a target is
missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.stress_runs import Results, run, source_digest
from benchmarks.stress_scenarios import Scenario, all_scenarios
from benchmarks.stress_tables import LEGEND, Cells, all_tables, comparison_table


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=400, help="per scenario")
    parser.add_argument("--only", action="append", metavar="NAME", help="a scenario or the start of its name; repeat")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, help="file of raw measures; continued if it exists")
    parser.add_argument("--merge", type=Path, action="append", default=[], help="add studies of another file; repeat")
    parser.add_argument("--compare", type=Path, help="file of an earlier run")
    return parser.parse_args(arguments)


def select(names: Sequence[str] | None) -> dict[str, Scenario]:
    """Scenarios by name or by the start of their names."""
    scenarios = all_scenarios()
    for name in names or ():
        if not any(full.startswith(name) for full in scenarios):
            raise SystemExit(f"There is no scenario {name}. There are {', '.join(scenarios)}.")
    exact = {n: s for n, s in scenarios.items() if not names or n in names}
    prefixes = tuple(name for name in names or () if name not in scenarios)
    return {n: s for n, s in scenarios.items() if n in exact or (prefixes and n.startswith(prefixes))}


def stored_results(given: argparse.Namespace) -> Results:
    """An empty set of results, or those of the files named."""
    results = Results(given.seed, source_digest())
    present = [given.out] if given.out is not None and given.out.exists() else []
    for path in (*present, *given.merge):
        results.merge(Results.read(path), str(path))
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    scenarios = select(given.only)
    results = stored_results(given)
    studies = results.missing(scenarios, given.studies)
    start = time.monotonic()
    for finished in run(results, studies, given.processes, given.out):
        left = (time.monotonic() - start) / finished * (len(studies) - finished)
        print(f"{finished} of {len(studies)} studies, {left / 60:.0f} minutes left", file=sys.stderr, flush=True)
    if given.out is not None:
        results.write(given.out)
    chosen = {name: list(results.studies[name].values()) for name in scenarios if name in results.studies}
    cells = Cells()
    print(f"# Stress benchmark\n\nSeed {given.seed}, code {results.source}. {LEGEND}\n")
    for table in all_tables(scenarios, chosen, cells):
        print(table.markdown())
    if given.compare is not None:
        print(comparison_table(Results.read(given.compare).studies, results.studies).markdown())
    counts = {status: cells.statuses[status] for status in ("met", "open", "low", "high")}
    print(f"Targets: {counts['met']} met, {counts['open']} within noise, {len(cells.missed)} missed", end=" ")
    print(f"({counts['low']} low, {counts['high']} high).")
    print("\n".join(f"- {line}" for line in cells.missed))
    return 1 if cells.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
