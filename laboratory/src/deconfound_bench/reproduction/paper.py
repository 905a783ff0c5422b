"""Figures that the paper reports, for comparison; nothing is computed from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reported:
    """A winner and its gap to the runner-up."""

    family: str
    gap: float


def reported(*wins: tuple[str, float]) -> tuple[Reported, ...]:
    """One row of a winner map."""
    return tuple(Reported(family, gap) for family, gap in wins)


SYNTHETIC_WINNERS: dict[tuple[int, int], tuple[Reported, ...]] = {
    (2_000, 20): reported(
        ("cvci-residual", 0.0004),
        ("cvci", 0.0002),
        ("cvci", 0.0009),
        ("obs-only", 0.0004),
        ("grounded", 0.0010),
        ("grounded", 0.0004),
    ),
    (20_000, 20): reported(
        ("cvci", 0.0005), ("cvci", 0.0015), ("cvci", 0.0015), ("cvci", 0.0021), ("cvci", 0.0018), ("cvci", 0.0017)
    ),
    (2_000, 100): reported(
        ("cvci", 0.0008),
        ("cvci", 0.0017),
        ("cvci", 0.0012),
        ("obs-only", 0.0006),
        ("obs-only", 0.0008),
        ("obs-only", 0.0005),
    ),
    (20_000, 100): reported(
        ("cvci", 0.0002),
        ("exp-only", 0.0012),
        ("exp-only", 0.0016),
        ("exp-only", 0.0013),
        ("exp-only", 0.0012),
        ("exp-only", 0.0016),
    ),
}
"""By log rows and experiment rows, along confounding 0, 0.2, 0.5, 0.8, 0.9, 0.99."""

SYNTHETIC_CONFOUNDINGS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.99)

SYNTHETIC_VALUES: dict[str, tuple[float, float]] = {
    "exp-only": (0.0303, 0.0432),
    "obs-only": (0.0268, 0.0409),
    "cvci": (0.0212, 0.0399),
    "representation-exp": (0.0263, 0.0424),
}
"""RMSE of the models' values, direct and doubly robust."""

TARGETED: dict[int, tuple[float, float]] = {400: (0.0738, 0.0347), 3_200: (0.0663, 0.0154)}
"""The same by experiment rows; the paper shows one curve and does not name its family."""
