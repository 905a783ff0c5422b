"""How much true values differ between contexts, from outcomes of different rows on one context.

Two rows on one context share what that context adds to the value of their model, and nothing else. The mean product of
their deviations from the model's mean is therefore the variance of that addition: for rows of one model all of it, for
rows of two models the part that they have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from deconfound.data import Table
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray

MIN_CONTEXTS = 10  # with several rows, of one model or of two; fewer say nothing


@dataclass(frozen=True, slots=True)
class RatedRows:
    """Outcomes of one source, log or experiment; every row is of a compared model."""

    context: IntArray  # (n,)
    model: IntArray  # (n,)
    outcome: FloatArray  # (n,)
    noise_group: IntArray | None = None  # (n,) such as a user; rows of one group share noise

    @classmethod
    def from_table(cls, table: Table, models: tuple[str, ...]) -> Self:
        """The outcomes of compared models in one table."""
        model = encode(table.arrow["model"], models)[1]
        rows = np.flatnonzero(model >= 0)
        names = [name for name in ("context_id", "cluster") if name in table.arrow.column_names]
        context, *cluster = (encode(table.arrow[name], None)[1][rows] for name in names)
        outcome = table.arrow["outcome"].to_numpy()[rows]
        return cls(context, model[rows], outcome, cluster[0] if cluster else None)

    @property
    def deviation(self) -> FloatArray:
        """Outcomes minus the mean of their model (n,)."""
        count = np.maximum(np.bincount(self.model), 1)
        mean = np.bincount(self.model, weights=self.outcome) / count
        return np.asarray(self.outcome - mean[self.model])


@dataclass(frozen=True, slots=True)
class PairVariances:
    """Variances of the true values between contexts, with standard errors."""

    by_model: FloatArray  # (k,) of the part of each model's value that other models do not share
    by_model_standard_error: FloatArray  # (k,)
    common: float  # of the part that all models share
    common_standard_error: float  # infinite where no context has rows of two models
    outcome_variance: float  # within models, noise included

    @classmethod
    def estimate(cls, sources: Sequence[RatedRows], count: int) -> Self | None:
        """From all sources together, for ``count`` models; None where fewer than ``MIN_CONTEXTS`` recur with one.

        Where no context has rows of two models, everything counts as different between models.
        """
        sources = [rows for rows in sources if len(rows.outcome)]
        if not sources:
            return None
        sources = _number_contexts_through(sources)
        same = _MeanProducts.of_pairs([_same_model_pairs(rows) for rows in sources])
        if same.blocks < MIN_CONTEXTS:
            return None
        mixed = _MeanProducts.of_pairs([_two_model_pairs(rows) for rows in sources])
        total, error = same.by_model(count)
        variance = float(np.concatenate([rows.deviation**2 for rows in sources]).mean())
        if mixed.blocks < MIN_CONTEXTS:
            return cls(total, error, 0.0, np.inf, variance)
        # Contexts with a large common part show it in both means, so their difference has less noise than either.
        shared_noise = 2 * float(same.influence @ mixed.influence)
        difference = np.sqrt(np.maximum(error**2 + mixed.standard_error**2 - shared_noise, 0.0))
        return cls(total - mixed.mean, difference, mixed.mean, mixed.standard_error, variance)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of rows on one context, in blocks: one per context, or one per context and model."""

    count: FloatArray  # (blocks,)
    total: FloatArray  # (blocks,) of the products of deviations
    context: IntArray  # (blocks,)
    model: IntArray  # (blocks,) of the first row

    def without(self, other: _Pairs, block: IntArray) -> _Pairs:
        """The pairs that are not in ``other``, whose blocks lie inside the given ones of these."""
        count, total = (np.bincount(block, weights=w, minlength=len(self.count)) for w in (other.count, other.total))
        return replace(self, count=self.count - count, total=self.total - total)


@dataclass(frozen=True, slots=True)
class _MeanProducts:
    """The mean product of each block, and their mean.

    A block of many pairs counts by the square root of their number: its pairs share rows.
    """

    product: FloatArray  # (blocks,)
    weight: FloatArray  # (blocks,)
    context: IntArray  # (blocks,)
    model: IntArray  # (blocks,)
    contexts: int

    @classmethod
    def of_pairs(cls, sources: Sequence[_Pairs]) -> Self:
        """The blocks of all sources that have pairs."""
        count, total, context, model = (
            np.concatenate([getattr(one, each.name) for one in sources]) for each in fields(_Pairs)
        )
        some = count > 0
        contexts = int(context.max()) + 1
        return cls(total[some] / count[some], np.sqrt(count[some]), context[some], model[some], contexts)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.weight)

    @property
    def mean(self) -> float:
        """Weighted mean."""
        return float(np.average(self.product, weights=self.weight))

    @property
    def variance(self) -> float:
        """Variance of single products."""
        return float(np.average((self.product - self.mean) ** 2, weights=self.weight))

    @property
    def influence(self) -> FloatArray:
        """Contribution of each context to the error of the mean (contexts,)."""
        share = self.weight * (self.product - self.mean) / self.weight.sum()
        return np.bincount(self.context, weights=share, minlength=self.contexts).astype(np.float64)

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return float(np.linalg.norm(self.influence))

    def by_model(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Mean product of each model (count,), shrunk toward the mean of all as far as noise explains the differences.

        Models differ: one that is nearly always right varies little. Their standard errors take the variance of single
        products from all models, because a model with few recurring contexts may show none of its variance.
        """
        weight, squares = (np.bincount(self.model, weights=w, minlength=count) for w in (self.weight, self.weight**2))
        total = np.bincount(self.model, weights=self.weight * self.product, minlength=count)
        gap = np.divide(total, weight, out=np.full(count, self.mean), where=weight > 0) - self.mean
        noise = self.variance * np.divide(squares, weight**2, out=np.full(count, np.inf), where=weight > 0)
        between = max(float(np.average(gap**2 - np.where(weight > 0, noise, 0.0), weights=weight)), 0.0)
        share = between / (between + noise) if between > 0 else np.zeros(count)
        return self.mean + share * gap, np.sqrt(self.standard_error**2 + between * (1 - share))


def _number_contexts_through(sources: Sequence[RatedRows]) -> list[RatedRows]:
    """The contexts of all sources numbered from zero, each source after the one before."""
    numbered, start = [], 0
    for rows in sources:
        contexts, context = np.unique(rows.context, return_inverse=True)
        numbered.append(replace(rows, context=context + start))
        start += len(contexts)
    return numbered


def _same_model_pairs(rows: RatedRows) -> _Pairs:
    """Pairs of one model on one context, in a block for each of the two."""
    return _pairs(rows, _cell(rows))


def _two_model_pairs(rows: RatedRows) -> _Pairs:
    """Pairs of two models on one context: all pairs but those of one model."""
    same, everything = _same_model_pairs(rows), _pairs(rows, rows.context)
    return everything.without(same, same.context - rows.context.min())


def _cell(rows: RatedRows) -> IntArray:
    return np.asarray(rows.context * (int(rows.model.max()) + 1) + rows.model)


def _pairs(rows: RatedRows, block: IntArray) -> _Pairs:
    """Pairs within each block (n,), in the order of the blocks' codes, but for those within one noise group."""
    blocks, code = np.unique(block, return_inverse=True)
    pairs = _products(rows, code, len(blocks))
    if rows.noise_group is None:
        return pairs
    groups, group = np.unique(rows.noise_group, return_inverse=True)
    inner, inner_code = np.unique(code * len(groups) + group, return_inverse=True)
    return pairs.without(_products(rows, inner_code, len(inner)), inner // len(groups))


def _products(rows: RatedRows, code: IntArray, blocks: int) -> _Pairs:
    """All pairs within each block; the sum of their products is half of square of sum minus sum of squares."""
    deviation, first = rows.deviation, np.empty(blocks, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    count, total, squares = (
        np.bincount(code, weights=w, minlength=blocks) for w in (np.ones_like(deviation), deviation, deviation**2)
    )
    products = np.asarray((total**2 - squares) / 2)
    return _Pairs(np.asarray(count * (count - 1) / 2), products, rows.context[first], rows.model[first])
