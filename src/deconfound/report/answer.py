"""The answer of a result, one sentence per question: the summary, the page and the JSON all show these sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.escaping import escape_line, escape_name
from deconfound.formatting import format_percent, join_names, shell_argument
from deconfound.report.check_text import failure_sentence
from deconfound.report.decision_text import log_bias_text, routing_text
from deconfound.report.scale import Scale
from deconfound.report.scope_text import scope_lines
from deconfound.report.segment_text import segment_answer
from deconfound.result import Result
from deconfound.value.values import EQUAL_VALUES_ATOL

WARNINGS = "Warnings"
FIRST_BUT_FAILED = "Highest estimate, not reliable while a check fails"


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence for each question; empty where the data have no answer to it."""

    caution: tuple[str, ...]  # a failed assumption; it stands above the answer
    model: str  # which model, and its value
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
        failed, scale = failure_sentence(result.findings), Scale.of(result)
        unjudged = [name for name in _unjudged(result) if name != result.values.ranking()[0]]
        tied = bool(np.ptp(result.values.estimate) < EQUAL_VALUES_ATOL)
        return cls(
            caution=(escape_line(failed), f'See "{WARNINGS}" before relying on these values.') if failed else (),
            model=_model_sentence(result, scale, has_unjudged=bool(unjudged), tied=tied),
            separation="" if tied else _separation_sentence(result, unjudged),
            unjudged=_unjudged_sentence(result, unjudged),
            lead="" if tied else _lead_sentence(result, scale),
            routing=routing_text(result.routing, scale),
            segments=tuple(segment_answer(result)),
            scope=tuple(scope_lines(result)),
            log=log_bias_text(
                result.log_bias,
                scale,
                before_cost=result.values.cost is not None,
                has_target=result.population.kind == "target",
            ),
        )

    def lines(self, *, with_routing: bool) -> list[str]:
        """The sentences that have something to say, in the order of a text."""
        routing = self.routing if with_routing else ""
        answers = (self.model, self.separation, self.unjudged, self.lead, routing)
        sentences = (*answers, *self.segments, *self.scope, self.log)
        return [*self.caution, *filter(None, sentences)]


def _model_sentence(result: Result, scale: Scale, *, has_unjudged: bool, tied: bool) -> str:
    row = result.values.table(result.level)[0]
    best = escape_name(str(row["model"]))
    net = " net of cost" if result.values.cost is not None else ""
    value = f"value {scale.value_in_unit(float(row['estimate']))}{net}"
    if not np.isfinite(float(row["standard_error"])):
        return f"First by log and replay alone: {best}, {value}. The experiment has too few rows of it for an interval."
    if tied:
        return f"No model leads: all have the {value}."
    is_alone = len(result.values.best_set(result.level)) == 1 and not has_unjudged
    verdict = "Best model" if is_alone else "Leading model"
    if failure_sentence(result.findings):
        verdict = FIRST_BUT_FAILED
    interval = scale.interval(float(row["low"]), float(row["high"]))
    return f"{verdict}: {best}, {value} ({format_percent(result.level)} interval {interval})."


def _separation_sentence(result: Result, unjudged: list[str]) -> str:
    """Empty where the first model has no interval of its own."""
    best, *others = result.values.best_set(result.level)
    rivals = [name for name in others if name not in unjudged]
    level = format_percent(result.level)
    if rivals:
        return f"At {level} confidence, the best model may also be {join_names(rivals)}."
    if unjudged or not np.isfinite(result.values.standard_error[result.models.index(best)]):
        return ""
    if failure_sentence(result.findings):
        return f"If the assumption held, no other model would be the best at {level} confidence."
    return f"At {level} confidence, no other model is the best."


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
    return f"{lead} ({level} interval {low} to {high}, adjusted for comparing all pairs)."


def _unjudged(result: Result) -> list[str]:
    """Models with too few randomized rows for a standard error, such as a baseline that was only replayed."""
    errors = zip(result.models, result.values.standard_error, strict=True)
    return [name for name, error in errors if not np.isfinite(error)]
