"""Figures that the paper reports, for comparison only; nothing is computed from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportedWin:
    """A winner and its gap to the runner-up."""

    family: str
    gap: float


@dataclass(frozen=True, slots=True)
class ReportedStanding:
    """A family over the 48 settings of the summarization benchmark."""

    rank: float
    top3: int
    excess: float  # percent


@dataclass(frozen=True, slots=True)
class ReportedVariant:
    """A variant of grounded over the 24 settings of the winner map."""

    wins: int
    regret: float
    top1: float
    top3: float


def _wins(*wins: tuple[str, float]) -> tuple[ReportedWin, ...]:
    """One row of a winner map."""
    return tuple(ReportedWin(family, gap) for family, gap in wins)


# --- controlled validation ---

CONFOUNDINGS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.99)

SYNTHETIC_WINNERS: dict[tuple[int, int], tuple[ReportedWin, ...]] = {
    (2_000, 20): _wins(
        ("cvci-residual", 0.0004),
        ("cvci", 0.0002),
        ("cvci", 0.0009),
        ("obs-only", 0.0004),
        ("grounded", 0.0010),
        ("grounded", 0.0004),
    ),
    (20_000, 20): _wins(
        ("cvci", 0.0005), ("cvci", 0.0015), ("cvci", 0.0015), ("cvci", 0.0021), ("cvci", 0.0018), ("cvci", 0.0017)
    ),
    (2_000, 100): _wins(
        ("cvci", 0.0008),
        ("cvci", 0.0017),
        ("cvci", 0.0012),
        ("obs-only", 0.0006),
        ("obs-only", 0.0008),
        ("obs-only", 0.0005),
    ),
    (20_000, 100): _wins(
        ("cvci", 0.0002),
        ("exp-only", 0.0012),
        ("exp-only", 0.0016),
        ("exp-only", 0.0013),
        ("exp-only", 0.0012),
        ("exp-only", 0.0016),
    ),
}
"""By log rows and experiment rows, in the order of ``CONFOUNDINGS``."""

SYNTHETIC_VALUES: dict[str, tuple[float, float]] = {
    "exp-only": (0.0303, 0.0432),
    "obs-only": (0.0268, 0.0409),
    "cvci": (0.0212, 0.0399),
    "representation-exp": (0.0263, 0.0424),
}
"""RMSE of the models' values, direct and doubly robust."""

TARGETED_VALUES: dict[int, tuple[float, float]] = {400: (0.0738, 0.0347), 3_200: (0.0663, 0.0154)}
"""The same in the targeted regime, by experiment rows; the paper shows one curve and does not name its family."""

# --- summarization ---

SUMMARIZATION_STANDINGS = {
    "cvci": ReportedStanding(2.04, 43, 4.8),
    "obs-only": ReportedStanding(2.83, 32, 7.9),
    "exp-only": ReportedStanding(2.90, 32, 8.8),
    "grounded": ReportedStanding(3.21, 26, 7.9),
    "cvci-residual": ReportedStanding(4.40, 9, 24.0),
    "representation-exp": ReportedStanding(5.62, 2, 77.6),
}

SUMMARIZATION_BUDGETS = ((2_000, 20), (2_000, 200), (20_000, 20), (20_000, 200))
SUMMARIZATION_REGRET = {
    "cvci": (0.0128, 0.0128, 0.0120, 0.0120),
    "obs-only": (0.0128, 0.0128, 0.0123, 0.0123),
    "grounded": (0.0200, 0.0133, 0.0133, 0.0135),
    "exp-only": (0.0170, 0.0121, 0.0140, 0.0118),
    "representation-exp": (0.0330, 0.0184, 0.0365, 0.0124),
}
"""Mean regret under the smooth map, by ``SUMMARIZATION_BUDGETS`` (log rows, experiment rows)."""

SUMMARIZATION_LOG_BASED = ("cvci", "obs-only", "grounded", "representation-exp")
SUMMARIZATION_EXP_MINUS_LOG_BASED = (0.0042, -0.0007, 0.0020, -0.0002)
"""exp-only minus the best of ``SUMMARIZATION_LOG_BASED``, by ``SUMMARIZATION_BUDGETS``."""

SUMMARIZATION_SHAPES = {
    "cvci": (0.0126, 0.0423, 0.0297),
    "obs-only": (0.0125, 0.0477, 0.0352),
    "exp-only": (0.0147, 0.0376, 0.0229),
    "representation-exp": (0.0267, 0.0773, 0.0507),
}
"""Regret under the smooth and the sharpened map, and the difference."""

SUMMARIZATION_R2 = {"proxies": (0.161, 0.171), "judged": (1.000, 0.779)}
"""Held-out R² under the smooth and the sharpened map."""

SUMMARIZATION_VALUES = {
    "obs-only": {100: (0.0479, 0.0459, -0.0021), 200: (0.0479, 0.0410, -0.0070), 800: (0.0479, 0.0310, -0.0169)},
    "cvci": {100: (0.0479, 0.0724, 0.0245), 200: (0.0479, 0.0572, 0.0093), 800: (0.0479, 0.0325, -0.0154)},
    "representation-exp": {
        100: (0.0226, 0.0749, 0.0522),
        200: (0.0187, 0.0634, 0.0447),
        800: (0.0190, 0.0298, 0.0108),
    },
    "exp-only": {100: (0.1092, 0.2495, 0.1403), 200: (0.0809, 0.1528, 0.0718), 800: (0.0604, 0.0798, 0.0194)},
}
"""RMSE of the models' values, direct and doubly robust and the difference, by experiment rows."""

SUMMARIZATION_DR_BETTER = {"obs-only": 23, "representation-exp": 2, "exp-only": 3}
"""Of the paper's 30 cells, those in which DR has less error."""

SUMMARIZATION_VARIANTS = {
    "grounded-linear": ReportedVariant(1, 0.0357, 0.628, 0.646),
    "grounded": ReportedVariant(6, 0.0318, 0.736, 0.736),
    "grounded-anchor": ReportedVariant(4, 0.0326, 0.744, 0.744),
}
SUMMARIZATION_GROUNDED_BELOW_LINEAR, SUMMARIZATION_ANCHOR_BELOW_GROUNDED = 15, 11
"""Of 24 settings, those in which the first has the lower mean regret."""

SUMMARIZATION_WINNERS: dict[tuple[int, int], tuple[ReportedWin, ...]] = {
    (2_000, 20): _wins(
        ("grounded", 0.0002),
        ("grounded", 0.0011),
        ("grounded", 0.0036),
        ("obs-only", 0.0000),
        ("obs-only", 0.0008),
        ("grounded", 0.0006),
    ),
    (20_000, 20): _wins(
        ("grounded", 0.0016),
        ("grounded", 0.0049),
        ("exp-only", 0.0013),
        ("exp-only", 0.0062),
        ("exp-only", 0.0019),
        ("exp-only", 0.0019),
    ),
    (2_000, 100): _wins(
        ("obs-only", 0.0007),
        ("obs-only", 0.0002),
        ("obs-only", 0.0002),
        ("cvci", 0.0000),
        ("cvci", 0.0000),
        ("cvci", 0.0008),
    ),
    (20_000, 100): _wins(
        ("cvci-residual", 0.0048),
        ("cvci", 0.0009),
        ("cvci", 0.0052),
        ("cvci", 0.0012),
        ("cvci", 0.0013),
        ("cvci", 0.0046),
    ),
}
"""By log rows and experiment rows, in the order of ``CONFOUNDINGS``."""

# --- coding ---

CODING_WEAKEST = (0.0, 0.25, 0.5, 0.75, 1.0)
CODING_WINNERS: dict[float, tuple[ReportedWin, ...]] = {
    0.0: _wins(
        ("representation-exp", 0.0039),
        ("representation-exp", 0.0033),
        ("cvci-residual", 0.0001),
        ("obs-only", 0.0001),
        ("obs-only", 0.0002),
    ),
    0.25: _wins(
        ("representation-exp", 0.0006), ("obs-only", 0.0004), ("cvci", 0.0004), ("cvci", 0.0013), ("cvci", 0.0009)
    ),
    0.5: _wins(("obs-only", 0.0004), ("obs-only", 0.0010), ("cvci", 0.0003), ("cvci", 0.0008), ("cvci", 0.0004)),
    0.75: _wins(
        ("cvci", 0.0013), ("obs-only", 0.0029), ("obs-only", 0.0004), ("obs-only", 0.0003), ("obs-only", 0.0013)
    ),
    1.0: _wins(("obs-only", 0.0011), ("cvci", 0.0007), ("cvci", 0.0001), ("obs-only", 0.0068), ("obs-only", 0.0056)),
}
"""By the weight of fix success, in the order of ``CODING_WEAKEST``."""

CODING_REPRESENTATION_MINUS_LOG = {
    0.0: {0.0: -0.0039, 0.25: 0.0003, 1.0: 0.0415},
    0.25: {0.0: -0.0034, 0.25: 0.0024, 1.0: 0.0375},
}
"""representation-exp minus the best log-based family, by the weights of the weakest component and of fix success."""

CODING_GROUNDED_MINUS_OBS_ONLY = {0.0: 0.0495, 1.0: 0.0126}
"""At fix weight 0, by the weight of the weakest component."""

CODING_R2 = {"proxies": {0.0: 0.347, 1.0: 0.081}, "first judged": {0.0: 0.0, 1.0: 0.967}}
"""Held-out R² at weakest weight 0, by the weight of fix success; the paper gives the zero in words only."""
