"""Judging before it is run: which outputs there are, who is asked what, and which calls are still missing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deconfound.endpoints.batch_writing import BatchFile, batch_files
from deconfound.endpoints.call_estimates import ModelEstimate, estimate_calls, mean_output_tokens
from deconfound.endpoints.failure import Failure
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.errors import DataError, Problem, UsageError, read_or_collect
from deconfound.findings import Finding
from deconfound.judging.judge_prompt import PromptWriter, Question
from deconfound.judging.judge_settings import Judge, read_judges
from deconfound.judging.judged_table import ScoreColumns
from deconfound.judging.output_pairs import OutputPairs
from deconfound.judging.probes import probe_questions
from deconfound.judging.rubric import Rubric
from deconfound.judging.rubric_file import read_rubric
from deconfound.judging.verdicts import JudgeCalls, JudgeState, KeyPair
from deconfound.loading import OutputTable, load_output_tables

MAX_SAMPLE = 1_000_000
LABELS = "labels"
SUMMARIZATION = "summarization"
NO_FAILURES: Mapping[bytes, Failure] = {}


@dataclass(frozen=True, slots=True, eq=False)
class JudgePlan:
    """Every judge of a settings file on every distinct output of some tables.

    ``sample`` are the outputs on which the judges are probed; empty without a probe.
    """

    tables: tuple[OutputTable, ...]
    judges: tuple[Judge, ...]
    rubric: Rubric
    columns: ScoreColumns
    pairs: OutputPairs
    sample: tuple[int, ...]

    @classmethod
    def load(
        cls,
        outputs: Any,  # noqa: ANN401  (a path or a table of any library, or several tables)
        judges: str | os.PathLike[str],
        *,
        rubric: str | os.PathLike[str] | Rubric = SUMMARIZATION,
        scores_as: str = LABELS,
        weights: Mapping[str, float] | None = None,
        probe: int = 0,
        human: str | None = None,
        columns: Mapping[str, str] | None = None,
        where: Sequence[str] | str = (),
    ) -> JudgePlan:
        """Read tables, judges and rubric; everything wrong in any of them raises one ``DataError``."""
        if isinstance(probe, bool) or not 0 <= probe <= MAX_SAMPLE:
            raise UsageError(f"probe (--probe) must be a whole number from 0 to {MAX_SAMPLE:,}, not {probe!r}.")
        problems: list[Problem] = []
        chosen = read_or_collect(lambda: rubric if isinstance(rubric, Rubric) else read_rubric(rubric), problems)
        read = read_or_collect(lambda: read_judges(Path(judges)), problems)
        tables = read_or_collect(
            lambda: load_output_tables(several(outputs), columns=columns, where=where, human=human), problems
        )
        if chosen is None or read is None or tables is None:
            raise DataError(problems)
        chosen = chosen if weights is None else chosen.with_weights(weights)
        score_columns = ScoreColumns.choose(scores_as, chosen)
        score_columns.check([(table.source, table.columns.column_names) for table in tables])
        pairs = OutputPairs.of(tables)
        return cls(tables, read, chosen, score_columns, pairs, tuple(pairs.sample(probe)))

    @property
    def questions(self) -> list[Question]:
        """One question per distinct output, then those of the probes."""
        ordinary = [Question(*pair) for pair in self.pairs.pairs]
        return ordinary + probe_questions(self.pairs, self.sample)

    @property
    def calls(self) -> tuple[JudgeCalls, ...]:
        """The calls of each judge."""
        return tuple(JudgeCalls(judge, PromptWriter(self.rubric)) for judge in self.judges)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Remarks from reading the tables."""
        return tuple(finding for table in self.tables for finding in table.findings)

    def estimate(self, cache: ReplyCache | None = None) -> tuple[ModelEstimate, ...]:
        """Calls, tokens and cost of what is missing, for each judge; repairs that become necessary are not included."""
        questions, estimates = self.questions, []
        for calls in self.calls:
            keys = calls.keys(questions)
            state = calls.state(questions, keys, cache, NO_FAILURES)
            mean = mean_output_tokens([key for pair in keys for key in pair], cache)
            missing = list({one.key: one for one in state.pending}.values())
            stored = len(questions) - len(state.pending)
            requests = calls.requests(questions, missing)
            estimates.append(estimate_calls(calls.judge.chat, requests, len(questions), stored, mean))
        return tuple(estimates)

    def batch_files(self, cache: ReplyCache | None = None) -> list[BatchFile]:
        """Requests for batch interfaces, of all that is missing; after a batch, those of the repairs."""
        questions, files = self.questions, []
        for calls, state in zip(self.calls, self.states(questions, cache), strict=True):
            distinct = list({one.key: one for one in state.pending}.values())
            files += batch_files(calls.judge.chat, calls.requests(questions, distinct))
        return files

    def states(
        self,
        questions: Sequence[Question],
        cache: ReplyCache | None,
        failed: Mapping[bytes, Failure] = NO_FAILURES,
        keys: Sequence[Sequence[KeyPair]] | None = None,
    ) -> list[JudgeState]:
        """Where every judge stands; ``keys`` are those of the questions, if they are at hand."""
        known = [calls.keys(questions) for calls in self.calls] if keys is None else keys
        return [calls.state(questions, own, cache, failed) for calls, own in zip(self.calls, known, strict=True)]


def several(outputs: Any) -> list[Any]:  # noqa: ANN401
    """Tables as a list; a list of paths is a list of tables, each judged by itself."""
    if isinstance(outputs, list | tuple):
        if not outputs:
            raise UsageError("outputs (--outputs) names no table.")
        return list(outputs)
    return [outputs]
