"""Measurements of accuracy and speed; run one with ``python -m benchmarks.NAME``."""
