"""What a router's configuration says about its draws, and which of the calls it drew with which probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfound.errors import UsageError
from deconfound.formatting import join_names, quote, shell_argument
from deconfound.traces.call_table import CallSummary

MIN_MODELS = 2
DECLARE = "State the probabilities yourself with --propensity MODEL=P,..."


@dataclass(frozen=True, slots=True)
class Arm:
    """One model that a router may draw; ``names`` are those that calls may have for it, the surest first."""

    model: str
    names: tuple[str, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class RouterGroup:
    """Models among which a router draws for one name; ``refusal`` says why its weights are no probabilities.

    ``requested`` are the names under which callers ask for the group, ``basis`` is the setting that the weights are
    from, such as "weight" or "rpm".
    """

    name: str
    requested: tuple[str, ...]
    basis: str
    arms: tuple[Arm, ...]
    refusal: str = ""

    @property
    def draws(self) -> bool:
        """Whether there is more than one model to draw."""
        return len({arm.model for arm in self.arms}) >= MIN_MODELS

    def shares(self, models: set[str]) -> dict[str, float]:
        """The probability of each model under the name that calls have for it; equal names add up."""
        largest = max(arm.weight for arm in self.arms)  # first divided by it: a sum of huge weights is infinite
        total = sum(arm.weight / largest for arm in self.arms)
        found: dict[str, float] = {}
        for arm in self.arms:
            name = next((name for name in arm.names if name in models), arm.model)
            found[name] = found.get(name, 0.0) + arm.weight / largest / total
        return found


@dataclass(frozen=True, slots=True)
class RouterConfig:
    """All groups of one configuration file."""

    source: str
    groups: tuple[RouterGroup, ...]


@dataclass(frozen=True, slots=True)
class RouterDraw:
    """The probabilities that were used, and where they are from."""

    source: str
    group: str
    basis: str
    shares: Mapping[str, float]


def find_draw(
    config: RouterConfig, calls: Sequence[CallSummary], eligible: NDArray[np.bool_], *, chosen_by_user: bool
) -> tuple[RouterDraw, NDArray[np.bool_]]:
    """The draw of the one group that eligible calls asked for, and which calls are of it; otherwise the user is asked.

    Calls that the user has chosen need not name their group if the models fit only one.
    """
    groups = [group for group in config.groups if group.draws]
    if not groups:
        raise UsageError(f"{config.source}: no name stands for several models, so nothing is drawn.")
    members = {group.name: _members(group, calls) & eligible for group in groups}
    found = [group for group in groups if members[group.name].any()]
    if not found and chosen_by_user:
        models = {call.model for call, possible in zip(calls, eligible, strict=True) if possible}
        found = [group for group in groups if len(models & group.shares(models).keys()) >= MIN_MODELS]
        members = dict.fromkeys(members, eligible)
    if len(found) != 1:
        raise _undecided(config, groups, found, [call for call, use in zip(calls, eligible, strict=True) if use])
    group = found[0]
    if group.refusal:
        raise UsageError(f"{config.source}: {group.refusal}. {DECLARE}")
    member = members[group.name]
    answered = {call.model for call, drawn in zip(calls, member, strict=True) if drawn}
    shares = group.shares(answered)
    if not answered & shares.keys():
        raise UsageError(
            f"{config.source}: {quote(group.name)} stands for {join_names(shares)}, but its calls were answered by "
            f"{join_names(sorted(answered))}. {DECLARE}"
        )
    return RouterDraw(config.source, group.name, group.basis, shares), member


def draws_among(config: RouterConfig, calls: Sequence[CallSummary]) -> list[RouterDraw]:
    """The draws of all groups that calls asked for, for an overview."""
    draws = []
    for group in config.groups:
        answered = {call.model for call in calls if asked_for(call) in group.requested}
        shares = {} if group.refusal or not group.draws else group.shares(answered)
        if answered & shares.keys():
            draws.append(RouterDraw(config.source, group.name, group.basis, shares))
    return draws


def asked_for(call: CallSummary) -> str:
    """The name that the caller asked for: a fallback is counted where it began."""
    return call.requested_model if "fallback" in call.flags or not call.group else call.group


def _members(group: RouterGroup, calls: Sequence[CallSummary]) -> NDArray[np.bool_]:
    return np.array([asked_for(call) in group.requested for call in calls], dtype=bool)


def _undecided(
    config: RouterConfig, groups: Sequence[RouterGroup], found: Sequence[RouterGroup], calls: Sequence[CallSummary]
) -> UsageError:
    if not found:
        return UsageError(
            f"{config.source}: no call asked for {join_names([group.name for group in groups])}. Say which calls were "
            "drawn with --experiment-where NAME=VALUE, or use the configuration of this gateway."
        )
    names = {name for group in found for name in group.requested}
    call = next((call for call in calls if asked_for(call) in names), None)
    example = "NAME=VALUE"
    if call is not None:
        example = f"group={call.group}" if call.group in names else f"requested_model={call.requested_model}"
    return UsageError(
        f"{config.source}: calls of several names were drawn: {join_names([group.name for group in found])}. Choose "
        f"one, for instance with --experiment-where {shell_argument(example)}."
    )
