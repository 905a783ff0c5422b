"""What a set of traces contains, and which tables of a study it can feed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from deconfound.traces.call_table import CallSummary, distinct
from deconfound.traces.feedback_key import FeedbackKey
from deconfound.traces.reader import Remarks
from deconfound.traces.router_weights import RouterConfig, RouterDraw, draws_among
from deconfound.traces.score_join import asks_for_outcome, join_scores
from deconfound.traces.side_tables import ExposureMatch, find_side_tables
from deconfound.traces.study_tables import REPLAY_READERS
from deconfound.traces.trace_import import UNKNOWN_FORMAT, Traces
from deconfound.traces.units import Unit, choose_units

MAX_ATTRIBUTE_VALUES = 10  # an attribute with more does not mark an experiment
MIN_MODELS = 2
PROPENSITY_NAME = "propensity"


@dataclass(frozen=True, slots=True)
class ScoreCount:
    """How often a score occurs, and who gives it."""

    name: str
    author: str
    count: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """Counts of everything that matters for a study."""

    files: dict[str, int]  # by reader
    calls: dict[str, int]  # by reader
    units: int
    left_out: dict[str, int]
    models: dict[str, int]  # of the units
    renamed: dict[str, tuple[str, ...]]  # names that were asked for, by the model that answered
    users: int
    conversations: int
    flags: dict[str, int]
    scores: tuple[ScoreCount, ...]
    asks_for_outcome: bool  # whether one of several scores, or one by an unknown author, must be chosen
    groups: dict[str, dict[str, int]]  # of routers that drew several models
    configs: dict[str, tuple[RouterDraw, ...]]  # what configurations of routers say about these calls
    recorded_propensities: dict[str, int]  # attributes that are called so, and how many units have them
    attributes: dict[str, tuple[str, ...]]  # with few values: they may mark an experiment
    attribute_counts: dict[str, int]  # how many units have each attribute
    replayed_models: dict[str, int]
    replayed_contexts: int
    feedback: dict[str, FeedbackKey]  # tables among the files that judge these calls
    exposures: dict[str, ExposureMatch]  # tables among the files that say who was assigned what
    unusable_tables: dict[str, str]  # that look like one of these, and why they are not used
    remarks: Remarks

    @property
    def has_human_scores(self) -> bool:
        """Whether some score may be an outcome."""
        return any(score.author in ("human", "unknown") for score in self.scores)

    @property
    def can_be_replay(self) -> bool:
        """Whether several models answered."""
        return len(self.replayed_models) >= MIN_MODELS


def take_inventory(traces: Traces, unit: Unit = "turn", configs: Sequence[RouterConfig] = ()) -> Inventory:
    """Count calls, models, scores and signs of randomization."""
    calls = traces.table.calls
    used = [call for call in calls if call.reader not in REPLAY_READERS]
    replayed = [call for call in calls if call.reader in REPLAY_READERS]
    units = choose_units(used, unit)
    chosen = [used[row] for row in units.rows]
    side = find_side_tables(traces.others, calls)
    feedback = next(iter(side.feedback.values()), None)  # the table that the next command names
    scores = (*traces.table.scores, *(() if feedback is None else feedback.scores))
    joined = join_scores(used, units.rows, scores, {}, units.lost.tolist())
    return Inventory(
        files={name: len(files) for name, files in traces.files.items()},
        calls=distinct(calls, "reader"),
        units=len(chosen),
        left_out=units.left_out,
        models=distinct(chosen, "model"),
        renamed=_requested_names(chosen),
        users=len(distinct(chosen, "user")),
        conversations=len(distinct(chosen, "conversation")),
        flags=dict(Counter(flag for call in calls for flag in call.flags).most_common()),
        scores=_score_counts(traces),
        asks_for_outcome=asks_for_outcome(joined),
        groups=_router_groups(chosen),
        configs={config.source: tuple(draws_among(config, chosen)) for config in configs},
        recorded_propensities=_recorded_propensities(chosen),
        attributes=_marking_attributes(chosen),
        attribute_counts=dict(Counter(name for call in chosen for name, _ in call.attributes).most_common()),
        replayed_models=distinct(replayed, "model"),
        replayed_contexts=len({call.context_id for call in replayed if call.context_id}),
        feedback={name: each.key for name, each in side.feedback.items()},
        exposures=side.exposures,
        unusable_tables=side.unusable,
        remarks=traces.remarks.replaced(UNKNOWN_FORMAT, side.unknown),
    )


def _requested_names(calls: Sequence[CallSummary]) -> dict[str, tuple[str, ...]]:
    names: dict[str, set[str]] = {}
    for call in calls:
        if call.requested_model and call.requested_model != call.model:
            names.setdefault(call.model, set()).add(call.requested_model)
    return {model: tuple(sorted(others)) for model, others in sorted(names.items())}


def _score_counts(traces: Traces) -> tuple[ScoreCount, ...]:
    counts = Counter((score.name, score.author) for score in traces.table.scores)
    return tuple(ScoreCount(name, author, count) for (name, author), count in counts.most_common())


def _router_groups(calls: Sequence[CallSummary]) -> dict[str, dict[str, int]]:
    by_group: dict[str, Counter[str]] = {}
    for call in calls:
        if call.group:
            by_group.setdefault(call.group, Counter())[call.model] += 1
    return {name: dict(models.most_common()) for name, models in by_group.items() if len(models) >= MIN_MODELS}


def _recorded_propensities(calls: Sequence[CallSummary]) -> dict[str, int]:
    names = (name for call in calls for name, _ in call.attributes if name.rpartition(".")[2] == PROPENSITY_NAME)
    return dict(Counter(names).most_common())


def _marking_attributes(calls: Sequence[CallSummary]) -> dict[str, tuple[str, ...]]:
    """Attributes that divide the calls into a few parts."""
    values: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for call in calls:
        for name, value in call.attributes:
            values.setdefault(name, set()).add(value)
            counts[name] += 1
    few = {name for name, seen in values.items() if len(seen) <= MAX_ATTRIBUTE_VALUES}
    divides = [name for name in sorted(few) if len(values[name]) > 1 or 0 < counts[name] < len(calls)]
    return {name: tuple(sorted(values[name])) for name in divides}
