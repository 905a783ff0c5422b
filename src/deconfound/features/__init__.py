"""Study -> features: hashed text and surface statistics (phi), proxy representation (psi)."""

from deconfound.features.blocks import FeatureBlocks
from deconfound.features.featurizer import FeatureSource, FeatureSpec, Featurizer
from deconfound.features.surface import SURFACE

__all__ = ["SURFACE", "FeatureBlocks", "FeatureSource", "FeatureSpec", "Featurizer"]
