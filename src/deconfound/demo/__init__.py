"""A made-up study with a known truth, to see what the package does and whether it is right."""

from __future__ import annotations

from deconfound.demo.mechanism import Mechanism
from deconfound.demo.study import Demo, Sizes, make_demo, true_value

__all__ = ["Demo", "Mechanism", "Sizes", "make_demo", "true_value"]
