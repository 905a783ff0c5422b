"""Which units were randomized, and with which probability their model was drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import join_names
from deconfound.traces.call_filter import Condition, require_known_names
from deconfound.traces.call_table import CallSummary
from deconfound.traces.exposures import ExposureTable, join_exposures, models_by_variant
from deconfound.traces.router_weights import RouterConfig, RouterDraw, find_draw

NOT_RANDOMIZED_FLAGS = ("fallback", "cached")
"""A fallback replaces the model that was drawn, and a cached answer was drawn for somebody else."""

OTHER_MODEL = "another model answered than the variant's"
NOT_DRAWN = "a model without declared propensity"


@dataclass(frozen=True, slots=True)
class ExperimentRule:
    """How randomized calls are recognized: by conditions, by exposures, by a router's group, or by what calls record.

    ``propensity`` declares the probability of each model, and ``router`` is a configuration that does; ``variants``
    are the models of the variants of ``exposures``.
    """

    where: tuple[Condition, ...] = ()
    propensity: Mapping[str, float] = field(default_factory=dict)
    router: RouterConfig | None = None
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


def find_experiment(calls: Sequence[CallSummary], rule: ExperimentRule) -> ExperimentRows:
    """Apply the rule to the units of a study."""
    require_known_names(rule.where, calls)
    randomized = np.ones(len(calls), dtype=bool)
    propensity = np.array([np.nan if call.propensity is None else call.propensity for call in calls])
    variant_model: list[str | None] = [None] * len(calls)
    switched = 0
    if rule.exposures is not None:
        joined = join_exposures(calls, rule.exposures)
        models = models_by_variant(rule.exposures, sorted({call.model for call in calls}), rule.variants)
        variant_model = [None if each is None else models[each.variant] for each in joined.exposure]
        recorded = [np.nan if e is None or e.propensity is None else e.propensity for e in joined.exposure]
        propensity = np.where(np.isnan(recorded), propensity, recorded)
        randomized &= np.array([each is not None for each in joined.exposure], dtype=bool)
        switched = joined.switched_units
    elif not (rule.where or rule.router):
        randomized &= _drawn_by_router(calls) if rule.propensity else ~np.isnan(propensity)
    randomized &= np.array([all(each.holds(call) for each in rule.where) for call in calls], dtype=bool)
    shares, draw = rule.propensity, None
    if rule.router is not None:
        chosen = bool(rule.where) or rule.exposures is not None
        draw, drawn_calls = find_draw(rule.router, calls, randomized, chosen_by_user=chosen)
        randomized &= drawn_calls
        shares = draw.shares
    if shares:
        propensity = np.array([shares.get(call.model, np.nan) for call in calls])
    reasons = [_why_excluded(call, drawn, shares) for call, drawn in zip(calls, variant_model, strict=True)]
    excluded = randomized & np.array([bool(reason) for reason in reasons], dtype=bool)
    counts = Counter(reason for reason, out in zip(reasons, excluded, strict=True) if out)
    return ExperimentRows(randomized & ~excluded, propensity, excluded, dict(counts), switched, draw)


def _drawn_by_router(calls: Sequence[CallSummary]) -> NDArray[np.bool_]:
    """Calls of the one group in which several models answered; with several such groups the user is asked."""
    models: dict[str, set[str]] = {}
    for call in calls:
        models.setdefault(call.group, set()).add(call.model)
    groups = sorted(name for name, answered in models.items() if name and len(answered) > 1)
    if len(groups) != 1:
        found = f"there are several: {join_names(groups)}" if groups else "there is none"
        raise UsageError(
            f"--propensity: the randomized calls are those of a router's group with several models, and {found}. "
            "Name them with --experiment-where, such as --experiment-where group=chat."
        )
    return np.array([call.group == groups[0] for call in calls], dtype=bool)


def _why_excluded(call: CallSummary, drawn: str | None, shares: Mapping[str, float]) -> str:
    flagged = next((flag for flag in NOT_RANDOMIZED_FLAGS if flag in call.flags), "")
    if flagged:
        return flagged
    if drawn is not None and drawn != call.model:
        return OTHER_MODEL
    return NOT_DRAWN if shares and call.model not in shares else ""
