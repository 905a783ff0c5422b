"""A study as numbers: rows of log, experiment and replay at any share of surface statistics in phi."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.data import Log, Replay, Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray, ReplayRows, Rows, connected_groups, unanimous_code
from deconfound.features.blocks import FeatureBlocks
from deconfound.features.featurizer import FeatureSpec, Featurizer
from deconfound.features.log_statistics import LogStatistics


@dataclass(frozen=True, slots=True)
class LogArrays:
    """The log's distinct rows; equal rows are merged, with the mean of their outcomes."""

    blocks: FeatureBlocks
    outcome: FloatArray  # (u,) mean over equal rows
    weight: FloatArray  # (u,) number of equal rows
    context: IntArray  # (u,)
    model: IntArray  # (u,) as in the experiment; unknown where several models wrote the same output

    @classmethod
    def from_log(cls, log: Log, blocks: FeatureBlocks, models: tuple[str, ...]) -> LogArrays:
        """Merge the rows that ``blocks`` found to be equal; model codes are positions in ``models``."""
        weight = np.bincount(blocks.row_index).astype(np.float64)
        outcome = np.bincount(blocks.row_index, weights=log.arrow["outcome"].to_numpy()) / weight
        _, context = encode(log.arrow["context_id"], None)
        context_of_row = np.empty(len(weight), dtype=np.int64)
        context_of_row[blocks.row_index[::-1]] = context[::-1]  # the first of equal rows is written last
        model = unanimous_code(encode(log.arrow["model"], models)[1], blocks.row_index)
        return cls(blocks, outcome, weight, context_of_row, model)


@dataclass(frozen=True, slots=True)
class ExperimentArrays:
    """The experiment's columns and features."""

    blocks: FeatureBlocks
    outcome: FloatArray  # (n,)
    model: IntArray  # (n,) into study.models, then study.uncompared_models
    context: IntArray  # (n,) into the replay's contexts
    cluster: IntArray  # (n,) the given clusters, such as users, or else the contexts
    propensity: FloatArray  # (n,) of the assigned model
    fold_group: IntArray  # (n,) rows that share a context or a cluster, as far as folds can respect both

    @classmethod
    def from_study(cls, study: Study, featurizer: Featurizer, contexts: tuple[str, ...]) -> ExperimentArrays:
        """Encode the experiment; ``contexts`` are the replay's."""
        table = study.experiment.arrow
        _, model = encode(table["model"], (*study.models, *study.uncompared_models))
        context, cluster = experiment_groups(study, contexts)
        if "propensity" in table.column_names:
            propensity = table["propensity"].to_numpy()
        else:
            propensity = np.full(len(model), 1.0 / n_assignable_models(study))
        outcome, fold_group = table["outcome"].to_numpy(), connected_groups(context, cluster)
        return cls(featurizer.blocks(table), outcome, model, context, cluster, propensity, fold_group)

    @property
    def noise_clusters(self) -> IntArray:
        """Clusters and contexts (n, 2): rows that share either have correlated noise."""
        return np.column_stack([self.cluster, self.context])


class ReplayArrays:
    """The replay's draws by context and model; features are computed once per surface share."""

    def __init__(
        self, blocks: FeatureBlocks, contexts: tuple[str, ...], context: IntArray, model: IntArray, n_models: int
    ) -> None:
        self.blocks = blocks
        self.contexts = contexts  # context ids, sorted
        self.context = context  # (n,) into contexts
        self.model = model  # (n,) into the models
        self.n_models = n_models
        self._rows_by_share: dict[float, ReplayRows] = {}

    @classmethod
    def from_replay(cls, replay: Replay, models: tuple[str, ...], featurizer: Featurizer) -> ReplayArrays:
        """Encode the rows of these models; the replay may be of other contexts than the study's."""
        table = replay.for_models(models).arrow
        contexts, context = encode(table["context_id"], None)
        _, model = encode(table["model"], models)
        return cls(featurizer.blocks(table), contexts, context, model, len(models))

    def rows(self, surface_share: float) -> ReplayRows:
        """The draws with phi at this share."""
        if surface_share not in self._rows_by_share:
            distinct = Rows(self.blocks.phi(surface_share), psi=self.blocks.psi, modifiers=self.blocks.modifiers)
            n_contexts, row_index = len(self.contexts), self.blocks.row_index
            rows = ReplayRows(distinct, row_index, self.context, self.model, n_contexts, self.n_models)
            self._rows_by_share[surface_share] = rows
        return self._rows_by_share[surface_share]


@dataclass(frozen=True, slots=True)
class LongLogArrays:
    """Sums over all rows of a log that is too long for arrays."""

    statistics: LogStatistics
    models: tuple[str, ...]  # all models, in the order of their codes
    fold: IntArray  # (contexts,) the fold of each replayed context that the rows were summed by; -1 for none


@dataclass(frozen=True, slots=True)
class StudyArrays:
    """Everything numerical of a study."""

    models: tuple[str, ...]
    featurizer: Featurizer
    log: LogArrays
    experiment: ExperimentArrays
    replay: ReplayArrays
    log_context: IntArray  # (u,) context of each distinct log row among the replay's; -1 for others
    long_log: LongLogArrays | None = None  # every row of a long log; ``log`` then is a sample

    @classmethod
    def from_study(cls, study: Study, features: FeatureSpec) -> StudyArrays:
        """Compute the features of all three tables; the featurizer is fitted to the log, or to the sample of it."""
        featurizer, blocks = features.fit_transform_log(study.log, (study.experiment, study.replay))
        return cls.from_blocks(study, featurizer, blocks)

    @classmethod
    def from_blocks(cls, study: Study, featurizer: Featurizer, blocks: FeatureBlocks) -> StudyArrays:
        """The same with a fitted featurizer and the log's features."""
        log = LogArrays.from_log(study.log, blocks, (*study.models, *study.uncompared_models))
        replay = ReplayArrays.from_replay(study.replay, study.models, featurizer)
        experiment = ExperimentArrays.from_study(study, featurizer, replay.contexts)
        _, in_replay = encode(study.log.arrow["context_id"], replay.contexts)
        log_context = np.empty(len(log.weight), dtype=np.int64)
        log_context[blocks.row_index[::-1]] = in_replay[::-1]  # as ``LogArrays.context``
        return cls(study.models, featurizer, log, experiment, replay, log_context)

    @property
    def has_surface_share(self) -> bool:
        """Whether phi has both text and surface statistics, so that a share between them has a meaning."""
        return self.log.blocks.has_text_and_dense

    def log_rows(self, surface_share: float) -> Rows:
        """The log with phi at this share."""
        log, blocks = self.log, self.log.blocks
        phi = blocks.phi(surface_share)
        return Rows(phi, blocks.psi, log.outcome, log.model, log.weight, log.context, blocks.modifiers)

    def experiment_rows(self, surface_share: float) -> Rows:
        """The experiment with phi at this share."""
        experiment, blocks = self.experiment, self.experiment.blocks
        return Rows(
            blocks.phi(surface_share)[blocks.row_index],
            None if blocks.psi is None else blocks.psi[blocks.row_index],
            experiment.outcome,
            experiment.model,
            context=experiment.context,
            modifiers=None if blocks.modifiers is None else blocks.modifiers[blocks.row_index],
        )


def experiment_groups(study: Study, contexts: tuple[str, ...]) -> tuple[IntArray, IntArray]:
    """The context of each experiment row, among ``contexts``, and its cluster: the given one, or else the context."""
    table = study.experiment.arrow
    _, context = encode(table["context_id"], contexts)
    return context, encode(table["cluster"], None)[1] if "cluster" in table.column_names else context


def n_assignable_models(study: Study) -> int:
    """Models that the experiment could assign if no propensity is declared: the candidates and all that occur in it."""
    return len(set(study.models) | study.experiment.unique_values("model"))
