"""Study -> features: hashed text and surface statistics (phi), proxy representation (psi)."""

from deconfound.features.blocks import FeatureBlocks
from deconfound.features.featurizer import FeatureSource, FeatureSpec, Featurizer
from deconfound.features.featurizer_io import load_featurizer, save_featurizer
from deconfound.features.surface import SURFACE_STATISTICS

__all__ = [
    "SURFACE_STATISTICS",
    "FeatureBlocks",
    "FeatureSource",
    "FeatureSpec",
    "Featurizer",
    "load_featurizer",
    "save_featurizer",
]
