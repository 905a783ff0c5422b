"""The propensities of the next batch, and how many more rows the stopping rule is expected to need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.monitoring.boundary import one_sided_z
from deconfound.monitoring.stopping import Verdict
from deconfound.planning.allocation import MIN_RELATIVE_SHARE, equal_shares, ocba_shares
from deconfound.planning.inputs import PlanInputs
from deconfound.value import Values

DECIMALS = 4  # of a propensity: gateways take no more, and the smallest one of a thousand models is 0.0002
MIN_GAIN = 0.1  # of the variance that matters; for less, a new experiment with other propensities is not worth it


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What is known about the rows to come: variances of a row, and shrunken differences to the leader."""

    inputs: PlanInputs
    verdict: Verdict
    rows: int
    horizon: int
    error_rate: float  # of the whole rule
    tolerance: float

    @property
    def rivals(self) -> list[int]:
        """The other models that may be best."""
        return [i for i in self.verdict.contenders if i != self.verdict.leader]

    @property
    def advantage(self) -> FloatArray:
        """Expected lead over each model (k,), by the planner's posterior: observed leads are too large on average."""
        mean = self.inputs.prior.mean
        return np.asarray(mean[self.verdict.leader] - mean)

    def row_variance(self, propensity: FloatArray) -> FloatArray:
        """Variance of each difference to the leader (k,) that one further row adds, times rows squared."""
        own = self.inputs.residual_variance / propensity
        return np.asarray(own + own[self.verdict.leader])

    def propensity(self, previous: FloatArray | None = None) -> FloatArray:
        """Propensities (k,) of the next batch: those of ``previous``, unless others are clearly better.

        Rows go to the models that may be best, as the planner would distribute them (OCBA). Every model retains a fifth
        of an equal share, so that weights stay bounded and a mistake can be corrected.
        """
        count = len(self.inputs.models)
        now = equal_shares(count) if previous is None else previous
        rivals = self.rivals
        if not rivals:
            return now
        share = ocba_shares(self.inputs)
        share[[i for i in range(count) if i not in self.verdict.contenders]] = 0.0
        mixed = MIN_RELATIVE_SHARE * equal_shares(count) + (1 - MIN_RELATIVE_SHARE) * share / share.sum()
        proposed = round_propensities(mixed)
        gain = 1 - self.row_variance(proposed)[rivals].max() / self.row_variance(now)[rivals].max()
        return proposed if gain >= MIN_GAIN else now

    def expected_rows(self, values: Values, propensity: FloatArray) -> int | None:
        """Further rows after which the rule is expected to stop; None if that is not before the horizon.

        The smallest m at which the expected lead over every rival exceeds its bound:

            advantage_a + tolerance > z(n + m) se_a(n + m),   se_a(n + m)^2 = (n^2 se_a^2 + m row variance_a) / (n + m)^2
        """
        if self.verdict.stop:
            return 0
        leader, count = self.verdict.leader, len(values.models)
        covariance = values.covariance
        variance = np.diag(covariance) + covariance[leader, leader] - 2 * covariance[leader]
        step = self.row_variance(propensity)
        for more in _grid(self.horizon - self.rows):
            total = self.rows + more
            error = np.sqrt((self.rows**2 * variance + more * step) / total**2)
            z = one_sided_z(self.error_rate / count, total / self.horizon)
            if all(self.advantage[a] + self.tolerance > z * error[a] for a in self.rivals):
                return more
        return None


def round_propensities(share: FloatArray) -> FloatArray:
    """Shares as decimals that sum to one; the largest takes what rounding leaves."""
    units = 10**DECIMALS
    rounded = np.floor(share * units)
    rounded[int(share.argmax())] += units - rounded.sum()
    return np.asarray(rounded / units)


def _grid(largest: int, points: int = 200) -> list[int]:
    """Numbers of rows to try, in equal steps; none is closer than half a percent of the horizon."""
    return [] if largest < 1 else sorted({max(round(largest * i / points), 1) for i in range(1, points + 1)})
