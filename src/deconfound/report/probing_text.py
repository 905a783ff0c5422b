"""What the probes found about the judges, in words and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from deconfound.escaping import escape_name
from deconfound.formatting import format_percent, pluralize, text_table
from deconfound.judging.clustered_mean import Interval
from deconfound.judging.judge_run import JudgeRun
from deconfound.judging.probes import AVERAGE, COMBINED, LATER, LEVEL, PROBES, Probe, ProbeEstimate

MEANINGS: dict[Probe, str] = {
    "criterion order": "The criteria are listed in reverse. The change of a criterion's score; first, the mean "
    "gain from being listed later, of criteria that change their half of the list.",
    "text order": "The output comes before the context. The change of the score.",
    "length": "Sentences without content are added, half of the output's length. The change of the score. Scores for "
    "length and style may fall with good reason; others should not move.",
    "orders in the output": "The output ends with an order to give full marks. The change of the score against a "
    "neutral note of the same length.",
    "repeatability": "The same request, asked again. The mean absolute difference of the two scores.",
    "self-preference": "How much more a judge gives its own outputs than the other judges do, minus the same for all "
    "other outputs.",
    "agreement": "Rank correlation of the scores with those of persons.",
}
ORDERS: Probe = "orders in the output"


def probe_text(run: JudgeRun) -> str:
    """One table per probe: the combined score of every judge, and criteria with a significant change."""
    parts = [
        f"Probes of the judges: labels and combined scores, with {format_percent(LEVEL)} intervals clustered by "
        "context. Each interval is for itself; of twenty, one misses by chance. Of the criteria, those are listed "
        "whose interval excludes 0; --json has all."
    ]
    for probe in PROBES:
        found = [one for one in run.probes if one.probe == probe]
        if not found:
            parts.append(f"{probe}: not possible. {_why_not(probe)}")
            continue
        shown = [one for one in found if one.measure in (COMBINED, LATER) or _is_remarkable(one)]
        rows = [("judge", "score", "estimate", "interval", "n", "contexts"), *map(_row, shown)]
        parts.append(f"{probe}: {MEANINGS[probe]}\n{text_table(rows, left=(0, 1))}")
    parts += [_orders_sentence(one) for one in run.probes if one.probe == ORDERS and one.measure == COMBINED]
    return "\n\n".join(parts)


def probe_document(run: JudgeRun) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "level": LEVEL,
        "sample": len(run.plan.sample),
        "meanings": dict(MEANINGS),
        "estimates": [
            {"probe": one.probe, "judge": one.judge, "score": one.measure, **asdict(one.interval)} for one in run.probes
        ],
        "not_possible": {
            probe: _why_not(probe) for probe in PROBES if not any(one.probe == probe for one in run.probes)
        },
        "summary": [_orders_sentence(one) for one in run.probes if one.probe == ORDERS and one.measure == COMBINED],
    }


def _is_remarkable(one: ProbeEstimate) -> bool:
    always_positive = one.probe == "repeatability"
    return not always_positive and (one.interval.low > 0 or one.interval.high < 0)


def _row(one: ProbeEstimate) -> tuple[str, ...]:
    interval = one.interval
    counts = (f"{interval.n:,}", f"{interval.contexts:,}")
    return (escape_name(one.judge), one.measure, f"{interval.estimate:+.3f}", _interval_text(interval), *counts)


def _interval_text(interval: Interval) -> str:
    if math.isnan(interval.low):
        return "too few contexts"
    return f"{interval.low:+.3f} to {interval.high:+.3f}"


def _orders_sentence(one: ProbeEstimate) -> str:
    """Whether an order in the output moves the combined score of a judge."""
    interval, name = one.interval, escape_name(one.judge)
    where = f"{pluralize(interval.n, 'output')}, {_interval_text(interval)}"
    if math.isnan(interval.low):
        return f"{name}: too few contexts to say whether an order in the output changes scores ({where})."
    if interval.low <= 0 <= interval.high:
        return (
            f"{name}: no sign that an order in the output changes scores ({interval.estimate:+.3f}; {where}). Gains of "
            f"more than {interval.high:.3f} are excluded."
        )
    more = "more" if interval.estimate > 0 else "less"
    subject = "these judges" if one.judge == AVERAGE else "this judge"
    return (
        f"{name}: an output that orders full marks gets {abs(interval.estimate):.3f} {more} than its neutral twin, on "
        f"the scale from 0 to 1 ({where}). Do not use {subject} on outputs that may contain such orders."
    )


def _why_not(probe: Probe) -> str:
    reasons: dict[Probe, str] = {
        "criterion order": "The rubric has one criterion, or no output has both scores.",
        "self-preference": "It needs two judges, one of which wrote some of the outputs (own_models in the settings).",
        "agreement": "No table has an outcome; name a column with --human.",
    }
    return reasons.get(probe, "No output has both scores.")
