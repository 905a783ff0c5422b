"""The families as they enter a benchmark, with the hyperparameters they may choose from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deconfound.reward import Cvci, ExpOnly, ObsOnly, family_by_name
from deconfound.reward.cvci import POOLINGS
from deconfound_bench.entries import Contender
from deconfound_bench.results import Cell


def contender(name: str, cell: Cell) -> Contender:
    """A family by name, with the grid of its own or, for cvci, of this cell."""
    return _pooled(cell) if name == Cvci.name else Contender.of(family_by_name(name)())


def _pooled(cell: Cell) -> Contender:
    """Penalties from that of ``obs-only`` to that of ``exp-only``: the two ends of pooling are those families."""
    log, experiment = ObsOnly().penalty / cell.n_log, ExpOnly().penalty / cell.n_experiment
    penalties = (log, float(np.sqrt(log * experiment)), experiment)
    family = Cvci()
    return Contender(
        family, tuple(replace(family, pooling=pooling, penalty=p) for p in penalties for pooling in POOLINGS)
    )
