"""Scores of outputs by language models: rubrics, judges, fenced prompts, verdicts, judged tables, probes of judges."""

from deconfound.judging.judge_plan import JudgePlan
from deconfound.judging.judge_run import JudgeRun, judge

__all__ = ["JudgePlan", "JudgeRun", "judge"]
