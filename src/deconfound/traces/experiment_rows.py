"""Which units were randomized, and with which probability their model was drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from deconfound.assignment import AssignmentManifest
from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import join_names
from deconfound.traces.assigned_calls import (
    calls_of_group,
    drawn_models,
    require_compliance,
    require_exposed_models,
    since_start,
)
from deconfound.traces.call_filter import Condition, require_known_names
from deconfound.traces.call_table import CallSummary
from deconfound.traces.exposure_propensities import probability_from, require_propensity
from deconfound.traces.exposures import ExposureTable, join_exposures, models_by_variant
from deconfound.traces.router_weights import RouterConfig, RouterDraw, asked_for, find_draw

NOT_RANDOMIZED_FLAGS = ("fallback", "cached")
"""A fallback replaces the model that was drawn, and a cached answer was drawn for somebody else."""

OTHER_MODEL = "another model answered than the drawn one"
NOT_DRAWN = "a model without declared propensity"
RETRIES, RETRIED = "attempted_retries", "retried, so that another model may have been drawn first"
SWITCHED = "of a user with two variants"


@dataclass(frozen=True, slots=True)
class ExperimentRule:
    """How randomized calls are recognized: by conditions, by exposures, by a router's group, or by what calls record.

    ``propensity`` declares the probability of each model, and ``router`` is a configuration that does, ``assignment``
    a manifest; ``attribute`` names the attribute in which calls record it. ``variants`` are the models of the variants
    of ``exposures``.
    """

    where: tuple[Condition, ...] = ()
    propensity: Mapping[str, float] = field(default_factory=dict)
    router: RouterConfig | None = None
    assignment: AssignmentManifest | None = None
    attribute: str = ""
    exposures: ExposureTable | None = None
    variants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentRows:
    """The randomized units, the probability of each one's model (NaN if unknown), and units that were left out."""

    randomized: NDArray[np.bool_]  # (n,)
    propensity: FloatArray  # (n,)
    excluded: NDArray[np.bool_]  # (n,) of the experiment, for the reasons below; they are no rows of the log either
    reasons: dict[str, int]
    switched_units: int = 0
    draw: RouterDraw | None = None  # where a router's configuration gave the probabilities


@dataclass(frozen=True, slots=True, eq=False)
class _Assignment:
    """Per call: whether it was randomized, with which probability, and where this is recorded."""

    randomized: NDArray[np.bool_]
    propensity: FloatArray
    places: list[str]
    propensity_name: str = ""  # where propensities are recorded; empty if nowhere
    drawn: list[str] = field(default_factory=list)  # models of the variants, empty for unknown ones
    switched: list[bool] = field(default_factory=list)
    switched_units: int = 0


def find_experiment(calls: Sequence[CallSummary], rule: ExperimentRule) -> ExperimentRows:
    """Apply the rule to the units of a study."""
    require_known_names(rule.where, calls)
    assigned = _assignment(calls, rule)
    where = np.array([_was_chosen(call, rule.where) for call in calls], dtype=bool)
    randomized, propensity = assigned.randomized & where, assigned.propensity
    shares, draw = rule.propensity, None
    if rule.assignment is not None:
        shares = rule.assignment.rule.propensities
        require_compliance(calls, assigned.drawn or [""] * len(calls), randomized)
    if rule.router is not None:
        chosen = bool(rule.where) or rule.exposures is not None
        draw, drawn_calls = find_draw(rule.router, calls, randomized, chosen_by_user=chosen)
        randomized &= drawn_calls
        shares = draw.shares
    if shares:
        propensity = np.array([shares.get(call.model, np.nan) for call in calls])
    reasons = [_why_excluded(call, assigned, row, shares) for row, call in enumerate(calls)]
    excluded = randomized & np.array([bool(reason) for reason in reasons], dtype=bool)
    counts = Counter(reason for reason, out in zip(reasons, excluded, strict=True) if out)
    if assigned.propensity_name and not shares:
        require_propensity(propensity, randomized & ~excluded, assigned.places, assigned.propensity_name)
    if rule.exposures is not None:
        require_exposed_models(calls, assigned.drawn, randomized & (np.array(reasons) == OTHER_MODEL), randomized)
    return ExperimentRows(randomized & ~excluded, propensity, excluded, dict(counts), assigned.switched_units, draw)


def _was_chosen(call: CallSummary, where: Sequence[Condition]) -> bool:
    """Whether a call fulfills all conditions, a fallback also as a call of the group where it began."""
    if all(each.holds(call) for each in where):
        return True
    return "fallback" in call.flags and all(each.holds(replace(call, group=asked_for(call))) for each in where)


def _assignment(calls: Sequence[CallSummary], rule: ExperimentRule) -> _Assignment:
    everyone, unknown = np.ones(len(calls), dtype=bool), np.full(len(calls), np.nan)
    assigned = _Assignment(everyone, unknown, [call.origin for call in calls])
    if rule.exposures is not None:
        assigned = _exposed(calls, rule.exposures, rule.variants)
    if rule.attribute:
        recorded = _recorded(calls, rule.attribute)
        chosen = bool(rule.where) or rule.exposures is not None
        randomized = assigned.randomized if chosen else ~np.isnan(recorded)
        places = [call.origin for call in calls]
        return replace(
            assigned, randomized=randomized, propensity=recorded, places=places, propensity_name=rule.attribute
        )
    if rule.assignment is not None:
        return _assigned(calls, rule.assignment, assigned, rule)
    if rule.exposures is not None or rule.where or rule.router:
        return assigned
    return replace(assigned, randomized=_drawn_by_router(calls) if rule.propensity else ~everyone)


def _exposed(calls: Sequence[CallSummary], table: ExposureTable, variants: Mapping[str, str]) -> _Assignment:
    joined = join_exposures(calls, table)
    models = models_by_variant(table, sorted({call.model for call in calls}), variants)
    return _Assignment(
        np.array([each is not None or out for each, out in zip(joined.exposure, joined.switched, strict=True)], bool),
        np.array([np.nan if each is None or each.propensity is None else each.propensity for each in joined.exposure]),
        ["" if each is None else each.place for each in joined.exposure],
        table.propensity_name,
        ["" if each is None else models[each.variant] for each in joined.exposure],
        joined.switched,
        joined.switched_units,
    )


def _assigned(
    calls: Sequence[CallSummary], manifest: AssignmentManifest, exposed: _Assignment, rule: ExperimentRule
) -> _Assignment:
    """Calls since the experiment's start whose units take part, or that asked for the gateway's name."""
    chosen = bool(rule.where) or rule.exposures is not None
    randomized = exposed.randomized & since_start(calls, manifest)
    if manifest.is_reproducible:
        drawn = drawn_models(calls, manifest, chosen_by_user=chosen)
        takes_part = np.array([bool(model) for model in drawn], dtype=bool)
        return replace(exposed, randomized=randomized & takes_part if any(drawn) else randomized, drawn=drawn)
    return replace(exposed, randomized=randomized if chosen else randomized & calls_of_group(calls, manifest))


def _recorded(calls: Sequence[CallSummary], name: str) -> FloatArray:
    """The probability that each call records in an attribute; NaN without it."""
    require_known_names([Condition(name, "")], calls)
    texts = [dict(call.attributes).get(name, "") for call in calls]
    pairs = zip(calls, texts, strict=True)
    return np.array([probability_from(text, call.origin, name) if text else np.nan for call, text in pairs])


def _drawn_by_router(calls: Sequence[CallSummary]) -> NDArray[np.bool_]:
    """Calls of the one group in which several models answered; with several such groups the user is asked."""
    models: dict[str, set[str]] = {}
    for call in calls:
        if "fallback" not in call.flags:
            models.setdefault(call.group, set()).add(call.model)
    groups = sorted(name for name, answered in models.items() if name and len(answered) > 1)
    if len(groups) != 1:
        found = f"there are several: {join_names(groups)}" if groups else "there is none"
        raise UsageError(
            f"--propensity: the randomized calls are those of a router's group with several models, and {found}. "
            "Name them with --experiment-where, such as --experiment-where group=chat."
        )
    return np.array([groups[0] in (call.group, asked_for(call)) for call in calls], dtype=bool)


def _why_excluded(call: CallSummary, assigned: _Assignment, row: int, shares: Mapping[str, float]) -> str:
    flagged = next((flag for flag in NOT_RANDOMIZED_FLAGS if flag in call.flags), "")
    if assigned.switched and assigned.switched[row]:
        return SWITCHED
    if flagged:
        return flagged
    if assigned.drawn and assigned.drawn[row] not in ("", call.model):
        return OTHER_MODEL
    if RETRIES in dict(call.attributes) and not (assigned.drawn and assigned.drawn[row]):
        return RETRIED
    return NOT_DRAWN if shares and call.model not in shares else ""
