"""A study as numbers: rows of log, experiment and replay at any balance of text and statistics."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Replay, Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray, Rows, connected_groups, unanimous_code
from deconfound.features import FeatureBlocks, FeatureSpec, Featurizer
from deconfound.reward import RewardFit, TrainingData


@dataclass(frozen=True, slots=True)
class ReplayArrays:
    """The replay's rows, placed by context and model."""

    blocks: FeatureBlocks
    contexts: tuple[str, ...]  # context ids, sorted
    context: IntArray  # (n,) into contexts
    model: IntArray  # (n,) into the models
    models: int
    made: dict[float, Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, table: pa.Table, models: tuple[str, ...], featurizer: Featurizer) -> ReplayArrays:
        """Place every row of a replay table whose models are all known."""
        ids, context = encode(table["context_id"], None)
        _, model = encode(table["model"], models)
        return cls(featurizer.blocks(table), ids, context, model, len(models))

    def rows(self, surface_share: float) -> Rows:
        """The distinct replayed rows as features, made once a balance."""
        if surface_share not in self.made:
            self.made[surface_share] = Rows(self.blocks.phi(surface_share), psi=self.blocks.psi)
        return self.made[surface_share]

    def q(self, reward: RewardFit, surface_share: float) -> FloatArray:
        """q (contexts, models): the reward averaged over the draws of each cell."""
        return reward.add_model_effect_to_matrix(self.average(reward.shown(self.rows(surface_share))))

    def draws(self) -> FloatArray:
        """Draws of each cell (contexts, models)."""
        count = np.bincount(self.context * self.models + self.model, minlength=len(self.contexts) * self.models)
        return count.reshape(-1, self.models).astype(np.float64)

    def average(self, reward: FloatArray) -> FloatArray:
        """The reward of distinct rows (u,) averaged over the draws of each cell (contexts, models)."""
        cell = self.context * self.models + self.model
        total = np.bincount(cell, weights=reward[self.blocks.row_index], minlength=len(self.contexts) * self.models)
        with np.errstate(invalid="ignore"):
            return np.asarray(total.reshape(-1, self.models) / self.draws())


@dataclass(frozen=True, slots=True)
class ExperimentArrays:
    """The experiment's columns beside its features, rows in an order that the file's order cannot change."""

    blocks: FeatureBlocks
    outcome: FloatArray
    model: IntArray  # into study.models, then study.uncompared_models
    context: IntArray  # into the cells' contexts
    cluster: IntArray  # rows that share their luck: the given clusters, or else the contexts
    propensity: FloatArray  # of the model drawn
    together: IntArray  # groups of rows of one context or one cluster, for folds


@dataclass(frozen=True, slots=True)
class StudyArrays:
    """Everything numerical of a study; sources and factorizations are made once a balance."""

    models: tuple[str, ...]
    featurizer: Featurizer
    log_blocks: FeatureBlocks
    log_outcome: FloatArray  # (u,) mean outcome of each distinct log row
    log_weight: FloatArray  # (u,) log rows it stands for
    log_context: IntArray  # (u,)
    log_model: IntArray  # (u,) as in the trial; unknown where several models wrote the same
    trial: ExperimentArrays
    cells: ReplayArrays
    made: dict[float, TrainingData] = field(default_factory=dict)
    surface_shares: dict[tuple[int, bytes], float] = field(default_factory=dict)  # chosen, by seed and subset

    @classmethod
    def of(cls, study: Study, features: FeatureSpec) -> StudyArrays:
        """Featurize a study; the featurizer is fitted on its log."""
        featurizer, log = features.fit_transform_log(study.log, (study.experiment, study.replay))
        weight = np.bincount(log.row_index).astype(np.float64)
        outcome = np.bincount(log.row_index, weights=study.log.arrow["outcome"].to_numpy()) / weight
        _, context = encode(study.log.arrow["context_id"], None)
        first = np.empty(len(weight), dtype=np.int64)
        first[log.row_index[::-1]] = context[::-1]
        cells = ReplayArrays.of(study.replay.arrow, study.models, featurizer)
        trial = _trial(study, featurizer, cells)
        model = unanimous_code(
            encode(study.log.arrow["model"], (*study.models, *study.uncompared_models))[1], log.row_index
        )
        return cls(study.models, featurizer, log, outcome, weight, first, model, trial, cells)

    def sources(self, surface_share: float) -> TrainingData:
        """Log and experiment with phi at this balance."""
        if surface_share not in self.made:
            log, trial = self.log_blocks, self.trial
            self.made[surface_share] = TrainingData(
                Rows(
                    log.phi(surface_share), log.psi, self.log_outcome, self.log_model, self.log_weight, self.log_context
                ),
                Rows(
                    trial.blocks.phi(surface_share)[trial.blocks.row_index],
                    None if trial.blocks.psi is None else trial.blocks.psi[trial.blocks.row_index],
                    trial.outcome,
                    trial.model,
                    context=trial.context,
                ),
            )
        return self.made[surface_share]


def _trial(study: Study, featurizer: Featurizer, cells: ReplayArrays) -> ExperimentArrays:
    table = _ordered(study.experiment.arrow)
    names = (*study.models, *study.uncompared_models)
    _, model = encode(table["model"], names)
    _, context = encode(table["context_id"], cells.contexts)
    columns = table.column_names
    cluster = encode(table["cluster"], None)[1] if "cluster" in columns else context
    if "propensity" in columns:
        propensity = table["propensity"].to_numpy()
    else:
        propensity = np.full(len(model), 1.0 / _drawn_from(study))
    outcome, together = table["outcome"].to_numpy(), connected_groups(context, cluster)
    return ExperimentArrays(featurizer.blocks(table), outcome, model, context, cluster, propensity, together)


def _drawn_from(study: Study) -> int:
    """Models the experiment drew from when nothing is declared: all candidates, and all others that occur in it."""
    return len(set(study.models) | study.experiment.unique_values("model"))


def _ordered(table: pa.Table) -> pa.Table:
    """Rows sorted by what they hold and not by the models' names, so that neither file order nor names matter."""
    keys = [name for name in ("context_id", "output", "outcome", "cluster") if name in table.column_names]
    keys += sorted(name for name in table.column_names if name.startswith("feature_"))
    return table.take(pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys]))


def replayed(replay: Replay, models: tuple[str, ...], featurizer: Featurizer) -> ReplayArrays:
    """Cells of a replay that came after the study, for recommendations on new contexts."""
    return ReplayArrays.of(replay.for_models(models).arrow, models, featurizer)
