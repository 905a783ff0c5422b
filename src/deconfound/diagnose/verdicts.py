"""From a p-value to a verdict: the one rule that all tests share.

Each test warns by luck in one sound study of twenty, so among ten tests a single warning is nothing unusual: some
warning appears in up to 40 % of sound studies. A failure is far from luck: one in a thousand for each test, at most
1 % for ten of them together.
"""

from __future__ import annotations

from deconfound.findings import Verdict

FAIL_SHARE = 1 / 50  # of the chance that a warning is luck: 0.001 where warnings begin at 0.05
DRAWS = 1999
"""Resamples behind a p-value: the smallest possible, 1 / 2000, still tells a failure from a warning."""


def verdict(p: float, level: float = 0.95) -> Verdict:
    """Pass, warn below 1 - level, fail below a fiftieth of it."""
    if p < FAIL_SHARE * (1.0 - level):
        return "fail"
    return "warn" if p < 1.0 - level else "pass"


def warned(p: float, level: float = 0.95) -> Verdict:
    """The same for what has innocent explanations too: never worse than a warning."""
    return "pass" if verdict(p, level) == "pass" else "warn"


def shown(p: float) -> str:
    """A p-value as people read it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
