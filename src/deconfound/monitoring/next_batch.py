"""The propensities of the next batch, and how many more rows the stopping rule is expected to need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.monitoring.boundary import one_sided_z
from deconfound.monitoring.stopping import Verdict
from deconfound.planning.allocation import MIN_RELATIVE_SHARE, ocba_shares
from deconfound.planning.inputs import PlanInputs
from deconfound.value import Values

DECIMALS = 4  # of a propensity: gateways take no more, and the smallest one of a thousand models is 0.0002
MIN_GAIN = 0.1  # of the variance that matters; for less, a new draw with other propensities is not worth it
GRID_POINTS = 200  # numbers of further rows that are tried, up to the horizon


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
        """The other models that may be best; all others where the leader alone may be."""
        others = [i for i in range(len(self.inputs.models)) if i != self.verdict.leader]
        return [i for i in others if i in self.verdict.contenders] or others

    @property
    def advantage(self) -> FloatArray:
        """Expected lead over each model (k,), by the planner's posterior: observed leads are too large on average."""
        mean = self.inputs.prior.mean
        return np.asarray(mean[self.verdict.leader] - mean)

    def row_variance(self, propensity: FloatArray) -> FloatArray:
        """What one further row adds to rows^2 times the variance of each difference to the leader (k,)."""
        with np.errstate(divide="ignore"):
            own = self.inputs.residual_variance / propensity
        return np.asarray(own + own[self.verdict.leader])

    def propensity(self, previous: FloatArray, dropped: Sequence[int] = ()) -> FloatArray:
        """Propensities (k,) of the next batch: those of ``previous``, unless others are clearly better.

        Rows go to the models that may be best, as the planner would distribute them (OCBA). Every model that is not
        ``dropped`` retains a fifth of an equal share, so that weights stay bounded and a mistake can be corrected.
        """
        now = without(previous, dropped)
        rivals = [i for i in self.rivals if i not in dropped]
        if self.verdict.stop or not rivals:
            return now
        active, share = np.ones(len(previous)), ocba_shares(self.inputs)
        active[list(dropped)] = 0.0
        share[[i for i in range(len(share)) if i not in (self.verdict.leader, *rivals)]] = 0.0
        floor = MIN_RELATIVE_SHARE * active / active.sum()
        proposed = round_propensities(floor + (1 - MIN_RELATIVE_SHARE) * share / share.sum())
        gain = 1 - self.row_variance(proposed)[rivals].max() / self.row_variance(now)[rivals].max()
        return proposed if gain >= MIN_GAIN else now

    def expected_rows(self, values: Values, propensity: FloatArray) -> int | None:
        """Further rows after which the rule is expected to stop; None if that is not before the horizon.

        The smallest m at which the expected lead over every rival exceeds its bound:

            advantage_a + tolerance > z(n + m) se_a(n + m)
            se_a(n + m)^2 = (n^2 se_a^2 + m row variance_a) / (n + m)^2
        """
        if self.verdict.stop:
            return 0
        leader, rivals, covariance = self.verdict.leader, self.rivals, values.covariance
        own = np.diag(covariance)
        variance = (own + own[leader] - 2 * covariance[leader])[rivals]
        step, advantage = self.row_variance(propensity)[rivals], self.advantage[rivals]
        for more in _grid(self.horizon - self.rows):
            total = self.rows + more
            standard_error = np.sqrt(self.rows**2 * variance + more * step) / total
            z = one_sided_z(self.error_rate / len(own), total / self.horizon)
            if (advantage + self.tolerance > z * standard_error).all():
                return more
        return None


def without(propensity: FloatArray, dropped: Sequence[int]) -> FloatArray:
    """Propensities (k,) in which some models have none, and the others their proportions."""
    if not dropped:
        return propensity
    active = propensity.copy()
    active[list(dropped)] = 0.0
    return round_propensities(active / active.sum())


def round_propensities(share: FloatArray) -> FloatArray:
    """Shares as decimals that sum to one; the largest takes what rounding leaves."""
    units = 10**DECIMALS
    rounded = np.floor(share * units + 1e-6)
    rounded[int(share.argmax())] += units - rounded.sum()
    return np.asarray(rounded / units)


def _grid(largest: int) -> list[int]:
    """Numbers of rows to try, in equal steps."""
    return sorted({max(round(largest * i / GRID_POINTS), 1) for i in range(1, GRID_POINTS + 1)}) if largest > 0 else []
