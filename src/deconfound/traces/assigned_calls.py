"""Which calls an assignment has drawn the model of, and which model it drew.

A hash can be computed again from the user, the conversation or an attribute of a call. Of a gateway's own draws only
the name is known that callers asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deconfound.assignment import AssignmentManifest
from deconfound.errors import UsageError
from deconfound.formatting import format_percent, join_names, quote
from deconfound.traces.call_table import CallSummary
from deconfound.traces.router_weights import asked_for

USERS = ("user", "user_id", "end_user", "customer_id", "account_id")
CONVERSATIONS = ("conversation", "conversation_id", "session", "session_id", "thread_id")
MAX_OTHER_MODEL = 0.2  # share of calls that other models answered; with more, many calls are from before the experiment
CHOOSE = "Say which calls were drawn with --experiment-where NAME=VALUE"


def drawn_models(calls: Sequence[CallSummary], manifest: AssignmentManifest, *, chosen_by_user: bool) -> list[str]:
    """The model that the hash draws for each call's unit; empty for calls that take no part.

    Contexts have no id in traces. If the user has chosen the calls, their models need not be computed: the result is
    then empty for all.
    """
    units = [_unit(call, manifest.unit) for call in calls]
    if manifest.draws_contexts or not any(units):
        if chosen_by_user:
            return [""] * len(calls)
        unit = "contexts" if manifest.draws_contexts else f"each {quote(manifest.unit)}, which no call has"
        raise UsageError(f"--assignment draws for {unit}. {CHOOSE}.")
    drawn = [manifest.assign(unit) if unit.strip() else None for unit in units]
    return ["" if each is None else each.model for each in drawn]


def unit_column(calls: Sequence[CallSummary], manifest: AssignmentManifest | None) -> dict[str, list[str]]:
    """The units of calls under the manifest's name for them, by which the draws can be checked; empty without any."""
    if manifest is None or manifest.draws_contexts or not manifest.is_reproducible:
        return {}
    units = [_unit(call, manifest.unit) for call in calls]
    return {manifest.unit: units} if any(units) else {}


def calls_of_group(calls: Sequence[CallSummary], manifest: AssignmentManifest) -> NDArray[np.bool_]:
    """The calls that asked a gateway for the experiment's name."""
    asked = np.array([asked_for(call) == manifest.group for call in calls], dtype=bool)
    if asked.any():
        return asked
    names = join_names(sorted({asked_for(call) for call in calls} - {""}))
    raise UsageError(
        f"--assignment: no call asked for {quote(manifest.group)}, which {manifest.drawn_by} draws; calls asked for "
        f"{names or 'no name'}. {CHOOSE}, or with --exposures FILE."
    )


def since_start(calls: Sequence[CallSummary], manifest: AssignmentManifest) -> NDArray[np.bool_]:
    """The calls from the start of the experiment on; all of them if it is not known."""
    start = manifest.start_seconds
    if start is None:
        return np.ones(len(calls), dtype=bool)
    return np.array([call.time is not None and call.time >= start for call in calls], dtype=bool)


def require_compliance(calls: Sequence[CallSummary], drawn: Sequence[str], randomized: NDArray[np.bool_]) -> None:
    """Refuse calls that mostly have not got the drawn model: picking the others would select by coincidence."""
    pairs = [(call.model, model) for call, model, used in zip(calls, drawn, randomized, strict=True) if used and model]
    others = sum(answered != model for answered, model in pairs)
    if pairs and others / len(pairs) > MAX_OTHER_MODEL:
        share = format_percent(others / len(pairs), 0)
        raise UsageError(
            f"--assignment: {share} of {len(pairs):,} calls were answered by another model than the one drawn, so the "
            "experiment does not explain them. Use its own manifest, give its beginning with `deconfound assign "
            "--start`, or say which calls were drawn with --experiment-where NAME=VALUE."
        )


def require_exposed_models(
    calls: Sequence[CallSummary], drawn: Sequence[str], others: NDArray[np.bool_], randomized: NDArray[np.bool_]
) -> None:
    """Refuse exposures that many calls contradict; ``others`` marks calls that another model answered."""
    share = others.sum() / max(1, randomized.sum())
    if share <= MAX_OTHER_MODEL:
        return
    pairs = Counter((drawn[row], calls[row].model) for row in np.flatnonzero(others).tolist())
    (model, answered), count = pairs.most_common(1)[0]
    raise UsageError(
        f"--exposures: {format_percent(share, 0)} of {int(randomized.sum()):,} exposed calls were answered by another "
        f"model than that of their variant, most often {quote(answered)} instead of {quote(model)} ({count:,} calls). "
        "Check which model each --variant stands for, and that the table is of this experiment. If the users made "
        "other calls too, say which belong to it with --experiment-where NAME=VALUE."
    )


def _unit(call: CallSummary, name: str) -> str:
    if name in USERS:
        return call.user
    return call.conversation if name in CONVERSATIONS else dict(call.attributes).get(name, "")
