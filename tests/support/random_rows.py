"""Random rows of every shape that the estimators must cope with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray, Rows


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of a made study: unique rows are drawn with replacement, so log and experiment repeat themselves."""

    features: int = 8
    proxies: int = 4
    unique: int = 60
    log: int = 150
    experiment: int = 40
    sparse: bool = False
    weighted: bool = False
    models: int = 6
    spread: float = 0.35  # large enough that predictions are clipped now and then


TALL = Shape()
WIDE = Shape(features=70, unique=25, log=60, experiment=30)
FEW = Shape(features=12, proxies=9, unique=40, log=60, experiment=7, models=3)


@dataclass(frozen=True, slots=True)
class Pair:
    """A log and an experiment over the same unique rows, and fresh rows to predict."""

    log: Rows
    experiment: Rows
    fresh: Rows


def make(shape: Shape, seed: int = 0) -> Pair:
    """A log and an experiment with repeated rows, shared rows, contexts of three unique rows each."""
    rng = np.random.default_rng(seed)
    phi = rng.standard_normal((shape.unique, shape.features))
    if shape.sparse:
        phi *= rng.random(phi.shape) < 0.2
    psi = rng.standard_normal((shape.unique, shape.proxies)) + phi[:, :1]
    level = 0.5 + shape.spread * np.tanh(phi[:, :3].sum(axis=1))
    stored, context = sparse.csr_matrix(phi) if shape.sparse else phi, np.arange(shape.unique) // 3
    pool = Rows(stored, psi=psi, context=context, modifiers=0.5 * psi[:, :2])
    log = _draw(pool, level + shape.spread * 0.5 * np.sign(psi[:, 0]), shape.log, shape, rng)
    experiment = _draw(pool, level, shape.experiment, shape, rng)
    fresh, fresh_psi = rng.standard_normal((20, shape.features)), rng.standard_normal((20, shape.proxies))
    fresh_modifiers = 0.5 * fresh_psi[:, :2]
    return Pair(
        log if shape.weighted else replace(log, weight=None),
        experiment if shape.weighted else replace(experiment, weight=None),
        Rows(sparse.csr_matrix(fresh) if shape.sparse else fresh, psi=fresh_psi, modifiers=fresh_modifiers),
    )


def _draw(pool: Rows, level: FloatArray, size: int, shape: Shape, rng: np.random.Generator) -> Rows:
    picked = rng.integers(len(pool), size=size)
    noisy = level[picked] + 0.2 * rng.standard_normal(size)
    weight = rng.integers(1, 4, size).astype(np.float64)
    return replace(
        pool.take(picked), outcome=np.clip(noisy, 0.0, 1.0), model=uneven(size, shape.models, rng), weight=weight
    )


def uneven(size: int, models: int, rng: np.random.Generator) -> IntArray:
    """Model codes whose counts grow with the code, so that ordering models by count orders them by code."""
    counts = np.arange(1, models + 1) + (size - models * (models + 1) // 2) // models
    counts[-1] += size - counts.sum()
    return rng.permutation(np.repeat(np.arange(models), counts))


def repeated(rows: Rows) -> Rows:
    """The same observations with every weight written out as repeats."""
    return replace(rows.take(np.repeat(np.arange(len(rows)), rows.weight_or_ones.astype(np.int64))), weight=None)


def shuffled(rows: Rows, seed: int) -> Rows:
    """The same rows in another order."""
    return rows.take(np.random.default_rng(seed).permutation(len(rows)))


def mild(pair: Pair) -> Pair:
    """The same study with outcomes drawn in around one half, where nothing is ever clipped."""
    return replace(pair, log=_drawn_in(pair.log), experiment=_drawn_in(pair.experiment))


def _drawn_in(rows: Rows) -> Rows:
    return replace(rows, outcome=0.5 + 0.1 * (rows.require_outcome() - 0.5))
