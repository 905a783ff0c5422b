"""The sentences about the exclusion test, and why shared outputs are not used."""

from __future__ import annotations

from deconfound.diagnose.exclusion import Exclusion
from deconfound.findings import Finding
from deconfound.report.wording import Wordings, format_raw_p_value
from deconfound.value.efficient_summary import Obstacle

ASSUMPTION = "a model affects outcomes only through its output"
REASONS: dict[Obstacle, str] = {
    "unknown propensities": "the propensities vary, and those of the models that were not drawn are unknown",
    "no shared outputs": "no two models wrote the same output on the same context",
    "exclusion untestable": f"too few outputs are shared to test whether {ASSUMPTION}",
    "exclusion rejected": f"the exclusion test contradicts that {ASSUMPTION}",
    "no gain": "shared outputs would not make intervals narrower",
}
REMEDIES: dict[Obstacle, str] = {
    "unknown propensities": "Add one column propensity_NAME for each model that could be assigned.",
    "exclusion untestable": "Replay more draws, or randomize more rows.",
    "exclusion rejected": (
        "Nothing has to be done: doubly robust values do not need this assumption. Look for what differs between "
        "models besides their outputs, such as latency or a visible name."
    ),
}


def _exclusion(details: Exclusion, finding: Finding) -> tuple[str, str]:
    tested = ""
    if finding.p_value is not None and finding.statistic is not None:
        statistic = f"F({details.df}, {details.residual_df}) = {finding.statistic:.2f}"
        tested = f" ({statistic}, {format_raw_p_value(finding.p_value)}, level {details.level:g})"
    if details.obstacle is None:
        return (
            f"Nothing contradicts that {ASSUMPTION}{tested}. Outcomes of shared outputs count for every model that "
            "could have written them.",
            "",
        )
    sentence = f"Values are doubly robust, not efficient: {REASONS[details.obstacle]}{tested}."
    return sentence, REMEDIES.get(details.obstacle, "")


WORDINGS: Wordings = {Exclusion: _exclusion}
