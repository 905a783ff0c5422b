"""A synthetic study whose true values are known, to show and to test the package."""

from __future__ import annotations

from deconfound.demo.demo_study import Demo, Sizes, make_demo, true_value
from deconfound.demo.mechanism import Mechanism

__all__ = ["Demo", "Mechanism", "Sizes", "make_demo", "true_value"]
