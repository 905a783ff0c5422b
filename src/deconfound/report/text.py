"""A result in plain text: the answer first, then the evidence, then how it was computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from deconfound.escaping import escape_line, escape_name
from deconfound.formatting import (
    TERMINAL_WIDTH,
    format_percent,
    join_names,
    join_noted_names,
    pluralize,
    text_table,
    wrap,
)
from deconfound.report.answer import WARNINGS, Answer
from deconfound.report.check_text import failure_sentence, false_alarm_note
from deconfound.report.decision_text import SMALL_DIFFERENCES, routing_text
from deconfound.report.efficient_text import shared_output_lines
from deconfound.report.method_text import long_log_lines, method_lines
from deconfound.report.missing_text import MISSING_OUTCOMES, missing_outcome_lines, missing_outcome_rows
from deconfound.report.precision_text import precision_lines
from deconfound.report.recommendation_counts import recommendation_counts
from deconfound.report.scale import NO_NUMBER, Scale
from deconfound.report.scope_text import scope_lines
from deconfound.report.segment_text import segment_heading, segment_lines, segment_rows, segment_scope
from deconfound.report.sensitivity_text import sensitivity_lines
from deconfound.report.wording import NOT_RELIABLE
from deconfound.result import Result
from deconfound.value import Values

MAX_LISTED_PAIRS = 6  # more are listed by rank
NOTHING = "none"  # in a table, where the experiment has too few rows of a model
SENSITIVITY = "How wrong could it be?"
METHOD = "How this was computed"
COMPARISONS = "Comparisons"
ONE_DRAW = (
    " Each model was replayed once per context, so that one output stands for all that it might write there; several "
    "draws (deconfound replay --draws 5) show more."
)


class Section(NamedTuple):
    """A heading, empty for the answer, its lines, a table below them, and which columns of it are words."""

    heading: str
    lines: list[str]
    rows: Sequence[tuple[str, ...]] = ()
    left: tuple[int, ...] = (0,)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {"heading": self.heading, "lines": self.lines, "rows": [list(row) for row in self.rows]}


def summary(result: Result, *, verbose: bool = False) -> str:
    """The whole text, wrapped for a terminal."""
    answer, *rest = sections(result, verbose=verbose)
    parts = ["\n".join(answer.lines), text_table(value_rows(result), left=(1,)), *precision_lines(result)]
    parts += ["\n".join([section.heading, *(f"  {line}" for line in _all_lines(section))]) for section in rest]
    if not verbose:
        how = "How this was computed: --verbose, or result.summary(verbose=True)."
        parts.append("\n".join([*long_log_lines(result), how]))
    return wrap("\n\n".join(parts)) + "\n"


def _all_lines(section: Section) -> list[str]:
    """With the table as lines."""
    table = text_table(section.rows, left=section.left)
    return [*section.lines, *(table.split("\n") if table else [])]


def sections(result: Result, *, verbose: bool) -> list[Section]:
    """Everything but the table of values; the answer comes first. No line can contain a line break of a user."""
    doubt = [f"{NOT_RELIABLE}."] if failure_sentence(result.findings) else []
    chosen = [
        Section("", answer_lines(result)),
        Section(MISSING_OUTCOMES, missing_outcome_lines(result), missing_outcome_rows(result)),
        Section("Shared outputs", shared_output_lines(result)),
        Section(COMPARISONS, [*doubt, *_separation_lines(result)]),
        Section("Routing", [*doubt, *_routing_lines(result)]),
        *(each._replace(lines=[*doubt, *each.lines]) for each in segment_sections(result)),
        _check_section(result),
    ]
    if verbose:
        chosen.append(Section(SENSITIVITY, sensitivity_lines(result.sensitivity, result.level, Scale.of(result))))
        chosen.append(Section(METHOD, method_lines(result)))
    return [each._replace(lines=list(map(escape_line, each.lines))) for each in chosen if each.lines]


def comparison(results: Sequence[Result]) -> str:
    """The values of several families side by side, one column per family."""
    first = results[0]
    values, shown = _comparison_table(results, _with_error), "Values ± standard errors"
    if max(len(line) for line in values.splitlines()) > TERMINAL_WIDTH:
        values, shown = _comparison_table(results, _without_error), "Values (standard errors: --json)"
    failed = failure_sentence(first.findings)
    legend = f"{shown}, {first.values.method}. Each family is tuned separately."
    long_log = dict.fromkeys(line for result in results for line in long_log_lines(result))
    parts = [failed] * bool(failed) + [values, "\n".join([legend, *scope_lines(first), *long_log])]
    return wrap("\n\n".join(parts)) + "\n"


def _comparison_table(results: Sequence[Result], cell: Callable[[Values, int, Scale], str]) -> str:
    first, scale = results[0], Scale.of(results[0])
    rows: list[tuple[str, ...]] = [("", "model", *(result.family.estimator.name for result in results))]
    for rank, name in enumerate(first.values.ranking(), start=1):
        cells = (cell(result.values, first.models.index(name), scale) for result in results)
        rows.append((str(rank), escape_name(name), *cells))
    rows.append(("", "best", *(escape_name(result.values.ranking()[0]) for result in results)))
    return text_table(rows, left=(1,))


def answer_lines(result: Result) -> list[str]:
    """The best model with its interval, rivals, and the bias of the log; a failed check comes first."""
    return Answer.from_result(result).lines(with_routing=result.routing.verdict == "route")


def value_rows(result: Result) -> list[tuple[str, ...]]:
    """One row per model, best first: its value, and what the log and the experiment show alone; headings first.

    With costs, the value net of cost comes first, then the cost; all columns after it are before cost.
    """
    level, scale = format_percent(result.level), Scale.of(result)
    cost, gross = result.values.cost, result.values.before_cost
    has_target = result.population.kind == "target"
    comparisons = ("raw log", "log bias", "experiment alone ± SE")
    interval = f"{level} interval"
    first = ("value", interval) if cost is None else ("net value", interval, "cost", "gross value")
    rows: list[tuple[str, ...]] = [("", "model", *first, *comparisons)]
    for rank, row in enumerate(result.values.table(result.level), start=1):
        i = result.models.index(str(row["model"]))
        estimate, logged = float(row["estimate"]), float(result.raw_log.estimate[i])
        value = estimate if cost is None else min(max(float(gross.estimate[i]), 0.0), 1.0)
        cells = [str(rank), escape_name(str(row["model"])), scale.value(estimate)]
        is_estimable = bool(np.isfinite(float(row["standard_error"])))
        cells.append(scale.interval(float(row["low"]), float(row["high"])) if is_estimable else NOTHING)
        if cost is not None:
            cells += [scale.difference(float(cost[i])), scale.value(value)]
        alone = _with_error(result.experiment, i, scale)
        bias = result.log_bias.biases[i].estimate if has_target else logged - value
        shown = scale.difference(bias, signed=True) if is_estimable else NOTHING
        rows.append((*cells, scale.value(logged), shown, alone))
    return rows


def _with_error(values: Values, i: int, scale: Scale) -> str:
    """A value ± its standard error."""
    estimate = scale.value(float(values.estimate[i]))
    return NOTHING if estimate == NO_NUMBER else f"{estimate} ± {scale.difference(float(values.standard_error[i]))}"


def _without_error(values: Values, i: int, scale: Scale) -> str:
    estimate = scale.value(float(values.estimate[i]))
    return NOTHING if estimate == NO_NUMBER else estimate


def _separation_lines(result: Result) -> list[str]:
    """Pairs of models whose difference may be zero.

    The test for the best model is more powerful than that of all pairs: a model may be best and yet in no clear pair.
    """
    best = result.values.best_set(result.level)
    rank = {name: place for place, name in enumerate(result.values.ranking(), start=1)}
    pairs = [sorted((c.model, c.reference), key=rank.__getitem__) for c in result.contrasts() if not c.significant]
    settled = set(best) if len(best) == 1 else set()
    close = [name for pair in pairs if settled & set(pair) for name in pair if name not in settled]
    shown = _tied_lines([pair for pair in pairs if not settled & set(pair)], rank, format_percent(result.level))
    if close:
        shown.append(
            f"{escape_name(best[0])} is the best model by a test of that question alone; in a comparison of all pairs "
            f"its lead over {join_names(close)} is not significant."
        )
    return shown if pairs else [f"Every pair of models differs at {format_percent(result.level)} confidence."]


def _tied_lines(tied: Sequence[Sequence[str]], rank: Mapping[str, int], level: str) -> list[str]:
    """All pairs, or ranks where there are many."""
    if not tied:
        return []
    if len(tied) <= MAX_LISTED_PAIRS:
        listed = "; ".join(" and ".join(map(escape_name, pair)) for pair in tied)
        return [f"No clear difference at {level} confidence: {listed}."]
    below: dict[str, list[int]] = {name: [] for name in rank}
    for one, other in tied:
        below[one].append(rank[other])
    lines = [f"  {rank[name]} and {format_ranges(ranks)}" for name, ranks in below.items() if ranks]
    return [f"No clear difference at {level} confidence, by rank:", *lines]


def _routing_lines(result: Result) -> list[str]:
    counts = recommendation_counts(result)
    total, clear = counts["contexts"], counts["contexts"] - counts["cannot_tell"]
    in_answer = result.routing.verdict == "route"
    routing = [] if in_answer else [routing_text(result.routing, Scale.of(result))]
    if not total:
        return routing
    level = format_percent(result.level)
    by_model = sorted(counts["clear" if clear else "most_likely"].items(), key=lambda item: -item[1])
    models = join_noted_names((name, f" ({n:,})") for name, n in by_model)
    if clear:
        contexts = f"{clear:,} of {total:,} replayed contexts have a clear best model at {level} confidence: {models}."
        contexts += f" {SMALL_DIFFERENCES}" * counts["assumes_small_differences"]
        contexts += f" {_all_recommended(counts['most_likely'])} On average, routing pays." * in_answer
    else:
        contexts = (
            f"For a single context the data do not show at {level} confidence which model is best (0 of {total:,} "
            f"replayed contexts). {_most_likely(by_model, models)}"
            f"{' On average, routing pays nevertheless.' * in_answer}"
            f"{ONE_DRAW * _has_one_draw(result)}"
        )
    return [*routing, contexts]


def _most_likely(by_model: Sequence[tuple[str, int]], models: str) -> str:
    """One model for all contexts is named without their number, which would look like a count of clear ones."""
    if len(by_model) == 1:
        return f"Most likely best on every one of them: {escape_name(by_model[0][0])}."
    return f"Most likely best: {models}."


def _all_recommended(contexts: Mapping[str, int]) -> str:
    by_model = sorted(contexts.items(), key=lambda item: -item[1])
    return f"Most likely best on all of them: {join_noted_names((name, f' ({n:,})') for name, n in by_model)}."


def _has_one_draw(result: Result) -> bool:
    """Whether texts were replayed once per context and model, so that noise between draws is not averaged out."""
    replay = result.counts.replay
    return result.featurizer.layout.reads_text and replay.rows <= replay.contexts * len(result.models)


def segment_sections(result: Result) -> list[Section]:
    """One for each column; the first says what holds for all of them."""
    found = [
        Section(segment_heading(one), segment_lines(one, result), segment_rows(one, result), (0, 3, 6))
        for one in result.segments
    ]
    return [each._replace(lines=[*each.lines, *segment_scope(result)]) for each in found[:1]] + found[1:]


def _check_section(result: Result) -> Section:
    """Warnings and failures in full; inconclusive checks are counted."""
    scale = Scale.of(result)
    listed = [scale.finding(f) for f in result.findings if f.verdict in ("fail", "warn")]
    lines = []
    for finding in listed:
        assumption = f" ({finding.assumption})" if finding.assumption else ""
        lines.append(f"{finding.verdict}{assumption}: {finding.message} {finding.remedy}".rstrip())
    if any(f.adjusted_p_value is not None and f.verdict in ("fail", "warn") for f in listed):
        lines.append(false_alarm_note(result.level))
    inconclusive = sum(finding.verdict == "cannot tell" for finding in result.findings)
    if inconclusive:
        verb = "was" if inconclusive == 1 else "were"
        count = f"{pluralize(inconclusive, 'check')} {verb} inconclusive"
        lines.append(f"{count}; `deconfound check` lists what {'it needs' if inconclusive == 1 else 'they need'}.")
    if listed:
        return Section(WARNINGS, lines)
    return Section("Assumption checks", ["No warnings.", *lines])


def format_ranges(numbers: Sequence[int]) -> str:
    """Whole numbers in order, with runs shortened: 2 to 5, 7."""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
