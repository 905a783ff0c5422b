"""The state of a monitored experiment: settings that were fixed in advance, the looks so far, and their rows."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self, get_args

import numpy as np

from deconfound.assignment.json_file import read_json
from deconfound.atomic import write_text
from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import escape_json, readable_path
from deconfound.formatting import quote
from deconfound.monitoring.monitor_settings import MonitorSettings, SettingsChange
from deconfound.monitoring.row_fingerprints import Fingerprints, decode_fingerprints, encode_fingerprints
from deconfound.monitoring.stopping import Reason

KIND: Final = "deconfound monitor state"
SCHEMA: Final = 1
FIX = "Name the state file of this experiment, or a new one."


@dataclass(frozen=True, slots=True)
class PastLook:
    """What one look found."""

    time: str  # ISO format, UTC
    rows: int
    choice: str  # the model to use, if the experiment ended there
    reason: Reason  # for stopping; empty where the experiment went on
    contenders: tuple[str, ...]  # models that may be best
    propensity: dict[str, float]  # proposed for the next batch


@dataclass(frozen=True, slots=True, eq=False)
class MonitorState:
    """Everything that a later look has to know about the earlier ones."""

    settings: MonitorSettings
    looks: tuple[PastLook, ...] = ()
    changes: tuple[SettingsChange, ...] = ()
    rows: Fingerprints = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))  # of the last look

    def before(self, rows: Fingerprints) -> Self:
        """The state before a look at these rows; the same rows again are the same look."""
        again = bool(self.looks) and np.array_equal(rows, self.rows)
        return replace(self, looks=self.looks[:-1]) if again else self

    def may_drop(self, models: Collection[str]) -> bool:
        """Whether all models but these were ruled out by the last look, so that they may be left out from now on."""
        contenders = self.looks[-1].contenders if self.looks else self.settings.models
        return set(contenders) <= set(models) <= set(self.settings.models)

    def with_lost_rows(self, lost: int, rows: int) -> Self:
        """The state with a note that ``lost`` of the ``rows`` of the last look changed or vanished, if any did."""
        if not lost:
            return self
        change = SettingsChange(len(self.looks), "set of rows", f"{rows:,} rows", f"{rows - lost:,} of them and others")
        return replace(self, changes=(*self.changes, change))

    def with_look(self, look: PastLook, rows: Fingerprints) -> Self:
        """The state after one more look."""
        return replace(self, looks=(*self.looks, look), rows=rows)


def current_time() -> str:
    """Now, for the state file."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_state(path: Path, state: MonitorState) -> None:
    """Replace the state file."""
    settings = state.settings
    document = {
        "kind": KIND,
        "schema": SCHEMA,
        "models": list(settings.models),
        "horizon": int(settings.horizon),
        "level": settings.level,
        "tolerance": settings.tolerance,
        "outcome_range": list(settings.outcome_range),
        "analysis": settings.analysis,
        "changes": [
            {"looks": change.looks, "setting": change.setting, "before": change.before, "after": change.after}
            for change in state.changes
        ],
        "looks": [
            {
                "time": look.time,
                "rows": look.rows,
                "choice": look.choice,
                "reason": look.reason,
                "contenders": list(look.contenders),
                "propensity": look.propensity,
            }
            for look in state.looks
        ],
        "rows": encode_fingerprints(state.rows),
    }
    write_text(path, escape_json(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)) + "\n")


def read_state(path: str | os.PathLike[str]) -> MonitorState | None:
    """Read a state file; None if there is none yet. Anything else in its place raises."""
    if not os.path.lexists(path):
        return None
    document, source = read_json(path, FIX), readable_path(path)
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise DataError([Problem(source, "this is no state of `deconfound monitor`", FIX)])
    if document.get("schema") != SCHEMA:
        what = f"the state has the schema {quote(document.get('schema'))}, and this version reads {SCHEMA}"
        raise DataError([Problem(source, what, "Use the version of deconfound that has written it.")])
    try:
        return _state(document)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, UsageError) as error:
        what = "an entry is missing" if isinstance(error, KeyError) else str(error).removesuffix(".")
        problem = Problem(source, f"the state is damaged: {what}", "Restore it; a new one would forget the looks.")
        raise DataError([problem]) from None


def _state(document: dict[str, Any]) -> MonitorState:
    level, tolerance, low, high = _numbers([document["level"], document["tolerance"], *document["outcome_range"]], 4)
    analysis = _text(document["analysis"])
    settings = MonitorSettings(_names(document["models"]), document["horizon"], level, tolerance, (low, high), analysis)
    if len(set(settings.models)) < len(settings.models):
        raise ValueError("a model is named twice")
    if low == high or len(settings.models) < 2:
        raise ValueError("the outcome range has no width" if low == high else "there are fewer than two models")
    looks = tuple(_look(look) for look in document["looks"])
    changes = tuple(
        SettingsChange(
            _count(change["looks"]), _text(change["setting"]), _text(change["before"]), _text(change["after"])
        )
        for change in document["changes"]
    )
    rows = decode_fingerprints(_text(document["rows"]))
    if len(rows) != (looks[-1].rows if looks else 0):
        raise ValueError("the number of rows is not that of the last look")
    return MonitorState(settings, looks, changes, rows)


def _look(look: dict[str, Any]) -> PastLook:
    if look["reason"] not in get_args(Reason):
        raise ValueError(f"{quote(look['reason'])} is no reason to stop")
    propensity = {_text(name): value for name, value in look["propensity"].items()}
    if any(share < 0 for share in _numbers(propensity.values(), len(propensity))):
        raise ValueError("a propensity is negative")
    return PastLook(
        _text(look["time"]),
        _count(look["rows"]),
        _text(look["choice"]),
        look["reason"],
        _names(look["contenders"]),
        propensity,
    )


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("something else stands where names belong")
    return tuple(_text(name) for name in value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("something else stands where text belongs")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("something else stands where a number of rows or looks belongs")
    return value


def _numbers(values: Iterable[object], count: int) -> tuple[float, ...]:
    numbers = tuple(values)
    if len(numbers) != count or not all(
        isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) for one in numbers
    ):
        raise ValueError("something else stands where numbers belong")
    return tuple(float(one) for one in numbers)  # type: ignore[arg-type]  # checked above
