"""Decisions from values and rewards: calibration, recommendation per context, and the gain from routing."""
