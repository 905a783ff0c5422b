"""Studies of short answers and their results, each evaluated once per test run."""

from __future__ import annotations

from functools import cache

import deconfound as dc
from benchmarks.short_answers import answer_tables


@cache
def answer_study(*, direct_effect: float = 0.0, unique: bool = False) -> dc.Study:
    """The study with seed 0."""
    return dc.load(**answer_tables(direct_effect=direct_effect, unique=unique))


@cache
def answer_result(method: str = "efficient", *, direct_effect: float = 0.0, unique: bool = False) -> dc.Result:
    """That study by one method, with few refits."""
    options = dc.EvaluationOptions(method=method, refits=2)
    return dc.evaluate(answer_study(direct_effect=direct_effect, unique=unique), options=options)
