"""Probes of judges: the same outputs asked in other ways, and what should not change the scores but does.

Every probe but two compares pairs of verdicts on the same outputs. Self-preference compares judges with each other,
and agreement compares them with persons; neither needs further calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.judging.clustered_mean import (
    Interval,
    clustered_mean,
    difference_of_means,
    rank_correlation,
)
from deconfound.judging.judge_prompt import Layout, Question
from deconfound.judging.output_pairs import OutputPair, OutputPairs
from deconfound.judging.probe_texts import padded, with_neutral_note, with_order
from deconfound.judging.rubric import Rubric

Probe = Literal[
    "criterion order", "text order", "length", "orders in the output", "repeatability", "self-preference", "agreement"
]
PROBES: tuple[Probe, ...] = get_args(Probe)
COMBINED = "combined"
LATER = "later in the list"
AVERAGE = "average of the judges"
LEVEL = 0.95


class Variant(NamedTuple):
    """A probe that asks again: how, and what it is compared with; None stands for the ordinary question."""

    probe: Probe
    changed: str
    compared: str | None = None


VARIANTS = (
    Variant("criterion order", "reversed"),
    Variant("text order", "output first"),
    Variant("length", "padded"),
    Variant("orders in the output", "ordered", "neutral"),
    Variant("repeatability", "again"),
)
WAYS = ("reversed", "output first", "padded", "ordered", "neutral", "again")


def probe_question(pair: OutputPair, way: str) -> Question:
    """The question about an output, asked in another way."""
    context, output = pair
    if way == "reversed":
        return Question(context, output, Layout(reversed_criteria=True))
    if way == "output first":
        return Question(context, output, Layout(output_first=True))
    if way == "again":
        return Question(context, output, draw=1)
    change = {"padded": padded, "ordered": with_order, "neutral": with_neutral_note}[way]
    return Question(context, change(output))


def probe_questions(pairs: OutputPairs, sample: Sequence[int]) -> list[Question]:
    """All further questions, way by way in the order of ``WAYS``."""
    return [probe_question(pairs.pairs[at], way) for way in WAYS for at in sample]


@dataclass(frozen=True, slots=True)
class ProbeEstimate:
    """One number of the report: of one judge, about the combined score or the label of one criterion."""

    probe: Probe
    judge: str
    measure: str
    interval: Interval


@dataclass(frozen=True, slots=True, eq=False)
class JudgeScores:
    """All scores of one judge: on every pair (pairs, measures), and on the sample in each other way.

    Measures are the combined score and the labels of the criteria; NaN where the judge has no verdict.
    """

    name: str
    own_models: frozenset[str]
    pairs: FloatArray
    ways: dict[str, FloatArray]  # (sample, measures)


@dataclass(frozen=True, slots=True, eq=False)
class HumanScores:
    """Scores of persons by row, and the pair of each row."""

    score: FloatArray
    pair: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class ProbeData:
    """What the probes are computed from; ``later`` are the weights of ``position_weights``."""

    measures: tuple[str, ...]
    later: FloatArray  # (measures,)
    pairs: OutputPairs
    sample: IntArray
    judges: tuple[JudgeScores, ...]
    human: HumanScores | None

    @property
    def panel(self) -> tuple[JudgeScores, ...]:
        """The judges, and their average if there are several."""
        if len(self.judges) == 1:
            return self.judges
        ways = {way: _average([judge.ways[way] for judge in self.judges]) for way in WAYS}
        return (*self.judges, JudgeScores(AVERAGE, frozenset(), _average([one.pairs for one in self.judges]), ways))


def estimate_probes(data: ProbeData, level: float = LEVEL) -> tuple[ProbeEstimate, ...]:
    """Every probe of every judge; those that the data do not allow are left out."""
    contexts = data.pairs.contexts()
    found: list[ProbeEstimate] = []
    for judge in data.panel:
        found += _asked_again(judge, data, contexts, level)
        found += _self_preference(judge, data, contexts, level)
        found += _agreement(judge, data, contexts, level)
    return tuple(found)


def _asked_again(judge: JudgeScores, data: ProbeData, contexts: IntArray, level: float) -> list[ProbeEstimate]:
    found = []
    for variant in VARIANTS:
        if variant.probe == "criterion order" and not data.later.any():
            continue
        before = judge.pairs[data.sample] if variant.compared is None else judge.ways[variant.compared]
        change = judge.ways[variant.changed] - before
        if variant.probe == "repeatability":
            change = np.abs(change)
        measures = data.measures
        if variant.probe == "criterion order":  # what the combined score gains at one end it loses at the other
            measures = (LATER, *data.measures[1:])
            change = np.column_stack([change @ data.later, change[:, 1:]])
        for at, measure in enumerate(measures):
            interval = clustered_mean(change[:, at], contexts[data.sample], level)
            if interval.n:
                found.append(ProbeEstimate(variant.probe, judge.name, measure, interval))
    return found


def position_weights(rubric: Rubric) -> FloatArray:
    """Weights (measures,) that make changes of labels the mean gain of criteria that move down the list.

    Reversing the list moves its first half down and its second half up; one in the middle stays.
    """
    count = len(rubric.criteria)
    moves = [np.sign(count - 1 - 2 * at) for at in range(count)]
    slopes = [-1.0 / one.high if one.is_count else 1.0 for one in rubric.criteria]
    weights = np.array([0.0, *(move * slope for move, slope in zip(moves, slopes, strict=True))])
    return np.asarray(weights / max(np.count_nonzero(moves), 1))


def _self_preference(judge: JudgeScores, data: ProbeData, contexts: IntArray, level: float) -> list[ProbeEstimate]:
    """How much more a judge gives than the other judges, on its own outputs compared with those of others.

    The difference of differences leaves out how strict a judge is, and how good its outputs are.
    """
    others = [one.pairs for one in data.judges if one is not judge]
    if not others or not judge.own_models:
        return []
    own = np.array([judge.own_models >= writers for writers in data.pairs.writers])
    mixed = np.array([bool(judge.own_models & writers) for writers in data.pairs.writers]) & ~own
    gap = np.where(mixed[:, None], np.nan, judge.pairs - _average(others))
    found = []
    for at, measure in enumerate(data.measures):
        interval = difference_of_means(gap[:, at], own.astype(np.int64), contexts, level)
        if interval.n:
            found.append(ProbeEstimate("self-preference", judge.name, measure, interval))
    return found


def _agreement(judge: JudgeScores, data: ProbeData, contexts: IntArray, level: float) -> list[ProbeEstimate]:
    if data.human is None:
        return []
    found = []
    for at, measure in enumerate(data.measures):
        scores = judge.pairs[data.human.pair, at]
        interval = rank_correlation(scores, data.human.score, contexts[data.human.pair], level)
        if interval.n:
            found.append(ProbeEstimate("agreement", judge.name, measure, interval))
    return found


def _average(scores: Sequence[FloatArray]) -> FloatArray:
    """The mean over judges, where all of them have a score: a panel that changes is no panel."""
    return np.asarray(np.mean(np.stack(scores), axis=0))
