"""Which model a unit gets: drawn by its hash with fixed propensities, the same in a file and in a running service."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Self, overload

from deconfound.assignment.unit_hash import KeyedHash, UnitId, unit_bytes
from deconfound.errors import UsageError
from deconfound.formatting import join_names, quote

SUM_ATOL = 1e-9  # of the propensities from one: rounding of doubles, not of printed decimals
MIN_PROPENSITY = 1e-6  # below it a model is never seen, and its weight would be a million
MAX_MODELS = 1_000  # as ``data.cross_table.MAX_MODELS``
MAX_NAME_CHARACTERS = 200
CACHED_RULES = 64


@dataclass(frozen=True, slots=True)
class Draw:
    """The model that a unit gets, and the probability with which it got it."""

    model: str
    propensity: float


@dataclass(frozen=True, slots=True)
class AssignmentRule:
    """Models and their propensities under the name of an experiment; the name is the key of the hash.

    Models are in the order of their code points, whatever the order in which they were given. A unit gets the first
    model at which the running sum of the propensities, added one after the other, exceeds its number; the last one
    otherwise. ``share`` of the units take part: those whose other number is below it. A larger share adds units and
    moves none. Objects never change, so that threads can use one together.
    """

    experiment: str
    models: tuple[str, ...]
    propensity: tuple[float, ...]
    share: float = 1.0
    _limits: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _draws: tuple[Draw, ...] = field(init=False, repr=False, compare=False)
    _model_hash: KeyedHash = field(init=False, repr=False, compare=False)
    _share_hash: KeyedHash = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.experiment)
        _check_models(self.models)
        _check_propensities(self.models, self.propensity)
        if not 0.0 < self.share <= 1.0:
            raise UsageError(f"The share (--share) must be above 0 and at most 1, not {self.share:g}.")
        ordered = sorted(zip(self.models, self.propensity, strict=True))
        object.__setattr__(self, "models", tuple(model for model, _ in ordered))
        object.__setattr__(self, "propensity", tuple(value for _, value in ordered))
        object.__setattr__(self, "_limits", tuple(accumulate(self.propensity[:-1])))
        object.__setattr__(self, "_draws", tuple(Draw(model, value) for model, value in ordered))
        object.__setattr__(self, "_model_hash", KeyedHash.of_experiment("model", self.experiment))
        object.__setattr__(self, "_share_hash", KeyedHash.of_experiment("share", self.experiment))

    @classmethod
    def from_models(cls, experiment: str, models: Mapping[str, float] | Iterable[str], share: float = 1.0) -> Self:
        """Propensities by model, or models that are equally likely."""
        if isinstance(models, str):
            raise UsageError(f"models is one text, {quote(models)}; give a list of names, or propensities by name.")
        if isinstance(models, Mapping):
            return cls(experiment, tuple(models), tuple(models.values()), share)
        names = tuple(models)
        return cls(experiment, names, (1.0 / max(len(names), 1),) * len(names), share)

    @property
    def propensities(self) -> dict[str, float]:
        """The propensity of each model."""
        return dict(zip(self.models, self.propensity, strict=True))

    def draw(self, unit: UnitId) -> Draw:
        """The model of a unit, as if it took part."""
        return self._draws[bisect_right(self._limits, self._model_hash.uniform(unit_bytes(unit)))]

    def takes_part(self, unit: UnitId) -> bool:
        """Whether a unit is in the experiment's share of all units."""
        return self.share >= 1.0 or self._share_hash.uniform(unit_bytes(unit)) < self.share

    def assign(self, unit: UnitId) -> Draw | None:
        """The model of a unit; None if it takes no part in the experiment."""
        return self.draw(unit) if self.takes_part(unit) else None


@overload
def assign(unit: UnitId, *, models: Mapping[str, float] | Iterable[str], experiment: str) -> Draw: ...
@overload
def assign(
    unit: UnitId, *, models: Mapping[str, float] | Iterable[str], experiment: str, share: float
) -> Draw | None: ...
def assign(
    unit: UnitId, *, models: Mapping[str, float] | Iterable[str], experiment: str, share: float = 1.0
) -> Draw | None:
    """Draw the model of a context, user or session by its id, reproducibly; None if it is outside the share.

    ``models`` are propensities by name that sum to one, or names that are equally likely. The same id, models and name
    of the experiment give the same model everywhere, as in the file of `deconfound assign`.
    """
    if isinstance(models, Mapping):
        return _weighted_rule(experiment, tuple(models.items()), share).assign(unit)
    return _even_rule(experiment, models if isinstance(models, str) else tuple(models), share).assign(unit)


@lru_cache(CACHED_RULES)
def _weighted_rule(experiment: str, propensities: tuple[tuple[str, float], ...], share: float) -> AssignmentRule:
    return AssignmentRule.from_models(experiment, dict(propensities), share)


@lru_cache(CACHED_RULES)
def _even_rule(experiment: str, models: tuple[str, ...] | str, share: float) -> AssignmentRule:
    return AssignmentRule.from_models(experiment, models, share)


def _check_name(experiment: str) -> None:
    """The name goes into keys, files and messages."""
    if not isinstance(experiment, str) or not experiment.strip():
        raise UsageError("The experiment (--experiment) needs a name: it is the key of the draw.")
    if not experiment.isprintable() or experiment != experiment.strip() or len(experiment) > MAX_NAME_CHARACTERS:
        raise UsageError(
            f"The experiment's name {quote(experiment)} must have at most {MAX_NAME_CHARACTERS} visible characters, "
            "without spaces around them: two names that look the same would draw differently."
        )


def _check_models(models: tuple[str, ...]) -> None:
    if any(not isinstance(model, str) or not model.strip() for model in models):
        raise UsageError("A model has no name.")
    for model in models:
        try:
            model.encode()
        except UnicodeEncodeError:
            raise UsageError(f"The model {quote(model)} has half of a surrogate pair in its name.") from None
    twice = sorted({model for model in models if models.count(model) > 1}) if len(set(models)) < len(models) else []
    if twice:
        raise UsageError(f"{join_names(twice)} is named twice; name each model once.")
    if not 2 <= len(models) <= MAX_MODELS:
        raise UsageError(f"An experiment compares 2 to {MAX_MODELS:,} models, not {len(models):,}.")


def _check_propensities(models: tuple[str, ...], propensity: tuple[float, ...]) -> None:
    for model, value in zip(models, propensity, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float) or not MIN_PROPENSITY <= value < 1.0:
            raise UsageError(
                f"The propensity of {quote(model)} must be at least {MIN_PROPENSITY:g} and below 1, not {value!r}. "
                "Leave out models that are not to be drawn."
            )
    total = math.fsum(propensity)
    if abs(total - 1.0) > SUM_ATOL:
        raise UsageError(
            f"The propensities sum to {total:.6g}, not to 1. Correct them, or name the models only if all are to be "
            "equally likely."
        )
