"""Whether models affect outcomes other than through their outputs: the assumption of efficient values only."""

from __future__ import annotations

import math
from dataclasses import dataclass

from deconfound.findings import Finding, Verdict
from deconfound.value.efficient import EXCLUSION_LEVEL
from deconfound.value.efficient_summary import EfficientSummary, Obstacle

CHECK = "exclusion"
VERDICTS: dict[Obstacle | None, Verdict] = {
    None: "pass",
    "no gain": "pass",
    "no shared outputs": "pass",
    "unknown propensities": "warn",
    "exclusion untestable": "warn",
    "exclusion rejected": "warn",
}


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The test of a model's effect given its output, and what stands against the use of shared outputs."""

    obstacle: Obstacle | None  # None: they are used; otherwise values are doubly robust
    level: float  # of the test
    df: int  # 0 without a test
    residual_df: int


def exclusion_findings(summary: EfficientSummary | None) -> tuple[Finding, ...]:
    """One finding if efficient values were requested.

    The p-value is not adjusted for the study's other tests, because it decides between two estimators and not whether
    a study is sound. The assumption is none of A1 to A5: doubly robust values do without it.
    """
    if summary is None or not summary.requested:
        return ()
    test = None if summary.result is None else summary.result.exclusion
    tested = test is not None and math.isfinite(test.p_value)
    details = Exclusion(
        obstacle=summary.obstacle,
        level=EXCLUSION_LEVEL,
        df=0 if test is None else test.df,
        residual_df=0 if test is None else test.residual_df,
    )
    return (
        Finding(
            CHECK,
            VERDICTS[summary.obstacle],
            details,
            statistic=test.statistic if test is not None and tested else None,
            p_value=test.p_value if test is not None and tested else None,
        ),
    )
