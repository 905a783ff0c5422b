"""Estimator families: rewards learned from a log and an experiment."""

from deconfound.reward.auto.attribution import Attribution
from deconfound.reward.auto.family import Auto
from deconfound.reward.auto.variance_components import VarianceComponents
from deconfound.reward.base import Family, FamilyDefaults, Prepared, PreparedDefaults
from deconfound.reward.cvci import Cvci
from deconfound.reward.cvci_residual import CvciResidual
from deconfound.reward.exp_only import ExpOnly
from deconfound.reward.fit import Basis, RewardFit
from deconfound.reward.grounded import Grounded, GroundedLinear
from deconfound.reward.grounded_anchor import GroundedAnchor
from deconfound.reward.obs_only import ObsOnly
from deconfound.reward.registry import EVERY, FAMILIES, VARIANTS, family_by_name
from deconfound.reward.representation_exp import RepresentationExp
from deconfound.reward.training_data import TrainingData

__all__ = [
    "EVERY",
    "FAMILIES",
    "VARIANTS",
    "Attribution",
    "Auto",
    "Basis",
    "Cvci",
    "CvciResidual",
    "ExpOnly",
    "Family",
    "FamilyDefaults",
    "Grounded",
    "GroundedAnchor",
    "GroundedLinear",
    "ObsOnly",
    "Prepared",
    "PreparedDefaults",
    "RepresentationExp",
    "RewardFit",
    "TrainingData",
    "VarianceComponents",
    "family_by_name",
]
