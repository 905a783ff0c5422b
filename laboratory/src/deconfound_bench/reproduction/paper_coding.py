"""Figures that the paper reports of its cached coding benchmark; nothing is computed from them."""

from __future__ import annotations

from deconfound_bench.reproduction.paper import Reported, reported

WEAKEST = (0.0, 0.25, 0.5, 0.75, 1.0)
WINNERS: dict[float, tuple[Reported, ...]] = {
    0.0: reported(
        ("representation-exp", 0.0039),
        ("representation-exp", 0.0033),
        ("cvci-residual", 0.0001),
        ("obs-only", 0.0001),
        ("obs-only", 0.0002),
    ),
    0.25: reported(
        ("representation-exp", 0.0006), ("obs-only", 0.0004), ("cvci", 0.0004), ("cvci", 0.0013), ("cvci", 0.0009)
    ),
    0.5: reported(("obs-only", 0.0004), ("obs-only", 0.0010), ("cvci", 0.0003), ("cvci", 0.0008), ("cvci", 0.0004)),
    0.75: reported(
        ("cvci", 0.0013), ("obs-only", 0.0029), ("obs-only", 0.0004), ("obs-only", 0.0003), ("obs-only", 0.0013)
    ),
    1.0: reported(("obs-only", 0.0011), ("cvci", 0.0007), ("cvci", 0.0001), ("obs-only", 0.0068), ("obs-only", 0.0056)),
}
"""By the weight of fix success, along ``WEAKEST``."""

AGAINST_LOG = {
    0.0: {0.0: -0.0039, 0.25: 0.0003, 1.0: 0.0415},
    0.25: {0.0: -0.0034, 0.25: 0.0024, 1.0: 0.0375},
}
"""representation-exp minus the best log-based family, by the weight of the weakest link and that of fix success."""

GROUNDED_MINUS_OBS = {0.0: 0.0495, 1.0: 0.0126}
"""At fix success 0, by the weight of the weakest link."""

FITS = {"proxies": {0.0: 0.347, 1.0: 0.081}, "first judged": {0.0: 0.0, 1.0: 0.967}}
"""Held-out R² at weakest link 0, by the weight of fix success; the zero is in words, not in figures."""
