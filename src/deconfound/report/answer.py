"""The answer of a result, one sentence per question: the summary, the page and the JSON all show these sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.escaping import escape_line, escape_name
from deconfound.formatting import format_percent, join_choices, join_names, shell_argument
from deconfound.report.check_text import failure_sentence
from deconfound.report.decision_text import log_bias_text, routing_text
from deconfound.report.scale import Scale
from deconfound.report.scope_text import scope_lines
from deconfound.report.segment_text import segment_answer
from deconfound.report.wording import NOT_RELIABLE
from deconfound.result import Result
from deconfound.value.values import EQUAL_VALUES_ATOL

WARNINGS = "Warnings"
BEST, HIGHEST = "Best model", "Highest estimate"
FIRST_BUT_FAILED = f"{HIGHEST}, {NOT_RELIABLE.lower()}"
IF_HELD = "If the assumption held"
MAX_NAMED_CANDIDATES = 3  # in the first sentence


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence for each question; empty where the data have no answer to it."""

    caution: tuple[str, ...]  # a failed assumption; it stands above the answer
    model: str  # which model is the best, or which may be
    value: str  # that of the first, where several may be the best
    separation: str  # which others may be the best
    unjudged: str  # which have too few randomized rows
    lead: str  # how far the first is ahead of the second
    routing: str  # whether choosing by context pays
    segments: tuple[str, ...]  # whether another model is best in some of them
    scope: tuple[str, ...]  # scale, costs and contexts of the values
    log: str  # how far the raw log would have misled

    @classmethod
    def from_result(cls, result: Result) -> Answer:
        """Never stronger than the evidence: a failed check changes the wording."""
        scale, caution = Scale.of(result), _caution(result)
        unjudged = [name for name in _unjudged(result) if name != result.values.ranking()[0]]
        tied = bool(np.ptp(result.values.estimate) < EQUAL_VALUES_ATOL)
        has_cost, has_target = result.values.cost is not None, result.population.kind == "target"
        return cls(
            caution=caution,
            model=_model_sentence(result, scale, tied=tied),
            value="" if tied or caution or _has_one_candidate(result) else _first_sentence(HIGHEST, result, scale),
            separation="" if tied else _separation_sentence(result, unjudged),
            unjudged=_unjudged_sentence(result, unjudged),
            lead="" if tied else _doubted(_lead_sentence(result, scale), caution),
            routing=_doubted(routing_text(result.routing, scale), caution),
            segments=tuple(segment_answer(result, prefix=f"{IF_HELD}: " if caution else "")),
            scope=tuple(scope_lines(result)),
            log=_doubted(log_bias_text(result.log_bias, scale, before_cost=has_cost, has_target=has_target), caution),
        )

    def lines(self, *, with_routing: bool) -> list[str]:
        """The sentences that have something to say, in the order of a text."""
        routing = self.routing if with_routing else ""
        answers = (self.model, self.value, self.separation, self.unjudged, self.lead, routing)
        sentences = (*answers, *self.segments, *self.scope, self.log)
        return [*self.caution, *filter(None, sentences)]


def _caution(result: Result) -> tuple[str, ...]:
    """Which assumption failed, what was observed, and where to read on."""
    failed = failure_sentence(result.findings)
    if not failed:
        return ()
    messages = [Scale.of(result).finding(each).message for each in result.findings if each.verdict == "fail"]
    return (escape_line(failed), escape_line(messages[0]), f'See "{WARNINGS}" before relying on these values.')


def _doubted(sentence: str, caution: tuple[str, ...]) -> str:
    """Nothing that follows from values is certain while a check fails."""
    return f"{IF_HELD}: {sentence}" if sentence and caution else sentence


def _model_sentence(result: Result, scale: Scale, *, tied: bool) -> str:
    row, level = result.values.table(result.level)[0], format_percent(result.level)
    if not np.isfinite(float(row["standard_error"])):
        first = f"First by log and replay alone: {escape_name(str(row['model']))}, {_value(row, result, scale)}."
        return f"{first} The experiment has too few rows of it for an interval."
    if tied:
        return f"No model leads: all have the {_value(row, result, scale)}."
    if failure_sentence(result.findings):
        return _first_sentence(FIRST_BUT_FAILED, result, scale)
    if _has_one_candidate(result):
        return _first_sentence(BEST, result, scale)
    candidates = result.values.best_set(result.level)
    first, others = escape_name(candidates[0]), f"{len(candidates) - 1:,} other models"
    named = join_choices(candidates) if len(candidates) <= MAX_NAMED_CANDIDATES else f"{first} or {others}"
    return f"No clear winner at {level} confidence: {named} may be the best."


def _has_one_candidate(result: Result) -> bool:
    """Whether one model alone may be the best, by randomized rows of its own."""
    first = result.values.ranking()[0]
    has_rows = bool(np.isfinite(result.values.standard_error[result.models.index(first)]))
    return len(result.values.best_set(result.level)) == 1 or not has_rows


def _value(row: dict[str, str | float], result: Result, scale: Scale) -> str:
    net = " net of cost" if result.values.cost is not None else ""
    return f"value {scale.value_in_unit(float(row['estimate']))}{net}"


def _first_sentence(verdict: str, result: Result, scale: Scale) -> str:
    """The first model with its value."""
    row = result.values.table(result.level)[0]
    interval = f"{format_percent(result.level)} interval {scale.interval(float(row['low']), float(row['high']))}"
    return f"{verdict}: {escape_name(str(row['model']))}, {_value(row, result, scale)} ({interval})."


def _separation_sentence(result: Result, unjudged: list[str]) -> str:
    """Empty where the candidates are named already, and where the first model has no interval of its own."""
    best, *others = result.values.best_set(result.level)
    rivals = [name for name in others if name not in unjudged]
    level, is_failed = format_percent(result.level), bool(failure_sentence(result.findings))
    if rivals and is_failed:
        return f"{IF_HELD}, the best model might also be {join_names(rivals)} ({level} confidence)."
    if rivals and len(others) < MAX_NAMED_CANDIDATES and not _has_one_candidate(result):
        return ""
    if rivals:
        return f"At {level} confidence, the best model may also be {join_names(rivals)}."
    if unjudged or not np.isfinite(result.values.standard_error[result.models.index(best)]):
        return ""
    if is_failed:
        return f"{IF_HELD}, no other model could be the best at {level} confidence."
    return f"At {level} confidence, no other model can be the best."


def _unjudged_sentence(result: Result, unjudged: list[str]) -> str:
    if not unjudged:
        return ""
    compared = shell_argument(",".join(name for name in result.models if name not in unjudged))
    return (
        f"Too few randomized rows to judge {join_names(unjudged)}: randomize some, or leave them out with "
        f"--models {compared}."
    )


def _lead_sentence(result: Result, scale: Scale) -> str:
    """How far the first model is ahead of the second, by the test that decides which models may be the best.

    Where others may be, by the first pair of ``contrasts``: its interval is adjusted for all pairs, because it was
    chosen by its rank.
    """
    pair = next(iter(result.contrasts()), None)
    if pair is None or not np.isfinite(pair.standard_error):
        return ""
    level, difference = format_percent(result.level), scale.with_unit(scale.improvement(pair.difference))
    lead = f"{escape_name(pair.model)} is ahead of {escape_name(pair.reference)}, the second, by {difference}"
    bound = result.values.lead_bound(result.level)
    if bound > 0:
        least = scale.with_unit(scale.improvement(bound))
        return f"{lead}. At {level} confidence, it is ahead of every other model by at least {least}."
    low, high = scale.improvement(pair.low), scale.with_unit(scale.improvement(pair.high))
    adjusted = ", adjusted for comparing all pairs" if len(result.models) > 2 else ""
    return f"{lead} ({level} interval {low} to {high}{adjusted})."


def _unjudged(result: Result) -> list[str]:
    """Models with too few randomized rows for a standard error, such as a baseline that was only replayed."""
    errors = zip(result.models, result.values.standard_error, strict=True)
    return [name for name, error in errors if not np.isfinite(error)]
