"""Draw the models of an experiment: by a keyed hash of the unit, or by a gateway with the same propensities.

The draw and its manifest need nothing but the standard library: they run inside a service.
"""

from deconfound.assignment.assignment_rule import AssignmentRule, Draw, assign
from deconfound.assignment.manifest import AssignmentManifest

__all__ = ["AssignmentManifest", "AssignmentRule", "Draw", "assign"]
