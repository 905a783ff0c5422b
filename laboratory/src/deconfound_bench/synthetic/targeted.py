"""The families in the targeted regime: underfitted on purpose, nothing tuned."""

from __future__ import annotations

from deconfound.errors import UsageError
from deconfound.reward import Cvci, ExpOnly, Family, ObsOnly, RepresentationExp
from deconfound_bench.entries import Contender
from deconfound_bench.results import Cell
from deconfound_bench.synthetic.constants import UNDERFIT

TARGETED_FAMILIES = (ExpOnly.name, ObsOnly.name, RepresentationExp.name, Cvci.name)


def underfitted(name: str, cell: Cell) -> Contender:
    """A family at one large penalty per row."""
    fixed: dict[str, Family] = {
        ExpOnly.name: ExpOnly(UNDERFIT * cell.n_experiment),
        ObsOnly.name: ObsOnly(UNDERFIT * cell.n_log),
        RepresentationExp.name: RepresentationExp(UNDERFIT * cell.n_experiment),
        Cvci.name: Cvci(0.5, UNDERFIT),
    }
    if name not in fixed:
        raise UsageError(f"The targeted regime compares {', '.join(fixed)}; {name} has no underfitted version.")
    return Contender(fixed[name], (fixed[name],))
