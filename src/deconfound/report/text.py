"""A result in plain words: the answer first, then what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np

from deconfound.diagnose.context_shift import OVERLAP
from deconfound.formatting import escape_control_characters, format_percent, join_names, pluralize
from deconfound.report.check_text import failure_sentence, false_alarm_note
from deconfound.report.document import recommended
from deconfound.result import Result
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES
from deconfound.value import Values
from deconfound.value.log_bias import LogBias

VISIBLE = 0.005  # a share that is not printed as zero
FEW_PAIRS = 6  # more are shown by their places
NOTES = "To know"  # head of the findings
VALUES = ("values", "direct", "experiment", "raw_log")


def summary(result: Result) -> str:
    """The whole text, ready for a terminal."""
    result = presentable(result)
    answer, *rest = paragraphs(result)
    return "\n\n".join([answer, aligned(comparison_rows(result)), *rest]) + "\n"


def paragraphs(result: Result) -> list[str]:
    """Everything that is said besides the table, the answer first."""
    parts = (
        _answer(result),
        _apart(result),
        _routing(result),
        _trust(result),
        _basis(result),
        _findings(result),
    )
    return [part for part in parts if part]


def comparison(results: Sequence[Result]) -> str:
    """Several families' answers side by side, one column a family."""
    results = [presentable(result) for result in results]
    names = results[0].values.ranking()
    heads = ("", "model", *(result.choice.estimator.name for result in results))
    looked = [_lookup(result.values) for result in results]
    errors = [dict(zip(result.models, result.values.error, strict=True)) for result in results]
    rows = [
        (str(place), name, *(f"{v[name]:.3f} ± {shown(float(e[name]))}" for v, e in zip(looked, errors, strict=True)))
        for place, name in enumerate(names, start=1)
    ]
    best = ["", "best", *(result.values.ranking()[0] for result in results)]
    broken = failure_sentence(results[0].findings)
    text = f"{broken}\n\n" * bool(broken) + aligned([heads, *rows, best])
    return f"{text}\n\nValues ± standard errors, {results[0].values.method}; each family tuned on its own.\n"


def _answer(result: Result) -> str:
    best, level = result.values.ranking()[0], format_percent(result.level)
    row = result.values.table(result.level)[0]
    lines = [f"{best} is best: value {row['estimate']:.3f}, {level} interval {row['low']:.3f} to {row['high']:.3f}."]
    rivals = [name for name in result.values.best_set(result.level) if name != best]
    if rivals:
        lines[0] = f"{best} leads with {row['estimate']:.3f}, {level} interval {row['low']:.3f} to {row['high']:.3f}."
        lines.append(f"At {level} the best may also be {join_names(rivals)}.")
    return "\n".join([*_refused(result), *lines, *_net(result), result.alarm.sentence])


def _refused(result: Result) -> list[str]:
    """A broken assumption stands above the answer, lest anybody read only that."""
    broken = failure_sentence(result.findings)
    return [broken, f'Read why under "{NOTES}" before you rely on what follows.'] if broken else []


def _net(result: Result) -> list[str]:
    """Who comes first once outputs are paid for."""
    cost = result.policy.cost
    if cost is None:
        return []
    net = np.where(np.isnan(result.values.estimate), -np.inf, result.values.estimate - cost)
    first = int(np.argmax(net))
    return [f"Net of cost {result.models[first]} comes first, at {net[first]:.3f}."]


def comparison_rows(result: Result) -> list[tuple[str, ...]]:
    """Each model's value beside what log and experiment say alone; the first row holds the heads."""
    level = format_percent(result.level)
    heads = ("", "model", "value", f"{level} interval", "raw log", "log off by", "experiment alone")
    logged, alone = _lookup(result.raw_log), _lookup(result.experiment)
    errors = _lookup(Values(result.models, result.experiment.error, result.experiment.covariance, ""))
    rows = []
    for place, row in enumerate(result.values.table(result.level), start=1):
        name, value = str(row["model"]), float(row["estimate"])
        rows.append(
            (
                str(place),
                name,
                f"{value:.3f}",
                f"{row['low']:.3f} to {row['high']:.3f}",
                shown(logged[name]),
                shown(logged[name] - value, signed=True),
                f"{shown(alone[name])} ± {shown(errors[name])}" if math.isfinite(alone[name]) else "none",
            )
        )
    return [heads, *rows]


def _lookup(values: Values) -> dict[str, float]:
    return {name: float(x) for name, x in zip(values.models, values.estimate, strict=True)}


def _apart(result: Result) -> str:
    sole = result.values.best_set(result.level)
    decided = set(sole) if len(sole) == 1 else set()  # that one model is best is shown more sharply than pair by pair
    tied = [(c.better, c.worse) for c in result.contrasts() if not c.significant and not decided & {c.better, c.worse}]
    level = format_percent(result.level)
    if not tied:
        return f"Every pair of models is told apart at {level}."
    if len(tied) <= FEW_PAIRS:
        return f"Not told apart at {level}: {'; '.join(f'{better} and {worse}' for better, worse in tied)}."
    places = {name: place for place, name in enumerate(result.values.ranking(), start=1)}
    below: dict[str, list[int]] = {name: [places[w] for b, w in tied if b == name] for name in places}
    lines = [f"  {places[name]} from {spans(numbers)}" for name, numbers in below.items() if numbers]
    return "\n".join([f"Not told apart at {level}, by place in the ranking:", *lines])


def _routing(result: Result) -> str:
    counts = recommended(result)
    total, unclear = counts["contexts"], counts["cannot_tell"]
    if not total:
        return result.routing.sentence
    kind = "clear" if unclear < total else "best_guess"
    picks = [f"{name} on {n:,}" for name, n in sorted(counts[kind].items(), key=lambda item: -item[1])]
    if unclear < total:
        named = f"Of {total:,} replayed contexts {total - unclear:,} have a clear best model: {join_names(picks)}."
    else:
        level = format_percent(result.level)
        guesses = f"best guesses: {join_names(picks)}"
        named = f"On none of {total:,} replayed contexts is a best model clear at {level}; {guesses}."
    return f"{result.routing.sentence}\n{named}"


def _trust(result: Result) -> str:
    trust = result.trust
    if trust is None:
        return ""
    cells = []
    for source, part in zip(SOURCES, 100 * trust.shares, strict=True):
        views = ", ".join(f"{view} {round(share)}" for view, share in zip(FEATURE_VIEWS, part, strict=True))
        cells.append(f"{source} {round(part.sum())} % ({views})")
    move = 100 * float(np.nanmax(trust.spread)) if np.isfinite(trust.spread).any() else math.nan
    steady = f"; with another experiment these would move by up to {move:.0f}" if math.isfinite(move) else ""
    against = " A share below zero pulls against the rest." if (trust.shares < -VISIBLE).any() else ""
    return f"What tells the models apart: {join_names(cells)}{steady}.{against}\n{trust.reason}"


def _basis(result: Result) -> str:
    choice = result.choice
    settings = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in _settings(result).items())
    how = {"model": "held-out models", "sample": "held-out contexts", "holdout": "one hold-out", "fixed": "defaults"}
    lines = ["Computed from"]
    width = max(len(name) for name in result.counts)
    for name, counts in result.counts.items():
        line = f"  {name:<{width}}  {counts.rows:,} rows, {counts.contexts:,} contexts ({counts.source})"
        lines.append(line + (f"; unused columns: {', '.join(counts.ignored)}" if counts.ignored else ""))
    learned = "learned from both sources" if result.trust is not None else f"chosen on {how[choice.mode]}"
    lines.append(f"  family {choice.estimator.name} ({settings}), {learned}")
    lines.append(f"  values {result.values.method}, cross-fitted; psi from {choice.psi_source}; seed {result.seed}")
    return "\n".join(lines)


def _settings(result: Result) -> dict[str, object]:
    if result.trust is not None:
        sizes = asdict(result.trust.parts)
        return {name.replace("_", " "): math.sqrt(size) for name, size in sizes.items() if size > 0}
    return {**asdict(result.choice.estimator), "surface_share": result.choice.surface_share}  # type: ignore[call-overload]


def _findings(result: Result) -> str:
    """Warnings and failures; what cannot be told is counted, and told in full by ``deconfound check``."""
    noted = [f for f in result.findings if f.verdict in ("fail", "warn") or f.check == OVERLAP]
    open_ = sum(finding.verdict == "cannot tell" for finding in result.findings)
    lines = [
        f"  {f.verdict}{f' ({f.assumption})' * bool(f.assumption)}: {f.message} {f.remedy}".rstrip() for f in noted
    ]
    if any(f.assumption and f.verdict in ("fail", "warn") for f in noted):
        lines.append(f"  {false_alarm_note(result.level)}")
    if open_:
        lines.append(f"  {pluralize(open_, 'check')} cannot tell; `deconfound check` says which and what they need.")
    return "\n".join([NOTES, *lines]) if lines else ""


def presentable(result: Result) -> Result:
    """The same result with model names that cannot steer a terminal; names come from strangers."""
    names = tuple(escape_control_characters(name) for name in result.models)
    if names == result.models:
        return result
    values = {name: replace(getattr(result, name), models=names) for name in VALUES}
    rows = tuple(
        replace(r, model=escape_control_characters(r.model), runner_up=escape_control_characters(r.runner_up))
        for r in result.recommendations
    )
    routing = replace(
        result.routing,
        models=names,
        best=escape_control_characters(result.routing.best),
        sentence=escape_control_characters(result.routing.sentence),
    )
    return replace(result, recommendations=rows, routing=routing, alarm=_presentable(result.alarm), **values)


def _presentable(alarm: LogBias) -> LogBias:
    return replace(
        alarm,
        biases=tuple(replace(bias, model=escape_control_characters(bias.model)) for bias in alarm.biases),
        overrated=tuple(map(escape_control_characters, alarm.overrated)),
        underrated=tuple(map(escape_control_characters, alarm.underrated)),
        best_set=tuple(map(escape_control_characters, alarm.best_set)),
        favourite=escape_control_characters(alarm.favourite),
        sentence=escape_control_characters(alarm.sentence),
    )


def spans(numbers: Sequence[int]) -> str:
    """Whole numbers in order, runs of them shortened: 2 to 5, 7."""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def shown(value: float, signed: bool = False) -> str:
    """Three decimals, or a dash for what is not known."""
    if not math.isfinite(value):
        return "–"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, names to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Iterable[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(w) if i == 1 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
    return "  ".join(cells).rstrip()
