"""Answers that name another model than the one that was asked, as those of a gateway's fallback do."""

from __future__ import annotations

from dataclasses import dataclass

from deconfound.replaying.replay_run import ReplayRun
from deconfound.replaying.replay_table import count_by


@dataclass(frozen=True, slots=True)
class ServedModel:
    """How many outputs of a model say that another one wrote them."""

    model: str
    asked: str
    served: str
    outputs: int


def unexpected_models(run: ReplayRun) -> list[ServedModel]:
    """Names of models in answers that do not begin like the one that was asked for, or the other way round."""
    counts = count_by(run.table, "served_model")
    return [
        ServedModel(model.name, model.chat.model, served, count)
        for model in run.plan.models.asked
        for served, count in sorted(counts.get(model.name, {}).items(), key=lambda item: (-item[1], str(item[0])))
        if served is not None and not is_same_model(model.chat.model, served)
    ]


def is_same_model(asked: str, served: str) -> bool:
    """Whether two names may mean one model: services add dates and versions, gateways a prefix."""
    one, other = (name.lower().rpartition("/")[2] for name in (asked, served))
    return one.startswith(other) or other.startswith(one)
