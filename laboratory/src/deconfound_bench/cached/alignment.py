"""How much of a cached target can be read off what is seen or judged of an output.

The target of each reward is fitted by least squares with an intercept on the outputs of some contexts; R² is taken on
the outputs of the others, about their own mean. It can be negative, and by far: a trait that only held-out outputs
have leaves its coefficient to chance. So the median over splits stands beside the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray
from deconfound.linalg import one_blas_thread
from deconfound_bench.cached.contests import HELD_OUT
from deconfound_bench.cached.draws import split
from deconfound_bench.cached.pool import CachedPool
from deconfound_bench.results import read_rows
from deconfound_bench.sweep.files import write
from deconfound_bench.tables import Estimate, Table
from deconfound_bench.tables.estimate import over_seeds

PROXIES, JUDGED, FIRST = "proxies", "judged", "first judged"
FEATURES = (PROXIES, JUDGED, FIRST)
COLUMNS = ("benchmark", "reward", "features", "seed", "r2")
STILL = 1e-12  # spread of a target, against its size, below which it is constant


@dataclass(frozen=True, slots=True)
class Aligned:
    """Fit of one reward's target on one kind of features, seed by seed; NaN where the held-out target is constant."""

    reward: str
    features: str
    seeds: tuple[int, ...]
    each: tuple[float, ...]  # R² a seed

    @property
    def r2(self) -> Estimate:
        """Mean over the seeds that have one."""
        known = self._known()
        return over_seeds(known) if len(known) else Estimate(math.nan, math.nan)

    @property
    def median(self) -> float:
        """The middle one of the seeds."""
        known = self._known()
        return float(np.median(known)) if len(known) else math.nan

    def _known(self) -> FloatArray:
        values = np.array(self.each)
        return np.asarray(values[np.isfinite(values)])


def alignment(pool: CachedPool, seeds: Sequence[int]) -> tuple[Aligned, ...]:
    """Fit every reward's target on the compressed proxies, on all judged components and on the first of them.

    The contexts of a seed are split as in its contests.
    """
    world = pool.world
    rewards = tuple(world.liking)
    targets = np.stack([world.q(reward) for reward in rewards], axis=2)
    features = {PROXIES: pool.psi[pool.row], JUDGED: world.judged, FIRST: world.judged[..., :1]}
    with one_blas_thread():
        found = {
            name: np.array([_held_out(table, targets, seed) for seed in seeds]) for name, table in features.items()
        }
    return tuple(
        Aligned(reward, name, tuple(seeds), tuple(map(float, found[name][:, at])))
        for at, reward in enumerate(rewards)
        for name in FEATURES
    )


def alignment_table(benchmark: str, aligned: Sequence[Aligned]) -> Table:
    """One row a reward; mean and median of each kind of features."""
    by_key = {(one.reward, one.features): one for one in aligned}
    features = [name for name in FEATURES if any(one.features == name for one in aligned)]
    rows = tuple(
        (reward, *(entry for name in features for entry in _entries(by_key.get((reward, name)))))
        for reward in dict.fromkeys(one.reward for one in aligned)
    )
    seeds = max((len(one.seeds) for one in aligned), default=0)
    lost = {seed for one in aligned for seed, r2 in zip(one.seeds, one.each, strict=True) if not math.isfinite(r2)}
    note = f"Mean ± standard error and median over {seeds} splits of the contexts; least squares with an intercept."
    if lost:
        note += f" In {len(lost)} of them some target is constant on the held-out contexts and has no R²."
    title = f"{benchmark}: share of the target's variance explained on held-out contexts (R²)"
    return Table(title, ("reward", *(head for name in features for head in (name, f"{name}, median"))), rows, note)


def write_alignment(path: Path, benchmark: str, aligned: Sequence[Aligned]) -> Path:
    """Keep the fits as a table, one row a seed; the same fits give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        (benchmark, one.reward, one.features, seed, r2)
        for one in aligned
        for seed, r2 in zip(one.seeds, one.each, strict=True)
    ]
    kinds = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.float64())
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(COLUMNS, kinds, strict=True)])
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)}, schema=schema)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", version="2.6")
    write(path, sink.getvalue().to_pybytes())
    return path


def read_alignment(path: Path) -> Mapping[str, tuple[Aligned, ...]]:
    """The fits that ``write_alignment`` kept, by benchmark."""
    kept: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in read_rows(path, COLUMNS, "alignment"):
        kept.setdefault((row["benchmark"], row["reward"], row["features"]), []).append((row["seed"], row["r2"]))
    found: dict[str, list[Aligned]] = {}
    for (benchmark, reward, features), pairs in kept.items():
        seeds, each = zip(*pairs, strict=True)
        found.setdefault(benchmark, []).append(Aligned(reward, features, seeds, each))
    return {benchmark: tuple(aligned) for benchmark, aligned in found.items()}


def _entries(one: Aligned | None) -> tuple[Estimate, float]:
    return (Estimate(math.nan, math.nan), math.nan) if one is None else (one.r2, one.median)


def _held_out(features: FloatArray, targets: FloatArray, seed: int) -> FloatArray:
    """R² of each target (contexts, models, rewards) by features (contexts, models, f) on the held-out contexts."""
    parts = split(len(features), HELD_OUT, seed)
    (x, y), (held_x, held_y) = ((_design(features[at]), _flat(targets[at])) for at in (parts.train, parts.test))
    coef = np.linalg.lstsq(x, y, rcond=None)[0]
    missed = ((held_y - held_x @ coef) ** 2).sum(axis=0)
    spread = ((held_y - held_y.mean(axis=0)) ** 2).sum(axis=0)
    moving = spread > (STILL * np.abs(held_y).max(axis=0)) ** 2 * len(held_y)
    r2 = np.full(len(spread), np.nan)
    r2[moving] = 1.0 - missed[moving] / spread[moving]
    return r2


def _flat(table: FloatArray) -> FloatArray:
    return np.asarray(table.reshape(-1, table.shape[2]))


def _design(features: FloatArray) -> FloatArray:
    flat = _flat(features)
    return np.hstack([np.ones((len(flat), 1)), flat])
