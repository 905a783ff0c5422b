"""Run judges: ask for what is missing, average the scores, and give the tables and the report of the probes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deconfound.design import FloatArray
from deconfound.endpoints.batch_storing import BatchReport, store_answers
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.run_meter import RunOutcome
from deconfound.endpoints.runner import CONCURRENCY, RunOptions, Watch, no_watch, run_requests
from deconfound.errors import UsageError
from deconfound.judging.form_support import MAX_FIRST_CALLS, accept_refusals, first_calls
from deconfound.judging.judge_plan import LABELS, SUMMARIZATION, JudgePlan
from deconfound.judging.judged_table import PairScores, judged_table
from deconfound.judging.probes import (
    COMBINED,
    WAYS,
    HumanScores,
    JudgeScores,
    ProbeData,
    ProbeEstimate,
    estimate_probes,
    position_weights,
)
from deconfound.judging.rubric import Rubric
from deconfound.judging.verdicts import JudgeState, Verdict, work_by_endpoint

ACTIVITY = "judge"
MAX_ROUNDS = 6  # an enforced form, a plain one, a repair; and as many again for answers of other runs
NOT_ASKED = "not asked yet"


@dataclass(frozen=True, slots=True)
class JudgeCount:
    """What one judge did on the distinct outputs: how many have scores, and why others have none."""

    judge: str
    scored: int
    repaired: int
    failures: Mapping[str, int]

    @property
    def failed(self) -> int:
        """Outputs without scores of this judge."""
        return sum(self.failures.values())


@dataclass(frozen=True, slots=True, eq=False)
class JudgeRun:
    """Judged tables.

    ``tables`` have the rows of the inputs with the scores added. ``counts`` say what each judge did, ``probes`` what
    was found about the judges, and ``outcome`` what the calls of this run did; ``reused`` is the number of verdicts
    that needed no call, ``missing_probes`` that of the probes' verdicts without scores. Judges ``without_form`` have
    servers that refused to enforce the form of answers.
    """

    plan: JudgePlan
    tables: tuple[pa.Table, ...]
    scores: PairScores
    counts: tuple[JudgeCount, ...]
    probes: tuple[ProbeEstimate, ...]
    outcome: RunOutcome
    reused: int
    missing_probes: int = 0
    without_form: tuple[str, ...] = ()

    @property
    def table(self) -> pa.Table:
        """The only table."""
        if len(self.tables) != 1:
            raise UsageError(f"There are {len(self.tables)} judged tables: use tables.")
        return self.tables[0]

    @property
    def complete(self) -> bool:
        """Whether every judge has scored every output."""
        return not any(count.failed for count in self.counts)

    @property
    def unscored(self) -> int:
        """Distinct outputs that no judge has scored."""
        return int((self.scores.answered == 0).sum())


def judge(  # noqa: PLR0913  (each is an option of the command line)
    outputs: Any,  # noqa: ANN401  (a path or a table of any library, or several tables)
    judges: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str],
    rubric: str | os.PathLike[str] = SUMMARIZATION,
    scores_as: str = LABELS,
    weights: Mapping[str, float] | None = None,
    probe: int = 0,
    human: str | None = None,
    columns: Mapping[str, str] | None = None,
    where: Sequence[str] | str = (),
    concurrency: int = CONCURRENCY,
) -> JudgeRun:
    """Let every judge of a settings file score every distinct output by a rubric, and give the tables with scores.

    ``outputs`` is a table or a list of tables, such as log, experiment and replay. ``rubric`` is ``"summarization"`` or
    a TOML file. ``scores_as`` is ``"labels"`` (one ``label_*`` per criterion), ``"features"``, or
    the name of a column for the combined score, such as ``"outcome"``; ``weights`` are those of the criteria in it.
    ``probe`` is the number of outputs on which the judges themselves are tested, ``human`` a column with scores of
    persons. Answers are stored in ``cache`` as they arrive; the same call continues after a kill.
    """
    plan = JudgePlan.load(
        outputs,
        judges,
        rubric=rubric,
        scores_as=scores_as,
        weights=weights,
        probe=probe,
        human=human,
        columns=columns,
        where=where,
    )
    with ReplyCache(Path(cache)) as opened:
        return run_judges(plan, opened, RunOptions(concurrency))


def run_judges(plan: JudgePlan, cache: ReplyCache, options: RunOptions, watch: Watch = no_watch) -> JudgeRun:
    """Ask for the missing verdicts of a plan, then average them."""
    questions, outcome = plan.questions, RunOutcome()
    keys = [calls.keys(questions) for calls in plan.calls]
    with cache.locked(ACTIVITY):
        states = plan.states(questions, cache, keys=keys)
        if _forget_useless(states, cache):  # of a run that was killed
            states = plan.states(questions, cache, keys=keys)
        reused = _verdicts(states)
        for number in range(MAX_FIRST_CALLS + MAX_ROUNDS):
            first = first_calls(plan.calls, states, keys, cache, outcome.failed_keys)
            is_first = number < MAX_FIRST_CALLS and any(one.pending for one in first)
            work, expected = work_by_endpoint(plan.calls, first if is_first else states, questions)
            if not work:
                break
            outcome = outcome.plus(run_requests(work, expected, cache, options, watch))
            states = plan.states(questions, cache, outcome.failed_keys, keys)
        without_form = accept_refusals(plan.calls, keys, cache, outcome)
        _forget_useless(states, cache)
    return replace(_finished(plan, states, outcome, reused), without_form=without_form)


def run_from_cache(plan: JudgePlan, cache: ReplyCache | None) -> JudgeRun:
    """The same without any call: only what is stored."""
    states = plan.states(plan.questions, cache)
    if cache is not None:
        with cache.locked(ACTIVITY):
            _forget_useless(states, cache)
    return _finished(plan, states, RunOutcome(), _verdicts(states))


def store_batches(plan: JudgePlan, paths: Sequence[Path], cache: ReplyCache) -> BatchReport:
    """Put the answers of batches into the cache; those to requests that are not missing are counted and left out."""
    questions = plan.questions
    with cache.locked(ACTIVITY):
        states = plan.states(questions, cache)
        keys = {pending.key for state in states for pending in state.pending}
        keys |= {key for calls in plan.calls for pair in calls.keys(questions) for key in pair}
        return store_answers(keys, [one.chat for one in plan.judges], paths, cache)


def _forget_useless(states: Sequence[JudgeState], cache: ReplyCache) -> bool:
    """Remove stored replies that gave no scores, so that the next run asks again; whether there were any."""
    keys = {key for state in states for verdict in state.verdicts if verdict is not None for key in verdict.useless}
    if keys:
        cache.remove(sorted(keys))
    return bool(keys)


def _verdicts(states: Sequence[JudgeState]) -> int:
    return sum(verdict is not None for state in states for verdict in state.verdicts)


def _finished(plan: JudgePlan, states: Sequence[JudgeState], outcome: RunOutcome, reused: int) -> JudgeRun:
    count = len(plan.pairs.pairs)
    by_judge = [label_array(state.verdicts, plan.rubric) for state in states]
    scores = _average(plan, states, [labels[:count] for labels in by_judge])
    tables = tuple(
        judged_table(table.columns, rows, scores, plan.columns)
        for table, rows in zip(plan.tables, plan.pairs.rows, strict=True)
    )
    probes = estimate_probes(probe_data(plan, by_judge)) if plan.sample else ()
    counts = tuple(_count(one.name, state.verdicts[:count]) for one, state in zip(plan.judges, states, strict=True))
    unanswered = sum(bool(_failure(one)) for state in states for one in state.verdicts[count:])
    return JudgeRun(plan, tables, scores, counts, probes, outcome, reused, unanswered)


def label_array(verdicts: Sequence[Verdict | None], rubric: Rubric) -> FloatArray:
    """The labels (questions, criteria) of verdicts; NaN where there is none."""
    missing = (np.nan,) * len(rubric.criteria)
    scores = [missing if one is None or one.scores is None else one.scores for one in verdicts]
    raw = np.array(scores, dtype=np.float64).reshape(len(scores), len(rubric.criteria))
    return np.column_stack([criterion.label(raw[:, at]) for at, criterion in enumerate(rubric.criteria)])


def _average(plan: JudgePlan, states: Sequence[JudgeState], by_judge: Sequence[FloatArray]) -> PairScores:
    """The mean over the judges who answered; a judge answers all criteria of an output, or none."""
    stacked = np.stack(by_judge)
    present = np.isfinite(stacked[:, :, 0])
    answered = present.sum(axis=0)
    total = np.where(present[:, :, None], stacked, 0.0).sum(axis=0)
    labels = np.where(answered[:, None] > 0, total / np.maximum(answered, 1)[:, None], np.nan)
    failures = tuple(_failure_text(plan, states, at) for at in range(len(labels)))
    return PairScores(labels, plan.rubric.combined(labels), answered, failures)


def _failure_text(plan: JudgePlan, states: Sequence[JudgeState], at: int) -> str:
    verdicts = ((one.name, state.verdicts[at]) for one, state in zip(plan.judges, states, strict=True))
    return "; ".join(f"{name}: {_failure(verdict)}" for name, verdict in verdicts if _failure(verdict))


def _failure(verdict: Verdict | None) -> str:
    return NOT_ASKED if verdict is None else verdict.failure


def _count(name: str, verdicts: Sequence[Verdict | None]) -> JudgeCount:
    failures: dict[str, int] = {}
    for failure in filter(None, map(_failure, verdicts)):
        failures[failure] = failures.get(failure, 0) + 1
    repaired = sum(one is not None and one.repaired for one in verdicts)
    return JudgeCount(name, len(verdicts) - sum(failures.values()), repaired, failures)


def probe_data(plan: JudgePlan, by_judge: Sequence[FloatArray]) -> ProbeData:
    """What the probes are computed from: the labels of every judge on all questions of the plan."""
    count, size = len(plan.pairs.pairs), len(plan.sample)
    judges = []
    for one, labels in zip(plan.judges, by_judge, strict=True):
        measures = np.column_stack([plan.rubric.combined(labels), labels])
        ways = {way: measures[count + at * size : count + (at + 1) * size] for at, way in enumerate(WAYS)}
        judges.append(JudgeScores(one.name, one.own_models, measures[:count], ways))
    return ProbeData(
        measures=(COMBINED, *plan.rubric.names),
        later=position_weights(plan.rubric),
        pairs=plan.pairs,
        sample=np.array(plan.sample, dtype=np.int64),
        judges=tuple(judges),
        human=_human(plan),
    )


def _human(plan: JudgePlan) -> HumanScores | None:
    found = [
        (table.human, rows) for table, rows in zip(plan.tables, plan.pairs.rows, strict=True) if table.human is not None
    ]
    if not found:
        return None
    return HumanScores(np.concatenate([score for score, _ in found]), np.concatenate([rows for _, rows in found]))
