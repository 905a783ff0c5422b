"""Look at a running experiment: check what was fixed in advance, evaluate the rows so far, and record the look."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray
from deconfound.errors import EvidenceError, UsageError
from deconfound.evaluation import DEFAULTS, prepare
from deconfound.evaluation_options import EvaluationOptions
from deconfound.formatting import join_names, join_noted_names, quote
from deconfound.monitoring.monitor_result import MonitorResult, NextBatch
from deconfound.monitoring.monitor_settings import RequestedSettings, SettingsChange, settings_changes
from deconfound.monitoring.monitor_state import MonitorState, PastLook, current_time, read_state, write_state
from deconfound.monitoring.next_batch import Outlook, without
from deconfound.monitoring.row_fingerprints import lost_rows, row_fingerprints
from deconfound.monitoring.sequences import MIN_ROWS_PER_MODEL, Sequences
from deconfound.monitoring.state_findings import state_findings
from deconfound.monitoring.stopping import Verdict
from deconfound.planning import inputs_from_pilot
from deconfound.prepared_study import PreparedStudy
from deconfound.progress import Progress, no_progress
from deconfound.result import Result
from deconfound.reward import Family
from deconfound.value import ScoredExperiment
from deconfound.value_methods import all_propensities


def monitor(  # noqa: PLR0913  (each is an option of the command line)
    study: Study,
    state: str | os.PathLike[str],
    *,
    horizon: int | None = None,
    tolerance: float | None = None,
    level: float | None = None,
    drop: Sequence[str] = (),
    change_settings: bool = False,
    family: str | Family = "auto",
    seed: int = 0,
    options: EvaluationOptions = DEFAULTS,
    progress: Progress = no_progress,
) -> MonitorResult:
    """Look at a running experiment and add the look to its ``state`` file.

    ``horizon`` is the number of randomized rows at which the experiment ends in any case; the first look needs it.
    ``tolerance``, on a scale from 0 to 1, is how much worse than the best model the chosen one may be. Settings are
    fixed by the first look; ``change_settings`` accepts others and says so from then on. ``drop`` names models that get
    no rows in the next batch: only those that are not best can be dropped. A later study may leave them out.
    """
    if not isinstance(study, Study):
        raise UsageError(f"study must be a Study from dc.load, not {type(study).__name__}.")
    unknown = [name for name in drop if name not in study.models]
    if unknown:
        raise UsageError(f"--drop: there is no model {quote(unknown[0])}; there are {join_names(study.models)}.")
    path, stored = Path(state), read_state(state)
    requested = RequestedSettings(horizon, level, tolerance, _analysis(family, seed, options))
    opened = _open(study, stored, requested, change_settings=change_settings)
    if stored is None or opened.changes != stored.changes:
        write_state(path, opened)
    _require_rows(study)
    prepared = prepare(study, opened.settings.level, seed, options=options, progress=progress)
    rows = row_fingerprints(prepared.study, opened.settings.models, prepared.arrays.experiment.propensity)
    fitted, before = prepared.cross_fit(family), opened.before(rows)
    result, data = prepared.result(fitted), prepared.scored_experiment(fitted)
    lost = lost_rows(opened.rows, rows)
    recorded = before.with_lost_rows(lost, len(opened.rows))
    try:
        found = _look(prepared, result, data, replace(before, rows=rows), tuple(drop))
    except UsageError:  # the refusal of --drop says who may be best: that was a look
        found = _look(prepared, result, data, replace(before, rows=rows), ())
        write_state(path, recorded.with_look(found.looks[-1], rows))
        raise
    written = recorded.with_look(found.looks[-1], rows)
    write_state(path, written)
    findings = state_findings(opened.changes, lost, len(opened.rows), before.looks)
    return replace(found, looks=written.looks, findings=(*findings, *result.findings))


def _analysis(family: str | Family, seed: int, options: EvaluationOptions) -> str:
    """What decides how values are computed from the rows, in words that the state file stores."""
    name = family if isinstance(family, str) else family.name
    extra = ", extra contexts" if options.extra_contexts else ""
    return f"{name}, seed {seed}, method {options.method}{extra}"


def _open(
    study: Study, stored: MonitorState | None, requested: RequestedSettings, *, change_settings: bool
) -> MonitorState:
    """The state before this look, with the settings that apply."""
    if stored is None:
        return MonitorState(requested.first(study.models, study.outcome_range))
    models = stored.settings.models if stored.may_drop(study.models) else study.models
    settings = requested.later(stored.settings, models, study.outcome_range)
    changes = settings_changes(stored.settings, settings, len(stored.looks))
    if changes and not change_settings:
        raise UsageError(_refusal(changes))
    return replace(stored, settings=settings, changes=(*stored.changes, *changes))


def _refusal(changes: Sequence[SettingsChange]) -> str:
    listed = "; ".join(f"{change.setting} {change.before} → {change.after}" for change in changes)
    return (
        f"The settings differ from those that were fixed before the first look: {listed}. A rule that is changed after "
        "seeing the data has no guaranteed error rate. Leave these options out, or accept this with --change-settings "
        "(change_settings=True); every later look then says so."
    )


def _require_rows(study: Study) -> None:
    """Refuse a look before every model has some rows: nothing has been seen then, so nothing is spent."""
    _, code = encode(study.experiment.arrow["model"], study.models)
    rows = np.bincount(code[code >= 0], minlength=len(study.models))
    few = [(name, f" ({n})") for name, n in zip(study.models, rows.tolist(), strict=True) if n < MIN_ROWS_PER_MODEL]
    if few:
        raise EvidenceError(
            f"{study.experiment.source}: go on. Looks start at {MIN_ROWS_PER_MODEL} randomized rows per model, and "
            f"there are fewer of {join_noted_names(few)}. Nothing was computed from outcomes."
        )


def _look(
    prepared: PreparedStudy, result: Result, data: ScoredExperiment, state: MonitorState, drop: tuple[str, ...]
) -> MonitorResult:
    """One look; ``state`` has the rows of this look, and the looks before it."""
    settings, values, rows = state.settings, result.values, len(state.rows)
    share = rows / settings.horizon
    sequences = Sequences.from_values(values, settings.level, share, len(settings.models))
    verdict = Verdict.from_lead(values.estimate, sequences.lead, settings.tolerance, share)
    batch = _next_batch(prepared, result, data, state, verdict, _dropped(drop, result.models, verdict))
    names = result.models
    look = PastLook(
        current_time(),
        rows,
        names[verdict.choice],
        verdict.reason,
        tuple(names[i] for i in verdict.contenders),
        {name: float(p) for name, p in zip(names, batch.propensity, strict=True)},
    )
    return MonitorResult(settings, result, rows, sequences, verdict, batch, (look,), ())


def _dropped(drop: tuple[str, ...], models: tuple[str, ...], verdict: Verdict) -> tuple[int, ...]:
    """Positions of the models to drop; one that may be best is refused."""
    open_models = [name for name in drop if models.index(name) in verdict.contenders]
    if open_models:
        raise UsageError(
            f"--drop: {join_names(open_models)} may still be the best model and cannot be dropped. To give up on it, "
            "compare the others with --models."
        )
    return tuple(models.index(name) for name in drop)


def _next_batch(
    prepared: PreparedStudy,
    result: Result,
    data: ScoredExperiment,
    state: MonitorState,
    verdict: Verdict,
    dropped: tuple[int, ...],
) -> NextBatch:
    settings, previous = state.settings, _previous_propensity(prepared, state)
    try:
        inputs = inputs_from_pilot(data, prepared.study.experiment.source)
    except EvidenceError:  # constant outcomes: there is no variance to plan with
        return NextBatch(without(previous, dropped), bool(dropped), None)
    error_rate = (1 - settings.level) * len(inputs.models) / len(settings.models)
    outlook = Outlook(inputs, verdict, len(state.rows), settings.horizon, error_rate, settings.tolerance)
    propensity = outlook.propensity(previous, dropped)
    changed = not np.array_equal(propensity, previous)
    return NextBatch(propensity, changed, outlook.expected_rows(result.values, propensity))


def _previous_propensity(prepared: PreparedStudy, state: MonitorState) -> FloatArray:
    """What the last look proposed; at the first look, the mean propensities of the rows, or equal ones."""
    models = prepared.study.models
    proposed = state.looks[-1].propensity if state.looks else {}
    share = np.array([proposed.get(name, 0.0) for name in models])
    if not state.looks:
        known = all_propensities(prepared.study, prepared.arrays)
        share = np.zeros(len(models)) if known is None else known.mean(axis=0)
    return share / share.sum() if share.sum() > 0 else np.full(len(models), 1 / len(models))
