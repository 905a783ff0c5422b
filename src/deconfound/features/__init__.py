"""Study -> features: hashed text and surface statistics (phi), proxy representation (psi)."""

from deconfound.features.blocks import Blocks
from deconfound.features.featurizer import Features, Featurizer, Source
from deconfound.features.surface import SURFACE

__all__ = ["SURFACE", "Blocks", "Features", "Featurizer", "Source"]
