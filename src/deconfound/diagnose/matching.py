"""Log against experiment where both judged the same thing: the same output to the same context, if any recur."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study
from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.signs import level_p_value, signs
from deconfound.diagnose.verdicts import shown, warned
from deconfound.findings import Finding

FEWEST_ROWS = 10  # fewer pairs cannot show a sign
ENOUGH = 30  # matching outputs; with fewer, rows of the same context and model are compared instead


@dataclass(frozen=True, slots=True)
class Matches:
    """Outcomes of the experiment beside the log's mean outcome of the same thing."""

    what: str  # the thing shared, in words
    experiment: FloatArray  # (m,)
    log: FloatArray  # (m,)
    model: IntArray  # (m,)
    cluster: IntArray  # (m,)


def matching(study: Study, seed: int, level: float) -> tuple[Finding, ...]:
    """Log against experiment where both judged the same thing: the sign of the association, and the level."""
    found = matches(study)
    if found is None or len(found.experiment) < FEWEST_ROWS:
        rows = 0 if found is None else len(found.experiment)
        message = f"Only {rows} rows of the experiment meet the same context and output in the log: too few to compare."
        remedy = "Let some contexts occur in both, to see whether the same output gets the same outcome."
        return (Finding("matching outputs", "cannot tell", message, remedy, assumption="A3"),)
    return (_same_sign(found, seed, level), _same_level(found, seed, level))


def _same_sign(found: Matches, seed: int, level: float) -> Finding:
    low, _, slope = signs(found.log, found.experiment, found.model, found.cluster, seed)
    said = f"correlation {slope:.2f} over {len(found.log):,} rows that share {found.what}"
    if warned(low, level) == "pass":
        message = f"Log and experiment do not contradict each other on matching outputs ({said})."
        return Finding("matching outputs", "pass", message, "", low, "A3")
    message = (
        f"Matching outputs have opposite outcomes in log and experiment ({said}, {shown(low)}): one may be inverted."
    )
    remedy = "Check in both sources whether 1 is the best outcome."
    return Finding("matching outputs", "warn", message, remedy, low, "A3")


def _same_level(found: Matches, seed: int, level: float) -> Finding:
    p, difference = level_p_value(found.experiment - found.log, found.cluster, seed)
    said = f"{difference:+.3f} over {len(found.log):,} rows that share {found.what}, {shown(p)}"
    if warned(p, level) == "pass":
        message = f"Matching outputs are judged alike in experiment and log (difference {said})."
        return Finding("matching level", "pass", message, "", p, "A3")
    message = (
        f"Matching outputs are judged differently in the experiment (difference {said}). Confounding alone can do this,"
        " and is corrected; another rubric, judge or scale is not."
    )
    remedy = "Make sure that the same question was asked on the same scale in both."
    return Finding("matching level", "warn", message, remedy, p, "A3")


def matches(study: Study) -> Matches | None:
    """Pair rows by context and output, or by context and model where too few outputs recur; None without any."""
    by_text = study.has_text
    place = "context" if by_text else "context_id"
    kinds = [("context and output", (place, "output"))] if by_text else []
    kinds.append(("context and model", (place, "model")))
    best: Matches | None = None
    log = study.log.arrow
    known = log.filter(pc.is_in(log[place], value_set=pc.unique(study.experiment.arrow[place])))
    for what, columns in kinds:
        found = _paired(study.experiment.arrow, known, what, columns)
        if best is None or len(best.log) < ENOUGH <= len(found.log):
            best = found
    return best if best is not None and len(best.log) else None


def _paired(experiment: pa.Table, log: pa.Table, what: str, columns: tuple[str, ...]) -> Matches:
    sums: dict[tuple[str, ...], list[float]] = {}
    for key, outcome in zip(keys(log, columns), log["outcome"].to_pylist(), strict=True):
        total = sums.setdefault(key, [0.0, 0.0])
        total[0] += outcome
        total[1] += 1.0
    rows = [(at, sums[key]) for at, key in enumerate(keys(experiment, columns)) if key in sums]
    at = np.array([row for row, _ in rows], dtype=np.int64)
    _, model = encode(experiment["model"], None)
    _, cluster = encode(experiment["cluster" if "cluster" in experiment.column_names else "context_id"], None)
    mean = np.array([total / count for _, (total, count) in rows], dtype=np.float64)
    return Matches(what, experiment["outcome"].to_numpy()[at], mean, model[at], cluster[at])


def keys(table: pa.Table, columns: Iterable[str]) -> Iterable[tuple[str, ...]]:
    """Each row's values of some columns."""
    return zip(*(table[name].to_pylist() for name in columns), strict=True)
