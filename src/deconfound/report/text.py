"""A result in plain words: the answer first, then what it rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from deconfound.diagnose.target import CHECK as OVERLAP
from deconfound.formatting import escape_control_characters, format_percent, join_names, pluralize, text_table
from deconfound.report.attribution_text import attribution_paragraph
from deconfound.report.decision_text import log_bias_text, routing_text
from deconfound.report.document import recommended
from deconfound.report.findings_text import luck, refusal
from deconfound.result import Result
from deconfound.value import Values
from deconfound.value.log_bias import LogBias

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
        "" if result.attribution is None else attribution_paragraph(result.attribution),
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
    errors = [dict(zip(result.models, result.values.standard_error, strict=True)) for result in results]
    rows = [
        (str(place), name, *(f"{v[name]:.3f} ± {shown(float(e[name]))}" for v, e in zip(looked, errors, strict=True)))
        for place, name in enumerate(names, start=1)
    ]
    best = ["", "best", *(result.values.ranking()[0] for result in results)]
    broken = refusal(results[0].findings)
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
    return "\n".join([*_refused(result), *lines, *_net(result), log_bias_text(result.log_bias)])


def _refused(result: Result) -> list[str]:
    """A broken assumption stands above the answer, lest anybody read only that."""
    broken = refusal(result.findings)
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
    errors = _lookup(Values(result.models, result.experiment.standard_error, result.experiment.covariance, ""))
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
    pairs = [(c.model, c.reference) for c in result.contrasts() if not c.significant]
    tied = [pair for pair in pairs if not decided & set(pair)]
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
        return routing_text(result.routing)
    kind = "clear" if unclear < total else "best_guess"
    picks = [f"{name} on {n:,}" for name, n in sorted(counts[kind].items(), key=lambda item: -item[1])]
    if unclear < total:
        named = f"Of {total:,} replayed contexts {total - unclear:,} have a clear best model: {join_names(picks)}."
    else:
        level = format_percent(result.level)
        guesses = f"best guesses: {join_names(picks)}"
        named = f"On none of {total:,} replayed contexts is a best model clear at {level}; {guesses}."
    return f"{routing_text(result.routing)}\n{named}"


def _basis(result: Result) -> str:
    choice = result.choice
    settings = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in _settings(result).items())
    how = {"model": "held-out models", "sample": "held-out contexts", "holdout": "one hold-out", "fixed": "defaults"}
    lines = ["Computed from"]
    width = max(len(name) for name in result.counts)
    for name, counts in result.counts.items():
        line = f"  {name:<{width}}  {counts.rows:,} rows, {counts.contexts:,} contexts ({counts.source})"
        lines.append(line + (f"; unused columns: {', '.join(counts.ignored)}" if counts.ignored else ""))
    learned = "learned from both sources" if result.attribution is not None else f"chosen on {how[choice.mode]}"
    lines.append(f"  family {choice.estimator.name} ({settings}), {learned}")
    lines.append(f"  values {result.values.method}, cross-fitted; psi from {choice.psi_source}; seed {result.seed}")
    return "\n".join(lines)


def _settings(result: Result) -> dict[str, object]:
    if result.attribution is not None:
        sizes = asdict(result.attribution.variance_components)
        return {name.replace("_", " "): math.sqrt(size) for name, size in sizes.items() if size > 0}
    return {**result.choice.estimator.to_document(), "surface_share": result.choice.surface_share}


def _findings(result: Result) -> str:
    """Warnings and failures; what cannot be told is counted, and told in full by ``deconfound check``."""
    noted = [f for f in result.findings if f.verdict in ("fail", "warn") or f.check == OVERLAP]
    open_ = sum(finding.verdict == "cannot tell" for finding in result.findings)
    lines = [
        f"  {f.verdict}{f' ({f.assumption})' * bool(f.assumption)}: {f.message} {f.remedy}".rstrip() for f in noted
    ]
    if any(f.assumption and f.verdict in ("fail", "warn") for f in noted):
        lines.append(f"  {luck(result.level)}")
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
    )
    return replace(result, recommendations=rows, routing=routing, log_bias=_presentable(result.log_bias), **values)


def _presentable(log_bias: LogBias) -> LogBias:
    return replace(
        log_bias,
        biases=tuple(replace(bias, model=escape_control_characters(bias.model)) for bias in log_bias.biases),
        overrated=tuple(map(escape_control_characters, log_bias.overrated)),
        underrated=tuple(map(escape_control_characters, log_bias.underrated)),
        best_set=tuple(map(escape_control_characters, log_bias.best_set)),
        log_best_model=escape_control_characters(log_bias.log_best_model),
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
    return text_table(rows, left=(1,))
