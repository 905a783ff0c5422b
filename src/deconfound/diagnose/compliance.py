"""A1, exactly: did each row's unit get the model that the declared assignment draws for it?

The hash of a unit decides its model, so every deviation is certain and no test is needed: a fallback, a retry with
another model, an override, or rows that were never in the experiment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.data import Experiment, Mask, Study
from deconfound.diagnose.thresholds import FAIL_NONCOMPLIANT_SHARE, UNRELATED_RATIO
from deconfound.findings import Finding, Verdict

COMPLIANCE = "assignment as drawn"
MAX_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Compliance:
    """Rows that another model answered than the one drawn, and rows of units that take no part in the experiment.

    ``unrelated`` says that there are about as many as if the models had been drawn without this assignment. ``drawn``
    and ``answered`` are the most frequent pair of different models, with its rows; ``examples`` are numbers of rows.
    """

    source: str
    rows: int
    other_model: int
    outside: int
    unrelated: bool = False
    drawn: str = ""
    answered: str = ""
    pair_rows: int = 0
    examples: tuple[str, ...] = ()
    numbered: str = "row"  # or "line": what the examples are numbers of


def check_compliance(study: Study) -> tuple[Finding, ...]:
    """Compare every randomized row with the declared assignment; nothing where none is declared."""
    if "assigned_model" not in study.experiment.arrow.column_names:
        return ()
    table = study.randomized.arrow
    assigned, model = table["assigned_model"].to_pylist(), table["model"].to_pylist()
    outside = [drawn == "" for drawn in assigned]
    pairs = Counter((drawn, seen) for drawn, seen in zip(assigned, model, strict=True) if drawn not in ("", seen))
    other, total = sum(pairs.values()), len(model)
    share = (other + sum(outside)) / total
    most = pairs.most_common(1)
    (drawn, answered), pair_rows = most[0] if most else (("", ""), 0)
    details = Compliance(
        study.experiment.source,
        total,
        other,
        sum(outside),
        _is_unrelated(other, total - sum(outside), study.experiment, model),
        drawn,
        answered,
        pair_rows,
        _examples(study),
        study.experiment.row_numbers.unit,
    )
    verdict: Verdict = "pass" if share == 0.0 else "warn" if share < FAIL_NONCOMPLIANT_SHARE else "fail"
    return (Finding(COMPLIANCE, verdict, details, "A1", share),)


def _is_unrelated(other: int, rows: int, experiment: Experiment, model: Sequence[str]) -> bool:
    """Whether mismatches are nearly as frequent as between two independent draws with the declared propensities."""
    propensity = {name: float(values.mean()) for name, values in experiment.propensities().items()}
    expected = 1.0 - float(np.mean([propensity.get(name, 0.0) for name in model]))
    return rows > 0 and other / rows >= UNRELATED_RATIO * expected > 0.0


def _examples(study: Study) -> tuple[str, ...]:
    """The first deviating rows of each table, in the order of the user's file."""
    places: list[str] = []
    for table in (study.experiment, study.unrated_experiment):
        if table is None:
            continue
        deviates: Mask = np.array(table.arrow["assigned_model"]) != np.array(table.arrow["model"])
        rows = sorted(np.flatnonzero(deviates).tolist(), key=table.row_numbers.number)
        places += [table.row_numbers.label(row) for row in rows[:MAX_EXAMPLES]]
    return tuple(places[:MAX_EXAMPLES])
