"""The estimator families. A new one is one file and one line in ``FAMILIES``."""

from deconfound.reward.auto.family import Auto, PreparedAuto, settled
from deconfound.reward.auto.kernels import VarianceComponents
from deconfound.reward.base import Family, Prepared
from deconfound.reward.cvci import Cvci
from deconfound.reward.cvci_residual import CvciResidual
from deconfound.reward.exp_only import ExpOnly
from deconfound.reward.fit import Basis, RewardFit
from deconfound.reward.grounded import Grounded
from deconfound.reward.grounded_anchor import GroundedAnchor
from deconfound.reward.grounded_linear import GroundedLinear
from deconfound.reward.obs_only import ObsOnly
from deconfound.reward.representation_exp import RepresentationExp
from deconfound.reward.training_data import TrainingData

FAMILIES = (ExpOnly, ObsOnly, RepresentationExp, Grounded, Cvci, CvciResidual)
"""The paper's six; the command line, the contract tests, the benchmarks and the report read this tuple."""

VARIANTS = (GroundedLinear, GroundedAnchor)
"""Other members of the grounded family, compared with it in the paper's appendix."""

EVERY = (*FAMILIES, *VARIANTS, Auto)
"""All families that can be asked for by name."""

__all__ = [
    "EVERY",
    "FAMILIES",
    "VARIANTS",
    "Auto",
    "Basis",
    "Cvci",
    "CvciResidual",
    "ExpOnly",
    "Family",
    "Grounded",
    "GroundedAnchor",
    "GroundedLinear",
    "ObsOnly",
    "Prepared",
    "PreparedAuto",
    "RepresentationExp",
    "RewardFit",
    "TrainingData",
    "VarianceComponents",
    "settled",
]
