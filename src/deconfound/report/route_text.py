"""A learned policy in plain English and as JSON."""

from __future__ import annotations

import math
from typing import Any

from deconfound.escaping import escape_name
from deconfound.formatting import format_percent, pluralize, quote
from deconfound.policy_learning import LearnedPolicy
from deconfound.report.scale import Scale
from deconfound.router.policy import SegmentScores
from deconfound.router.policy_file import policy_document

MAX_LISTED_SEGMENTS = 20
BY = {"context": "by the prompt", "segments": "by segment", "single": ""}


def route_text(learned: LearnedPolicy) -> str:
    """The answer, how many contexts each model gets, and the choices of segments."""
    scale = Scale.of(learned.result)
    note = [f"Numbers are {scale.description}."] if scale.description else []
    return "\n".join([_answer(learned, scale), *note, *_failed_checks(learned), "", *_table(learned, scale)]) + "\n"


def route_document(learned: LearnedPolicy) -> dict[str, Any]:
    """Everything for JSON; numbers are from 0 to 1 and net of cost."""
    policy, gain = learned.policy, learned.gain
    document = policy_document(policy)
    document.pop("prompt", None)  # weights are for the file
    return {
        **document,
        "value": gain.value,
        "value_low": gain.value_low,
        "value_high": gain.value_high,
        "contexts": dict(zip(policy.models, learned.context_counts, strict=True)),
        "net_of_cost": learned.result.policy.cost is not None,
        "outcome_range": list(learned.result.outcome_range),
        "failed_checks": [finding.check for finding in learned.result.findings if finding.verdict == "fail"],
    }


def _answer(learned: LearnedPolicy, scale: Scale) -> str:
    policy, evidence = learned.policy, learned.policy.evidence
    best = quote(policy.default, whole=True)
    if evidence.considered == "single":
        return f"Use {best} everywhere."
    by, gain = BY[evidence.considered], _gain(learned, scale)
    if policy.kind == "single":
        return f"Routing {by} does not pay: use {best} everywhere. {gain}"
    if not evidence.pays:
        return f"Routing {by} does not pay; the policy routes because --kind requests it. {gain}"
    return f"Routing {by} {'pays' if evidence.gain_low > 0 else 'probably pays'}. {gain}"


def _gain(learned: LearnedPolicy, scale: Scale) -> str:
    gain = learned.gain
    cost = ", net of cost" if learned.result.policy.cost is not None else ""
    best = quote(gain.best, whole=True)
    if math.isnan(gain.gain):
        return f"Too few experiment rows show what a router would gain over always using {best}."
    low, middle, high = map(scale.improvement, (gain.gain_low, gain.gain, gain.gain_high))
    interval = f"{format_percent(gain.level)} interval {low} to {scale.with_unit(high)}"
    if not any(_other_shares(learned)):
        return f"Nothing in the study gives reason to use another model for some contexts{cost}."
    return f"On contexts that it has not seen, a router gains {middle} over always using {best}{cost} ({interval})."


def _other_shares(learned: LearnedPolicy) -> list[float]:
    gain = learned.gain
    return [share for name, share in zip(gain.models, gain.model_shares, strict=True) if name != gain.best]


def _failed_checks(learned: LearnedPolicy) -> list[str]:
    failed = [finding.check for finding in learned.result.findings if finding.verdict == "fail"]
    if not failed:
        return []
    count = pluralize(len(failed), "assumption check")
    return [f"{count} failed ({', '.join(failed)}): see `deconfound check`. The policy may be wrong."]


def _table(learned: LearnedPolicy, scale: Scale) -> list[str]:
    policy, counts = learned.policy, learned.context_counts
    names = [escape_name(name) for name in policy.models]
    width, total = max(len("model"), *map(len, names)), max(sum(counts), 1)
    net = "net value" if learned.result.policy.cost is not None else "value"
    rows = [f"{'model':<{width}}  contexts  share  {net}"]
    for at in sorted(range(len(names)), key=lambda one: (-counts[one], -policy.scores[one])):
        value = scale.value(float(policy.scores[at]))
        share = format_percent(round(counts[at] / total, 2))
        rows.append(f"{names[at]:<{width}}  {counts[at]:>8,}  {share:>5}  {value}")
    return [*rows, *_segment_lines(learned)]


def _segment_lines(learned: LearnedPolicy) -> list[str]:
    policy = learned.policy
    if not isinstance(policy.rule, SegmentScores):
        return []
    segments = sorted(policy.rule.by_segment)
    lines = ["", f"{escape_name(policy.rule.column)}:"]
    lines += [f"  {escape_name(one)}: {escape_name(policy.choose('', one))}" for one in segments[:MAX_LISTED_SEGMENTS]]
    rest = len(segments) - MAX_LISTED_SEGMENTS
    return [*lines, *([f"  and {rest:,} more, in the file"] if rest > 0 else [])]
