"""The protocol of an estimator family, and the defaults that most families share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from deconfound.design import FloatArray, IntArray, ReplayRows, Rows
from deconfound.progress import Progress, no_progress
from deconfound.reward.auto.attribution import Attribution
from deconfound.reward.fit import RewardFit
from deconfound.reward.training_data import LogPart, TrainingData
from deconfound.threads import one_blas_thread

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

F_contra = TypeVar("F_contra", contravariant=True)


class Prepared(Protocol[F_contra]):
    """A family's candidates on one log and experiment; everything is factored that no fold and no candidate changes.

    Subsets are row numbers of the experiment. They may repeat rows: bootstrap refits do.
    """

    def predict(self, candidate: F_contra, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        """For each training subset: clipped predictions for every experiment row."""
        ...

    def fit(self, candidate: F_contra, train: IntArray) -> RewardFit:
        """The reward fitted to all of the log and one training subset."""
        ...

    def attribution(self, replay: ReplayRows, bootstrap_rows: Sequence[IntArray]) -> Attribution | None:
        """How much each source contributes to the fit on all rows; None where a family has no such decomposition."""
        ...


class Family(Protocol):
    """An estimator family: a frozen dataclass whose fields are its hyperparameters. Fitting changes none of them."""

    name: ClassVar[str]
    learns_from_experiment: ClassVar[bool]
    """Whether outcomes of the experiment enter the fit, so that values need a fit per fold."""

    surface_share: ClassVar[float | None]
    """Fixed share of the surface statistics in phi; None where it is chosen on the experiment."""

    max_log_rows: ClassVar[int | None]
    """Distinct log rows that a fit uses; of a longer log it uses a random sample. None for no limit."""

    max_experiment_rows: ClassVar[int]
    """Larger experiments are refused: memory grows with their rows."""

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit with these hyperparameters to all rows."""
        ...

    def grid(self, data: TrainingData) -> Sequence[Self]:
        """The candidates that tuning compares; only the family itself where nothing is tuned.

        They may depend on the numbers of rows but on no outcome: folds that are held out later are part of ``data``.
        """
        ...

    def regularization_order(self) -> tuple[float, ...]:
        """A key that is larger for the more regularized of two candidates; it breaks ties."""
        ...

    def resolve(self, data: TrainingData, progress: Progress = no_progress) -> Self:
        """The family with every hyperparameter estimated that is learned once from all rows, not tuned in folds.

        What takes more than a second or two reports its steps to ``progress``.
        """
        ...

    def to_document(self) -> dict[str, Any]:
        """The hyperparameters, ready for JSON."""
        ...

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The family with the hyperparameters that ``to_document`` wrote."""
        ...

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> Prepared[Self]:
        """Factor what all candidates share."""
        ...

    def prepare_part(self, part: LogPart, whole: Prepared[Self]) -> Prepared[Self]:
        """The same for this candidate and a part of the log; ``whole`` is its preparation for all of the log."""
        ...


F = TypeVar("F", bound=Family)


class FamilyDefaults:
    """Members of ``Family`` as most families have them; a mixin without data."""

    __slots__ = ()

    learns_from_experiment: ClassVar[bool] = True
    surface_share: ClassVar[float | None] = None
    max_log_rows: ClassVar[int | None] = None
    max_experiment_rows: ClassVar[int] = 50_000

    def fit(self: F, log: Rows, experiment: Rows) -> RewardFit:
        """Prepare for one candidate and fit it."""
        with one_blas_thread():
            prepared = type(self).prepare(TrainingData(log, experiment), [self])
            return prepared.fit(self, np.arange(len(experiment)))

    def grid(self, data: TrainingData) -> Sequence[Self]:  # noqa: ARG002
        """Nothing to tune."""
        return (self,)

    def resolve(self, data: TrainingData, progress: Progress = no_progress) -> Self:  # noqa: ARG002
        """Nothing to estimate beforehand."""
        return self

    def prepare_part(self: F, part: LogPart, whole: Prepared[F]) -> Prepared[F]:  # noqa: ARG002
        """Anew."""
        return type(self).prepare(part.data, (self,))

    def to_document(self: DataclassInstance) -> dict[str, Any]:
        """All fields."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """All fields, by name."""
        return cls(**document)


class PreparedDefaults:
    """Members of ``Prepared`` as most families have them; a mixin without data."""

    __slots__ = ()

    def attribution(self, replay: ReplayRows, bootstrap_rows: Sequence[IntArray]) -> None:
        """No decomposition by source."""
