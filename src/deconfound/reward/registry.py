"""Every estimator family by name. A new family is one file in this folder and one entry in ``VARIANTS``."""

from __future__ import annotations

from deconfound.errors import UsageError
from deconfound.formatting import did_you_mean, quote
from deconfound.reward.auto.family import Auto
from deconfound.reward.base import Family
from deconfound.reward.cvci import Cvci
from deconfound.reward.cvci_residual import CvciResidual
from deconfound.reward.exp_only import ExpOnly
from deconfound.reward.grounded import Grounded, GroundedLinear
from deconfound.reward.grounded_anchor import GroundedAnchor
from deconfound.reward.obs_only import ObsOnly
from deconfound.reward.representation_exp import RepresentationExp

FAMILIES: tuple[type[Family], ...] = (ExpOnly, ObsOnly, RepresentationExp, Grounded, Cvci, CvciResidual)
"""The six families of the paper, which `--family all` and the benchmarks compare by default."""

VARIANTS: tuple[type[Family], ...] = (GroundedLinear, GroundedAnchor)
"""Other families, used where they are named. The first two are in the paper's appendix."""

EVERY: tuple[type[Family], ...] = (*FAMILIES, *VARIANTS, Auto)
"""All families; the command line, the contract tests and the benchmarks look names up here."""


def family_by_name(name: str) -> type[Family]:
    """The family of this name, or an error that lists the names there are."""
    families = {family.name: family for family in EVERY}
    if name not in families:
        hint = did_you_mean(name, families) or "."
        raise UsageError(f"There is no family {quote(name)}{hint} Choose one of {', '.join(families)}.")
    return families[name]
