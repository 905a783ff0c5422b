"""The contexts that the values of a study are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study
from deconfound.errors import UsageError
from deconfound.value.transport import TransportWeights

PopulationKind: TypeAlias = Literal["experiment", "experiment and extra contexts", "target"]


@dataclass(frozen=True, slots=True)
class Population:
    """The contexts that the values are about: an average over them is what a value is."""

    kind: PopulationKind
    source: str  # the table that lists the contexts: the experiment, with extra contexts the replay, or the target
    contexts: int
    experiment_rows: int
    effective_rows: float  # experiment rows that count after weighting to the target (Kish); otherwise all of them
    unused_extra_contexts: int  # replayed for every model beyond the experiment's, and not averaged in


def complete_extra_contexts(study: Study) -> set[str]:
    """Contexts outside the experiment on which every model was replayed."""
    return set(study.replay.complete_contexts(study.models)) - study.experiment.unique_values("context_id")


def require_extra_contexts(study: Study) -> None:
    """Refuse to use extra contexts where there are none."""
    if not complete_extra_contexts(study):
        raise UsageError("extra_contexts: no context outside the experiment was replayed for every model.")


def describe_population(
    study: Study,
    target: pa.Table | None,
    target_source: str,
    weights: TransportWeights | None,
    use_extra_contexts: bool,
) -> Population:
    """Name and count the contexts: the target's, the experiment's and extra ones, or the experiment's alone."""
    rows, extra = len(study.experiment), len(complete_extra_contexts(study))
    own = len(study.experiment.unique_values("context_id"))
    if target is not None and weights is not None:
        name = "context_id" if "context_id" in target.column_names else "context"
        contexts = pc.count_distinct(target[name]).as_py()
        return Population("target", target_source, contexts, len(weights.weight), weights.effective_rows, extra)
    if use_extra_contexts:
        return Population("experiment and extra contexts", study.replay.source, own + extra, rows, float(rows), 0)
    return Population("experiment", study.experiment.source, own, rows, float(rows), extra)
