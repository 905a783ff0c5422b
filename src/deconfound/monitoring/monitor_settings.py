"""What is fixed before the first look: without it, a stopping rule could be chosen after seeing the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral

from deconfound.errors import UsageError
from deconfound.monitoring.sequences import MIN_ROWS_PER_MODEL
from deconfound.value.multiple_comparisons import check_level

MAX_HORIZON = 1_000_000_000


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """The promise of a monitored experiment; ``tolerance`` is on a scale from 0 to 1."""

    models: tuple[str, ...]
    horizon: int  # rows at which the experiment ends, whatever it shows
    level: float = 0.95
    tolerance: float = 0.0  # how much worse than the best model the chosen one may be
    outcome_range: tuple[float, float] = (0.0, 1.0)  # what 0 and 1 are in the user's tables
    analysis: str = ""  # family, seed and method, in words

    def __post_init__(self) -> None:
        check_level(self.level)
        if isinstance(self.horizon, bool) or not isinstance(self.horizon, Integral):
            raise UsageError(f"horizon (--horizon) must be a whole number of rows, not {self.horizon!r}.")
        least = MIN_ROWS_PER_MODEL * len(self.models)
        if not least <= self.horizon <= MAX_HORIZON:
            raise UsageError(
                f"horizon (--horizon) must be from {least} rows, {MIN_ROWS_PER_MODEL} per model, to {MAX_HORIZON:,}, "
                f"not {self.horizon}. `deconfound plan` computes it."
            )
        if not 0.0 <= self.tolerance < 1.0:
            raise UsageError(
                f"tolerance (--tolerance) must be at least 0 and below the width of the scale, not {self.tolerance!r}."
            )


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A setting that was changed after some looks; the error rate is then not guaranteed any more."""

    looks: int  # made before the change
    setting: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RequestedSettings:
    """What a caller asks for; None where the stored setting, or the default, applies."""

    horizon: int | None = None
    level: float | None = None
    tolerance: float | None = None
    analysis: str = ""

    def first(self, models: tuple[str, ...], outcome_range: tuple[float, float]) -> MonitorSettings:
        """The settings of a new experiment."""
        if self.horizon is None:
            raise UsageError(
                "horizon (--horizon) is missing: at the first look, give the number of randomized rows at which the "
                "experiment ends in any case. `deconfound plan` computes it."
            )
        settings = MonitorSettings(models, self.horizon, outcome_range=outcome_range)
        return self._applied_to(settings)

    def later(
        self, stored: MonitorSettings, models: tuple[str, ...], outcome_range: tuple[float, float]
    ) -> MonitorSettings:
        """The stored settings, with whatever is requested in their place."""
        return self._applied_to(replace(stored, models=models, outcome_range=outcome_range))

    def _applied_to(self, settings: MonitorSettings) -> MonitorSettings:
        return replace(
            settings,
            horizon=settings.horizon if self.horizon is None else self.horizon,
            level=settings.level if self.level is None else self.level,
            tolerance=settings.tolerance if self.tolerance is None else self.tolerance,
            analysis=self.analysis,
        )


WRITTEN: dict[str, Callable[[MonitorSettings], str]] = {
    "models": lambda settings: ", ".join(settings.models),
    "horizon": lambda settings: f"{settings.horizon:,}",
    "level": lambda settings: f"{settings.level:g}",
    "tolerance": lambda settings: f"{settings.tolerance * abs(_width(settings)):.6g}",
    "analysis": lambda settings: settings.analysis,
    "outcome range": lambda settings: "{:g} to {:g}".format(*settings.outcome_range),
}
"""Every setting as it is shown."""


def settings_changes(before: MonitorSettings, after: MonitorSettings, looks: int) -> tuple[SettingsChange, ...]:
    """What differs between two settings."""
    pairs = ((name, write(before), write(after)) for name, write in WRITTEN.items())
    return tuple(SettingsChange(looks, name, old, new) for name, old, new in pairs if old != new)


def _width(settings: MonitorSettings) -> float:
    return settings.outcome_range[1] - settings.outcome_range[0]
