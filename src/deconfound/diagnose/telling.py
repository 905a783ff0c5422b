"""Can two groups of rows be told apart? A classifier that has to prove itself on rows it was not fitted on.

Group membership is regressed on features by ridge, each fold predicted from the others. The same is then done for
memberships dealt out anew among rows that are exchangeable if nothing is wrong, so the p-value is exact however many
features there are. Prediction is linear in the memberships: all reshuffles together are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.linalg import lapack

from deconfound.design import FloatArray, IntArray, RawMatrix, feature_matrix, group_folds
from deconfound.diagnose.words import weighed

Mask: TypeAlias = NDArray[np.bool_]

FOLDS = 5
TEXT_PENALTY = 10.0  # in units of a row's mean square length: words are many, and few rows say little about each
DENSE_PENALTY = 0.3  # the same for statistics, which are few
RESHUFFLES = 999
MORE = 2_000  # more of them once the first make a p-value below DOUBTFUL, so that it can fall below 0.001
DOUBTFUL = 0.02
SAME = 1e-9  # rows closer than this are one row; statistics closer than this are equal
FEWEST = 8  # strata, or rows of either group in a single stratum, below which nothing is said


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of two groups, no more than ``thinned`` leaves.

    Within a stratum, who belongs to which group is pure chance if nothing is wrong.
    """

    text: sparse.csr_matrix | None  # (n, buckets)
    dense: FloatArray | None  # (n, s)
    group: Mask  # (n,) True for the group in question
    stratum: IntArray  # (n,)
    block: IntArray  # (n,) rows that share their luck (one context) and so stay in one fold
    part: IntArray  # (n,) constant within a stratum; each part is also looked at by itself

    def take(self, index: IntArray) -> Sample:
        """The rows at ``index``."""
        text = None if self.text is None else self.text[index]
        dense = None if self.dense is None else self.dense[index]
        return Sample(text, dense, self.group[index], self.stratum[index], self.block[index], self.part[index])


@dataclass(frozen=True, slots=True)
class Part:
    """How well one part's groups are told apart; the p-value already allows for the other looks."""

    code: int
    share: float
    p_value: float
    strata: int


@dataclass(frozen=True, slots=True)
class Telling:
    """``share`` is how often, of two rows of one stratum, the right one was taken for the group's: 0.5 by guessing.

    ``p_value`` is for the best of all looks, at everything together and at each part. Strata of identical rows count
    as seen, and say nothing.
    """

    share: float
    p_value: float
    rows: int
    strata: int
    parts: tuple[Part, ...]

    def suspects(self, level: float) -> tuple[Part, ...]:
        """The parts that are told apart by themselves, clearest first."""
        found = [part for part in self.parts if part.p_value < 1.0 - level]
        return tuple(sorted(found, key=lambda part: (part.p_value, -part.share)))

    def advantage(self, level: float) -> float:
        """How far the clearest look is from guessing: 0 where nothing is told apart, 1 where everything is."""
        return max(0.0, 2 * max(self.share, *(part.share for part in self.suspects(level)), 0.5) - 1)


@dataclass(frozen=True, slots=True)
class _Look:
    """A set of rows and the matrix that predicts each from the other folds, by its words or by its statistics."""

    whole: bool  # whether these are all rows
    index: IntArray  # rows of the sample
    smoother: FloatArray  # (m, m), zero within a fold

    def statistics(self, labels: FloatArray) -> FloatArray:
        """sum_i label_i * prediction_i for every column of centred labels (n, p)."""
        own = labels[self.index]
        return np.asarray(np.einsum("ij,ij->j", own, self.smoother @ own))


def tell_apart(sample: Sample, seed: int) -> Telling | None:
    """Test the two groups; None where too few rows can be compared."""
    strata, rows = len(np.unique(sample.stratum)), len(sample.group)
    if not _enough(sample):
        return None
    sample = sample.take(np.flatnonzero(_informative(sample)))
    if not _enough(sample):
        return Telling(0.5, 1.0, rows, strata, ())
    looks = _looks(sample, seed)
    labels = _centred_labels(sample, sample.group[:, None].astype(np.float64))
    observed = np.array([look.statistics(labels)[0] for look in looks])
    adjusted = _adjusted(sample, looks, observed, seed).tolist()
    shares = [_share(sample, look, labels) for look in looks]
    seen = [_part(sample, *each) for each in zip(looks, shares, adjusted, strict=True)]
    everything = _clearest([part for look, part in zip(looks, seen, strict=True) if look.whole])
    others = [part for look, part in zip(looks, seen, strict=True) if not look.whole]
    codes = sorted({part.code for part in others})
    parts = tuple(_clearest([part for part in others if part.code == code]) for code in codes)
    return Telling(everything.share, min(adjusted), rows, strata, parts)


def _part(sample: Sample, look: _Look, share: float, p_value: float) -> Part:
    return Part(int(sample.part[look.index[0]]), share, p_value, len(np.unique(sample.stratum[look.index])))


def _clearest(parts: list[Part]) -> Part:
    return min(parts, key=lambda part: (part.p_value, -part.share))


def _enough(sample: Sample) -> bool:
    strata = len(np.unique(sample.stratum))
    smaller = min(int(sample.group.sum()), int((~sample.group).sum()))
    return smaller >= FEWEST and (strata == 1 or strata >= FEWEST)


def _informative(sample: Sample) -> Mask:
    """Rows of strata in which anything varies, as one random coordinate of the rows shows."""
    _, stratum = np.unique(sample.stratum, return_inverse=True)
    places = [
        feature_matrix(each).random_projection(seed=1) for each in (sample.text, sample.dense) if each is not None
    ]
    varies = np.zeros(int(stratum.max()) + 1, dtype=np.bool_)
    for place in places:
        low, high = np.full(len(varies), np.inf), np.full(len(varies), -np.inf)
        np.minimum.at(low, stratum, place)
        np.maximum.at(high, stratum, place)
        varies |= high - low > SAME
    return varies[stratum]


def _means(values: RawMatrix, stratum: IntArray) -> RawMatrix:
    place = sparse.csr_matrix((np.ones(len(stratum)), (stratum, np.arange(len(stratum)))))
    return sparse.diags(1.0 / np.bincount(stratum)) @ (place @ values)


def _deviations(text: sparse.csr_matrix, stratum: IntArray) -> sparse.csr_matrix:
    """Text less its stratum's mean, without what is only rounding."""
    deviation = sparse.csr_matrix(text - _means(text, stratum)[stratum])
    deviation.data[np.abs(deviation.data) < SAME] = 0.0
    deviation.eliminate_zeros()
    return deviation


def _looks(sample: Sample, seed: int) -> list[_Look]:
    """Words and statistics of everything, and of each part that is large enough to be looked at by itself."""
    _, stratum = np.unique(sample.stratum, return_inverse=True)
    views: list[Callable[[IntArray], FloatArray]] = []
    lengths = []
    if sample.text is not None:
        kernel = _within(_word_kernel(sample.text, stratum), stratum)
        views.append(lambda rows: _kernel_inverse(kernel[np.ix_(rows, rows)], TEXT_PENALTY))
        lengths.append(np.sqrt(np.maximum(np.diag(kernel), 0.0)))
    statistics = np.empty((len(stratum), 0))
    if sample.dense is not None:
        statistics = sample.dense - _means(sample.dense, stratum)[stratum]
        lengths.append(np.sqrt((statistics**2).sum(axis=1)))
    statistics = _with_spread(statistics, np.column_stack(lengths), stratum)
    if statistics.shape[1]:
        views.append(lambda rows: _inverse(statistics[rows], DENSE_PENALTY))
    codes = np.unique(sample.part)
    own = [np.flatnonzero(sample.part == code) for code in (codes if len(codes) > 1 else ())]
    index = [np.arange(len(stratum)), *(rows for rows in own if len(np.unique(stratum[rows])) >= FEWEST)]
    return [
        _Look(at == 0, rows, _smoother(view(rows), sample.block[rows], seed))
        for view in views
        for at, rows in enumerate(index)
    ]


def _word_kernel(text: sparse.csr_matrix, stratum: IntArray) -> FloatArray:
    """Inner products of rows of unit length, words weighted by how rare they are.

    A word that is the same for all rows of every stratum, as those of a context are, can tell nothing and is left out.
    """
    single = int(stratum.max()) == 0
    held = text if single else _deviations(text, stratum)
    holder = np.arange(len(stratum)) if single else stratum
    pairs = np.unique(np.repeat(holder, np.diff(held.indptr)) * text.shape[1] + held.indices)
    rows = weighed(text, np.bincount(pairs % text.shape[1], minlength=text.shape[1]), int(holder.max()) + 1)
    kernel: FloatArray = (rows @ rows.T).toarray()
    return kernel


def _within(kernel: FloatArray, stratum: IntArray) -> FloatArray:
    """The kernel of rows less their stratum's mean."""
    half = kernel - _means(kernel, stratum)[stratum]
    return np.asarray(half - _means(half.T, stratum)[stratum].T)


def _with_spread(statistics: FloatArray, lengths: FloatArray, stratum: IntArray) -> FloatArray:
    """Beside the statistics each row's distance to its stratum's middle: outputs that only vary more are told by it."""
    spread = lengths - _means(lengths, stratum)[stratum]
    size = np.sqrt((spread**2).mean(axis=0))
    scale = float(np.sqrt((statistics**2).sum(axis=1).mean())) or 1.0
    spread = spread[:, size > SAME] * (scale / np.sqrt(2.0) / size[size > SAME])
    return np.hstack([statistics, spread])


def _kernel_inverse(kernel: FloatArray, penalty: float) -> FloatArray:
    """(K + penalty I)^-1, the penalty in units of the mean square length of a row."""
    shifted = kernel + np.diag(np.full(len(kernel), penalty * max(float(np.trace(kernel)) / len(kernel), SAME)))
    half, _ = lapack.dpotri(linalg.cholesky(shifted, lower=True, check_finite=False), lower=1)
    return np.asarray(np.tril(half) + np.tril(half, -1).T)


def _inverse(rows: FloatArray, penalty: float) -> FloatArray:
    """The same for K = rows rows', where there are more rows than columns."""
    ridge = penalty * max(float((rows**2).sum()) / len(rows), SAME)
    small = linalg.cho_factor(rows.T @ rows + ridge * np.eye(rows.shape[1]), check_finite=False)
    return np.asarray((np.eye(len(rows)) - rows @ linalg.cho_solve(small, rows.T, check_finite=False)) / ridge)


def _smoother(inverse: FloatArray, block: IntArray, seed: int) -> FloatArray:
    """The matrix from labels to cross-fitted ridge predictions, from one factorization.

    G = (K + penalty I)^-1,   label - prediction = G_FF^-1 (G label)_F   for the rows F of a fold
    """
    smoother = np.zeros_like(inverse)
    for part in group_folds(block, FOLDS, seed):
        held, rest = part.held_out, part.train
        inner = inverse[np.ix_(held, held)]
        smoother[np.ix_(held, rest)] = -linalg.solve(inner, inverse[np.ix_(held, rest)], assume_a="pos")
    return np.asarray(smoother)


def _centred_labels(sample: Sample, labels: FloatArray) -> FloatArray:
    """Labels less their stratum's share, which no reshuffle changes."""
    _, stratum = np.unique(sample.stratum, return_inverse=True)
    return np.asarray(labels - _means(sample.group[:, None].astype(np.float64), stratum)[stratum])


def reshuffled(group: Mask, stratum: IntArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Memberships (n, count) dealt out anew within each stratum; strata of one size are dealt together."""
    _, code, sizes = np.unique(stratum, return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    ranked = sizes[code[order]]
    dealt = np.empty((len(group), count))
    for size in np.unique(sizes):
        rows = order[ranked == size].reshape(-1, size)
        held = np.broadcast_to(group[rows], (count, *rows.shape))
        dealt[rows.ravel()] = rng.permuted(held, axis=2).reshape(count, -1).T
    return dealt


def _adjusted(sample: Sample, looks: list[_Look], observed: FloatArray, seed: int) -> FloatArray:
    """p-value of each look against the best look of each reshuffle.

    The second, longer round keeps what is promised: a p-value of DOUBTFUL or more comes from the first round alone, a
    smaller one needs both.
    """
    rng = np.random.default_rng(seed + 1)
    null = _null(sample, looks, RESHUFFLES, rng)
    adjusted = _best_of(observed, null)
    if adjusted.min() < DOUBTFUL:
        longer = _best_of(observed, np.hstack([null, _null(sample, looks, MORE, rng)]))
        adjusted = np.where(adjusted < DOUBTFUL, longer, adjusted)
    return adjusted


def _null(sample: Sample, looks: list[_Look], count: int, rng: np.random.Generator) -> FloatArray:
    labels = _centred_labels(sample, reshuffled(sample.group, sample.stratum, count, rng))
    return np.array([look.statistics(labels) for look in looks])


def _best_of(observed: FloatArray, null: FloatArray) -> FloatArray:
    """Each look's p-value against the best look of every reshuffle, looks (looks, p) brought to one scale first."""
    every = np.column_stack([observed, null])
    spread = every.std(axis=1, keepdims=True)
    scaled = (every - every.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    best = np.sort(scaled.max(axis=0))
    return np.asarray((len(best) - np.searchsorted(best, scaled[:, 0] - SAME)) / len(best))


def _share(sample: Sample, look: _Look, labels: FloatArray) -> float:
    """Of all pairs of one stratum, one row of each group: how often the group's own has the higher prediction."""
    prediction = np.round(look.smoother @ labels[look.index, 0], 10)
    group, stratum = sample.group[look.index], sample.stratum[look.index]
    right, pairs = 0.0, 0
    for code in np.unique(stratum):
        ours = prediction[(stratum == code) & group]
        others = np.sort(prediction[(stratum == code) & ~group])
        below = np.searchsorted(others, ours, side="left") + np.searchsorted(others, ours, side="right")
        right, pairs = right + below.sum() / 2, pairs + len(ours) * len(others)
    return float(right / pairs)
