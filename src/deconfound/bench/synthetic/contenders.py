"""The families as they enter the controlled validation: tuned on the grid, underfitted in the targeted regime."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deconfound.bench.entries import Contender
from deconfound.bench.results import Cell
from deconfound.bench.synthetic.constants import UNDERFIT
from deconfound.errors import UsageError
from deconfound.reward import FAMILIES, VARIANTS, Cvci, ExpOnly, Family, ObsOnly, RepresentationExp
from deconfound.reward.cvci import POOLINGS

KNOWN: dict[str, type[Family]] = {family.name: family for family in (*FAMILIES, *VARIANTS)}
TARGETED_FAMILIES = (ExpOnly.name, ObsOnly.name, RepresentationExp.name, Cvci.name)


def contender(name: str, cell: Cell) -> Contender:
    """A family by name, with what it may choose from in this cell."""
    if cell.reward == "latent":
        return _pooled(cell) if name == Cvci.name else Contender.of(KNOWN[name]())
    fixed = _underfitted(cell)
    if name not in fixed:
        raise UsageError(f"The targeted regime compares {', '.join(fixed)}; {name} has no underfitted version.")
    return Contender(fixed[name], (fixed[name],))


def _pooled(cell: Cell) -> Contender:
    """Penalties from that of ``obs-only`` to that of ``exp-only``: the two ends of pooling are those families."""
    log, experiment = ObsOnly().penalty / cell.n_log, ExpOnly().penalty / cell.n_experiment
    penalties = (log, float(np.sqrt(log * experiment)), experiment)
    family = Cvci()
    return Contender(
        family, tuple(replace(family, pooling=pooling, penalty=p) for p in penalties for pooling in POOLINGS)
    )


def _underfitted(cell: Cell) -> dict[str, Family]:
    """One penalty per row for all; nothing is tuned."""
    return {
        ExpOnly.name: ExpOnly(UNDERFIT * cell.n_experiment),
        ObsOnly.name: ObsOnly(UNDERFIT * cell.n_log),
        RepresentationExp.name: RepresentationExp(UNDERFIT * cell.n_experiment),
        Cvci.name: Cvci(0.5, UNDERFIT),
    }
