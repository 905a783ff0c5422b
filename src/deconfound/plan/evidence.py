"""What is known before the experiment: how much rows vary, how far the reward helps, how far models differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import chdtri

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.findings import Finding

LARGEST_SPREAD = 0.5  # no outcome in [0, 1] has a larger standard deviation
GAP = 0.1  # standard deviation of the models' values where nobody says otherwise: 0.6 against 0.7 is typical
GUESSED = 1.5  # numbers out of the blue: variances this many times larger or smaller belong to the stated range
FEWEST_FREEDOM = 10  # rows beyond the first of each model; with fewer the range below spans a factor above three
BELIEVABLE = 0.8  # probability that the variance of a row lies in the stated range


@dataclass(frozen=True, slots=True)
class Evidence:
    """Variances of one experiment row and beliefs about the models' values, whatever they were learned from.

    A value that rests on n rows, n_a of them of model a, and on replayed contexts elsewhere has the variance

        row_a / n_a + context_aa / (n + elsewhere)

    with the reward, and ``outcome_a / n_a`` without it.
    """

    models: tuple[str, ...]
    outcome: FloatArray  # (k,) variance of an outcome within its model
    row: FloatArray  # (k,) what the reward leaves of it
    context: FloatArray  # (k, k) covariance of what the reward says over contexts, and of that with the residual
    excess: FloatArray  # (k,) excess kurtosis of residuals, at least 0
    skew: FloatArray  # (k,) their squared skewness
    independent: FloatArray  # (k,) independent rows in one row: below 1 where rows share users or contexts
    mean: FloatArray  # (k,) expected value of each model
    doubt: FloatArray  # (k, k) covariance of the true values around it
    variance_range: tuple[float, float]  # factors on all variances that are still believable
    source: str
    rows: int = 0  # randomized rows already there
    findings: tuple[Finding, ...] = ()

    @property
    def helped(self) -> bool:
        """Whether the reward takes anything off the variance of a row."""
        return bool((self.row < self.outcome).any())

    def scaled(self, factor: float) -> Self:
        """The same evidence with all variances of rows so many times as large."""
        return replace(self, outcome=factor * self.outcome, row=factor * self.row, context=factor * self.context)


@dataclass(frozen=True, slots=True)
class AssumedInputs:
    """What to assume when there is nothing yet: all models alike but for their values.

    ``spread`` is the standard deviation of an outcome within a model, ``explained`` the share of its square that a
    reward will explain, ``gap`` the standard deviation of the values between models.
    """

    models: int
    spread: float
    explained: float = 0.0
    gap: float = GAP

    def __post_init__(self) -> None:
        if self.models < 2:
            raise UsageError(f"--models must be at least 2, not {self.models}: a comparison takes two models.")
        if not 0.0 < self.spread <= LARGEST_SPREAD:
            raise UsageError(
                f"--spread is the standard deviation of outcomes in [0, 1]: above 0 and at most {LARGEST_SPREAD}, "
                f"not {self.spread:g}. Yes/no outcomes of a model that succeeds 8 times in 10 have 0.4."
            )
        if not 0.0 <= self.explained < 1.0:
            raise UsageError(f"--explained is a share of at least 0 and below 1, not {self.explained:g}.")
        if not 0.0 < self.gap <= LARGEST_SPREAD:
            raise UsageError(f"--gap must be above 0 and at most {LARGEST_SPREAD}, not {self.gap:g}.")

    def evidence(self) -> Evidence:
        """Normal residuals, values around one half, rewards of different models unrelated."""
        every, variance = np.ones(self.models), self.spread**2
        return Evidence(
            models=tuple(f"model {i + 1}" for i in range(self.models)),
            outcome=variance * every,
            row=variance * (1 - self.explained) * every,
            context=np.diag(variance * self.explained * every),
            excess=0 * every,
            skew=0 * every,
            independent=every,
            mean=0.5 * every,
            doubt=np.diag(self.gap**2 * every),
            variance_range=(1 / GUESSED, min(GUESSED, (LARGEST_SPREAD / self.spread) ** 2)),
            source="numbers",
        )


def believable(df: float, variance: float) -> tuple[float, float]:
    """Factors on a variance by its chi-square law, the larger one cut where no outcome in [0, 1] can vary more."""
    tail = (1 - BELIEVABLE) / 2
    low, high = (df / float(chdtri(df, p)) for p in (tail, 1 - tail))
    return low, max(min(high, LARGEST_SPREAD**2 / variance), 1.0)
