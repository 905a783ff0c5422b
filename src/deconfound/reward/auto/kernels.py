"""The random parts that an outcome is made of, and how large each is."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

import numpy as np

from deconfound.design import FeatureMatrix, FloatArray, Rows
from deconfound.errors import UsageError
from deconfound.reward.base import require_positive


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances of what is added up to an outcome.

    In the experiment an outcome is reward + noise, in the log it is reward + bias + noise. Reward and bias each have
    a part that is linear in the text (phi), one in the proxies (psi), one that goes with the model that wrote, and
    one that all rows share. A size is the part's variance on an average row of the log.
    """

    reward_text: float
    reward_proxies: float
    reward_model: float
    reward_level: float
    bias_text: float
    bias_proxies: float
    bias_model: float
    bias_level: float
    noise: float

    def __post_init__(self) -> None:
        for field in fields(self):
            size = getattr(self, field.name)
            if not (np.isfinite(size) and size >= 0):
                raise UsageError(f"{field.name} must be a variance, zero or more, not {size!r}.")
        require_positive("noise", self.noise)

    @property
    def reward(self) -> FloatArray:
        """Sizes of the reward's parts, in the order of ``Placed.kernels``."""
        return np.array([self.reward_text, self.reward_proxies, self.reward_model, self.reward_level])

    @property
    def bias(self) -> FloatArray:
        """Sizes of the log bias's parts, in the same order."""
        return np.array([self.bias_text, self.bias_proxies, self.bias_model, self.bias_level])

    @property
    def sizes(self) -> FloatArray:
        """All sizes, in the order of the fields."""
        return np.array(astuple(self))

    @classmethod
    def of(cls, sizes: FloatArray) -> VarianceComponents:
        """``sizes`` backwards."""
        return cls(*(float(size) for size in sizes))


PARTS = tuple(field.name for field in fields(VarianceComponents))


@dataclass(frozen=True, slots=True)
class Scale:
    """How features are scaled so that every kernel is one on an average row of the log."""

    text: float  # mean square norm of phi
    mean: FloatArray  # (r,) of psi
    spread: FloatArray  # (r,), with the root of r in it

    @classmethod
    def of(cls, log: Rows) -> Scale:
        """From the log, rows weighted by the observations they stand for."""
        squares = log.phi.squared_row_norms()
        text = max(float(log.normalized_weight @ squares), np.finfo(np.float64).tiny)
        psi = np.zeros((len(log), 0)) if log.psi is None else log.psi
        mean = log.normalized_weight @ psi
        deviation = np.sqrt(log.normalized_weight @ (psi - mean) ** 2)
        known = np.where(deviation > 0, deviation, np.inf)  # a proxy that never varies in the log says nothing
        return cls(text, mean, known * np.sqrt(max(psi.shape[1], 1)))

    def proxies(self, rows: Rows) -> FloatArray:
        """Proxies of rows on this scale."""
        return np.zeros((len(rows), 0)) if rows.psi is None else (rows.psi - self.mean) / self.spread


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows ready to be compared with one another."""

    phi: FeatureMatrix
    psi: FloatArray  # (n, r), scaled
    model: FloatArray  # (n,) codes as numbers; NaN, which equals nothing, where unknown
    text: float

    @classmethod
    def of(cls, rows: Rows, scale: Scale) -> Placed:
        """Put rows on the log's scale."""
        unknown = np.full(len(rows), np.nan)
        model = unknown if rows.model is None else np.where(rows.model < 0, np.nan, rows.model)
        return cls(rows.phi, scale.proxies(rows), model, scale.text)

    def kernels(self, other: Placed) -> tuple[FloatArray, ...]:
        """Kernels (n, m) of text, proxies, model and level."""
        text = self.phi.inner_products(other.phi)
        text /= self.text
        same = (self.model[:, None] == other.model).astype(np.float64)
        return text, self.psi @ other.psi.T, same, np.ones_like(same)

    def covariance(self, other: Placed, sizes: FloatArray) -> FloatArray:
        """The four kernels added up with these sizes, one of them in memory at a time."""
        text, proxies, model, level = sizes
        total = self.phi.inner_products(other.phi)
        total *= text / self.text
        total += proxies * (self.psi @ other.psi.T)
        total += level
        if model > 0:
            total += model * (self.model[:, None] == other.model)
        return total
