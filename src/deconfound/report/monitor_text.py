"""A look at a running experiment in plain text: the verdict, values and differences, the next batch, warnings."""

from __future__ import annotations

from deconfound.escaping import escape_line, escape_name
from deconfound.formatting import format_percent, join_names, pluralize, text_table, wrap
from deconfound.monitoring import MonitorResult
from deconfound.report.check_text import failure_sentence, false_alarm_note
from deconfound.report.scale import Scale
from deconfound.report.scope_text import scope_lines

MAX_LISTED_LOOKS = 12  # more are counted


def monitor_text(look: MonitorResult) -> str:
    """The whole text, wrapped for a terminal."""
    lines = [verdict_text(look), *scope_lines(look.result)]
    failed = failure_sentence(look.findings)
    if failed:
        lines = [failed, 'See "Warnings" before relying on this verdict.', *lines]
    parts = ["\n".join(map(escape_line, lines)), _value_table(look), _difference_table(look), _interval_note(look)]
    if not look.stop:
        parts.append(_next_batch(look))
    parts += [_looks(look), _warnings(look)]
    return wrap("\n\n".join(part for part in parts if part)) + "\n"


def verdict_text(look: MonitorResult) -> str:
    """What to do, in one or two sentences."""
    verdict, settings, scale = look.verdict, look.settings, Scale.of(look.result)
    level, best = format_percent(settings.level), escape_name(look.choice)
    contenders = [look.models[i] for i in verdict.contenders]
    rivals = [name for name in contenders if name != look.choice]
    if verdict.reason == "best model":
        return f"Stop: {best} is the best model, at {level} confidence."
    if verdict.reason == "within tolerance":
        tolerance = scale.with_unit(scale.fine_difference(settings.tolerance))
        return f"Stop: {best} is at most {tolerance} worse than the best model, at {level} confidence."
    also = f"At {level} confidence, the best model may also be {join_names(rivals)}." if rivals else ""
    if verdict.reason == "horizon":
        regret = scale.with_unit(scale.difference(verdict.max_regret))
        worse = f"{best} leads, and is at most {regret} worse than the best model."
        return f"Stop: the horizon of {settings.horizon:,} rows is reached. {worse} {also}".rstrip()
    state = f"Go on: after {look.rows:,} of at most {settings.horizon:,} rows, {best} leads."
    return f"{state} {also} {_expectation(look)}".replace("  ", " ")


def _expectation(look: MonitorResult) -> str:
    expected = look.next_batch.expected_rows
    if expected is None:
        return "A decision is not expected before the horizon."
    return f"A decision is expected after about {pluralize(_rounded(expected), 'further row')}."


def _rounded(rows: int) -> int:
    """Two significant digits: it is a forecast."""
    return int(float(f"{rows:.2g}"))


def _value_table(look: MonitorResult) -> str:
    scale, level = Scale.of(look.result), format_percent(look.settings.level)
    counts = dict(zip(look.models, look.result.counts.experiment.rows_per_model, strict=True))
    share = look.propensities()
    value = "value" if look.result.values.cost is None else "net value"
    rows = [("", "model", "rows", value, f"{level} interval, every look", *(() if look.stop else ("next batch",)))]
    for rank, row in enumerate(look.table(), start=1):
        name = str(row["model"])
        cells = [str(rank), escape_name(name), f"{counts[name]:,}", scale.value(float(row["estimate"]))]
        cells.append(scale.interval(float(row["low"]), float(row["high"])))
        if not look.stop:
            cells.append(f"{share.get(name, 0.0):.4g}")
        rows.append(tuple(cells))
    return text_table(rows, left=(1,))


def _difference_table(look: MonitorResult) -> str:
    """The first model of the ranking less every other; JSON has all pairs."""
    scale, level = Scale.of(look.result), format_percent(look.settings.level)
    rows = [("difference", "estimate", f"{level} interval, every look")]
    first = look.result.values.ranking()[0]
    for row in look.differences():
        if row["model"] != first:
            continue
        ends = [scale.difference(float(row[end]), signed=True) for end in ("low", "high")]
        if scale.width < 0:
            ends.reverse()
        pair = f"{escape_name(first)} - {escape_name(str(row['reference']))}"
        rows.append((pair, scale.difference(float(row["difference"]), signed=True), " to ".join(ends)))
    return text_table(rows, left=(0,))


def _interval_note(look: MonitorResult) -> str:
    level, first = format_percent(look.settings.level), look.result.values.ranking()[0]
    note = f"Intervals hold with probability {level} at all looks together, those of differences for all pairs."
    unclear = any(row["model"] == first and float(row["low"]) <= 0 for row in look.differences())
    if look.verdict.reason == "best model" and unclear:
        note += " The verdict asks one question per model, so it can be clearer than the interval of a pair."
    return note


def _next_batch(look: MonitorResult) -> str:
    shares = ", ".join(f"{escape_name(name)} {share:.4g}" for name, share in look.propensities().items())
    if not look.next_batch.changed:
        return f"Next batch: propensities as before, {shares}."
    return (
        f"Next batch: {shares}. Draw it under a name of its own, and record every row's propensities: write this look "
        "with -o look.json, then deconfound assign --from-plan look.json --experiment NAME."
    )


def _looks(look: MonitorResult) -> str:
    count = len(look.looks)
    if count > MAX_LISTED_LOOKS:
        return f"This is look {count}. The first was at {look.looks[0].rows:,} rows, the last at {look.rows:,}."
    if count == 1:
        return f"This is the first look, at {look.rows:,} rows."
    at = ", ".join(f"{past.rows:,}" for past in look.looks[:-1])
    return f"This is look {count}; earlier ones were at {at} rows."


def _warnings(look: MonitorResult) -> str:
    scale = Scale.of(look.result)
    listed = [scale.finding(f) for f in look.findings if f.verdict in ("fail", "warn")]
    notes = [f.message for f in look.findings if f.check == "earlier verdict"]
    lines = []
    for finding in listed:
        assumption = f" ({finding.assumption})" if finding.assumption else ""
        lines.append(f"{finding.verdict}{assumption}: {finding.message} {finding.remedy}".rstrip())
    if any(f.adjusted_p_value is not None for f in listed):
        lines.append(f"{false_alarm_note(look.settings.level)} This is for one look.")
    text = ["\n".join(["Warnings", *(f"  {line}" for line in lines)])] if lines else []
    return "\n\n".join([*notes, *text]) if lines or notes else "Assumption checks: no warnings."
