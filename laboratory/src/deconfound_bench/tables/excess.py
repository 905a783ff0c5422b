"""What each family loses to the best of the six, over several benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.reward import FAMILIES
from deconfound_bench.results import Score
from deconfound_bench.tables.estimate import Estimate, bootstrap
from deconfound_bench.tables.paired import paired
from deconfound_bench.tables.table import Entry, Table

SIX = tuple(family.name for family in FAMILIES)


def excess(scores: Sequence[Score], seed: int = 0) -> dict[str, Estimate]:
    """By family: percent of regret over the lowest of the six in each cell, averaged over cells.

    Below zero means better than every one of the six, chosen with hindsight. Cells whose lowest regret is zero do not
    count, nor do families that were not run in every cell.
    """
    cells = {one.cell for one in scores}
    met = Counter(family for _, family in {(one.cell, one.family) for one in scores})
    grid = paired(scores, ("regret",), [family for family, count in met.items() if count == len(cells)])
    single = [at for at, family in enumerate(grid.families) if family in SIX]
    if len(single) < 2:
        raise UsageError(f"The excess is over the best of {', '.join(SIX)}; run at least two of them.")
    regret = grid.values[0]
    regret = regret[regret.mean(axis=2)[:, single].min(axis=1) > 0]

    def over(means: FloatArray) -> FloatArray:
        best = means[..., single].min(axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):  # a draw may hold only seeds without regret
            return np.asarray(100 * (means / best - 1).mean(axis=-2), dtype=np.float64)

    found, errors = over(regret.mean(axis=2)), bootstrap(regret, over, seed)
    pairs = zip(grid.families, found, errors, strict=True)
    return {family: Estimate(float(mean), float(error)) for family, mean, error in pairs}


def excess_table(several: Sequence[Sequence[Score]]) -> Table:
    """Families down, benchmarks across, their mean and the worst at the end; the lowest mean first."""
    found = [excess(scores) for scores in several]
    names = tuple(scores[0].benchmark for scores in several)
    families = [family for family in found[0] if all(family in each for each in found)]
    rows: list[tuple[Entry, ...]] = []
    for family in families:
        each = [one[family] for one in found]
        mean = Estimate(
            float(np.mean([one.mean for one in each])),
            float(np.sqrt(np.sum([one.error**2 for one in each]))) / len(each),
        )
        rows.append((family, *each, mean, max(one.mean for one in each)))
    rows.sort(key=lambda row: row[-2].mean if isinstance(row[-2], Estimate) else 0.0)
    note = (
        "Regret over that of the best of the six in each cell, in percent, averaged over cells; below zero is better "
        "than every one of the six, chosen with hindsight. Errors by a bootstrap of whole seeds."
    )
    return Table("Excess regret (%)", ("family", *names, "mean", "worst"), tuple(rows), note)
