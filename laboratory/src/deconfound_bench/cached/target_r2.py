"""How much of a cached target is explained by the proxies or by the judged components: held-out R².

The target of each reward is regressed by least squares with an intercept on the outputs of the training contexts; R² is
computed on the outputs of the test contexts, relative to their own mean. It can be far below zero: the coefficient of
a property that only test outputs have is arbitrary. Therefore the median over splits is reported beside the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deconfound.design import FloatArray
from deconfound.threads import one_blas_thread
from deconfound_bench.cached.draws import HELD_OUT_SHARE, split_contexts
from deconfound_bench.cached.pool import CachedPool
from deconfound_bench.results import read_parquet_rows, write_parquet
from deconfound_bench.score_tables import Estimate, Table, mean_over_seeds

# Values of the column ``features`` in alignment.parquet.
PROXIES, COMPONENTS, FIRST_COMPONENT = "proxies", "judged", "first judged"
FEATURE_SETS = (PROXIES, COMPONENTS, FIRST_COMPONENT)
COLUMNS = ("benchmark", "reward", "features", "seed", "r2")
CONSTANT_TARGET_RTOL = 1e-12  # a target whose RMS deviation is smaller than this, relative to its size, is constant


@dataclass(frozen=True, slots=True)
class TargetFit:
    """R² of one reward's target on one set of features, by seed; NaN where the held-out target is constant."""

    reward: str
    features: str
    seeds: tuple[int, ...]
    r2_by_seed: tuple[float, ...]

    @property
    def mean_r2(self) -> Estimate:
        """Mean over the seeds that have an R²."""
        defined = self._defined()
        return mean_over_seeds(defined) if len(defined) else Estimate(math.nan, math.nan)

    @property
    def median_r2(self) -> float:
        """Median over the seeds that have an R²."""
        defined = self._defined()
        return float(np.median(defined)) if len(defined) else math.nan

    def _defined(self) -> FloatArray:
        values = np.array(self.r2_by_seed)
        return np.asarray(values[np.isfinite(values)])


def fit_targets(pool: CachedPool, seeds: Sequence[int]) -> tuple[TargetFit, ...]:
    """Fit every reward's target on the proxies, on all judged components and on the first component.

    The contexts of a seed are split as in its replications.
    """
    environment = pool.environment
    rewards = tuple(environment.expected_outcome)
    targets = np.stack([environment.target(reward) for reward in rewards], axis=2)
    components = environment.components
    features = {PROXIES: pool.psi[pool.row], COMPONENTS: components, FIRST_COMPONENT: components[..., :1]}
    with one_blas_thread():
        r2 = {
            name: np.array([_held_out_r2(table, targets, seed) for seed in seeds]) for name, table in features.items()
        }
    return tuple(
        TargetFit(reward, name, tuple(seeds), tuple(map(float, r2[name][:, number])))
        for number, reward in enumerate(rewards)
        for name in FEATURE_SETS
    )


def _held_out_r2(features: FloatArray, targets: FloatArray, seed: int) -> FloatArray:
    """R² of each target (contexts, models, rewards) on features (contexts, models, f), on the test contexts."""
    contexts = split_contexts(len(features), HELD_OUT_SHARE, seed)
    train, test = contexts.train, contexts.test
    coef = np.linalg.lstsq(_design(features[train]), _flatten(targets[train]), rcond=None)[0]
    target = _flatten(targets[test])
    residual = ((target - _design(features[test]) @ coef) ** 2).sum(axis=0)
    total = ((target - target.mean(axis=0)) ** 2).sum(axis=0)
    varying = total > (CONSTANT_TARGET_RTOL * np.abs(target).max(axis=0)) ** 2 * len(target)
    r2 = np.full(len(total), np.nan)
    r2[varying] = 1.0 - residual[varying] / total[varying]
    return r2


def _flatten(table: FloatArray) -> FloatArray:
    return np.asarray(table.reshape(-1, table.shape[2]))


def _design(features: FloatArray) -> FloatArray:
    flat = _flatten(features)
    return np.hstack([np.ones((len(flat), 1)), flat])


def target_r2_table(benchmark: str, fits: Sequence[TargetFit]) -> Table:
    """One row per reward; mean and median for each set of features."""
    by_key = {(fit.reward, fit.features): fit for fit in fits}
    names = [name for name in FEATURE_SETS if any(fit.features == name for fit in fits)]
    rows = tuple(
        (reward, *(entry for name in names for entry in _entries(by_key.get((reward, name)))))
        for reward in dict.fromkeys(fit.reward for fit in fits)
    )
    seeds = max((len(fit.seeds) for fit in fits), default=0)
    undefined = {
        seed for fit in fits for seed, r2 in zip(fit.seeds, fit.r2_by_seed, strict=True) if not math.isfinite(r2)
    }
    note = f"Mean ± standard error and median over {seeds} splits of the contexts; least squares with an intercept."
    if undefined:
        note += f" In {len(undefined)} of them some target is constant on the held-out contexts and has no R²."
    title = f"{benchmark}: share of the target's variance explained on held-out contexts (R²)"
    return Table(title, ("reward", *(head for name in names for head in (name, f"{name}, median"))), rows, note)


def _entries(fit: TargetFit | None) -> tuple[Estimate, float]:
    return (Estimate(math.nan, math.nan), math.nan) if fit is None else (fit.mean_r2, fit.median_r2)


def write_target_fits(path: Path, benchmark: str, fits: Sequence[TargetFit]) -> Path:
    """Save the fits as a table with one row per seed; equal fits give equal bytes."""
    import pyarrow as pa

    rows = [
        (benchmark, fit.reward, fit.features, seed, r2)
        for fit in fits
        for seed, r2 in zip(fit.seeds, fit.r2_by_seed, strict=True)
    ]
    types = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.float64())
    schema = pa.schema([pa.field(name, kind) for name, kind in zip(COLUMNS, types, strict=True)])
    columns = {name: [row[number] for row in rows] for number, name in enumerate(COLUMNS)}
    write_parquet(path, pa.table(columns, schema=schema))
    return path


def read_target_fits(path: Path) -> Mapping[str, tuple[TargetFit, ...]]:
    """The fits that ``write_target_fits`` saved, by benchmark."""
    by_key: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in read_parquet_rows(path, COLUMNS, "alignment"):
        by_key.setdefault((row["benchmark"], row["reward"], row["features"]), []).append((row["seed"], row["r2"]))
    fits: dict[str, list[TargetFit]] = {}
    for (benchmark, reward, features), pairs in by_key.items():
        seeds, r2_by_seed = zip(*pairs, strict=True)
        fits.setdefault(benchmark, []).append(TargetFit(reward, features, seeds, r2_by_seed))
    return {benchmark: tuple(group) for benchmark, group in fits.items()}
