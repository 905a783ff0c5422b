"""What makes any answer worthless before an assumption is even asked about: constants, copies, leaks.

These are facts and not tests: the numbers are counts and shares, and nothing here is luck.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Study, Table, text_ids
from deconfound.data.encode import encode
from deconfound.diagnose.matching import keys
from deconfound.findings import Finding
from deconfound.formatting import format_percent, join_names, pluralize

ENOUGH_ROWS = 5  # rows of one model that all have the same outcome before that is worth a word
LEAKING = 0.999  # correlation of a label with the outcome above which it is the outcome
COARSE = 11  # outcome values up to which equal rows may be coincidence
SAME_IN_BOTH = 0.95  # share of the experiment found in the log that no coincidence explains on a coarse scale
FEW = 0.01  # share of the experiment found in the log that is a slip rather than a method


def sanity(study: Study) -> tuple[Finding, ...]:
    """Constant outcomes, repeated rows and contexts, experiment rows in the log, labels that are the outcome."""
    return (
        constant_outcomes(study),
        repeated_rows(study.experiment),
        renamed_contexts(study),
        shared_rows(study),
        leaking_labels(study),
    )


def constant_outcomes(study: Study) -> Finding:
    """Outcomes that never vary teach nothing, and make errors look like zero."""
    name, experiment, log = "constant outcomes", study.experiment, study.log
    outcome = experiment.arrow["outcome"].to_numpy()
    if np.ptp(outcome) == 0:
        message = f"Every outcome of {experiment.source} is {outcome[0]:g}: the models cannot be compared."
        return Finding(name, "fail", message, "Check which column holds the outcome, with --map.", 1.0)
    _, model = encode(experiment.arrow["model"], study.models + study.uncompared_models)
    flat = [each for at, each in enumerate(study.models) if _is_flat(outcome[model == at])]
    if flat:
        message = (
            f"{experiment.source}: all outcomes of {join_names(flat)} are the same, so their errors look like zero."
        )
        remedy = "Do not trust the intervals of these models; collect more of their rows."
        return Finding(name, "warn", message, remedy, len(flat) / len(study.models))
    if np.ptp(log.arrow["outcome"].to_numpy()) == 0:
        message = f"Every outcome of {log.source} is the same: the log teaches nothing."
        return Finding(name, "warn", message, "Check which column holds the outcome, with --map.", 1.0)
    return Finding(name, "pass", "Outcomes vary in both sources and for every model.", "", 0.0)


def repeated_rows(experiment: Table) -> Finding:
    """A row that stands there twice counts twice."""
    name, table = "repeated rows", experiment.arrow
    columns = [each for each in table.column_names if each != "context"]
    again = sum(count - 1 for count in Counter(keys(table, columns)).values())
    share = again / len(experiment)
    if not again:
        return Finding(name, "pass", f"No row of {experiment.source} stands there twice.", "", 0.0)
    certain = _values(experiment) > COARSE or "time" in table.column_names
    luck = "" if certain else " On so coarse a scale some of it may be coincidence."
    copies = f"{pluralize(again, 'row')} ({format_percent(share, 1)})"
    message = f"{experiment.source}: {copies} equal an earlier one and count double.{luck}"
    remedy = "Remove the copies, or name in `cluster` which rows belong together."
    return Finding(name, "warn", message, remedy, share)


def renamed_contexts(study: Study) -> Finding:
    """One text under two ids lands in two folds, and its luck leaks from one to the other."""
    name, table = "renamed contexts", study.experiment.arrow
    if not study.has_text:
        return Finding(name, "cannot tell", "Without texts, contexts that go by two names cannot be seen.")
    pairs = pa.table({"text": text_ids(table["context"]), "context_id": table["context_id"]})
    ids = pairs.group_by("text").aggregate([("context_id", "count_distinct")])
    several = ids.filter(pc.greater(ids["context_id_count_distinct"], 1))
    rows = int(pc.sum(pc.is_in(pairs["text"], value_set=several["text"].combine_chunks())).as_py() or 0)
    if not rows:
        return Finding(name, "pass", "Every context of the experiment goes by one name.", "", 0.0)
    message = (
        f"{study.experiment.source}: {pluralize(several.num_rows, 'text')} ({pluralize(rows, 'row')}) go by several"
        " context_ids, so that cross-fitting judges a context by itself and errors look too small."
    )
    remedy = "Give each text one context_id, or leave the column out: contexts are then named by their text."
    return Finding(name, "warn", message, remedy, rows / len(study.experiment))


def shared_rows(study: Study) -> Finding:
    """The log must not hold the experiment's own rows: the reward would have seen the outcomes it is judged by."""
    name, log, experiment = "experiment in the log", study.log.arrow, study.experiment.arrow
    place = "context" if study.has_text else "context_id"
    wanted = (place, "model", *(("output",) if study.has_text else study.feature_names), "outcome", "cluster", "time")
    columns = [each for each in wanted if each in log.column_names and each in experiment.column_names]
    known = log.filter(pc.is_in(log[place], value_set=pc.unique(experiment[place])))
    there = set(keys(known, columns))
    share = float(np.mean([key in there for key in keys(experiment, columns)]))
    certain = _values(study.experiment) > COARSE or "time" in columns
    if share == 0.0 or (share < SAME_IN_BOTH and not certain):
        seen = "No row" if share == 0.0 else f"Only {format_percent(share, 0)}, as coincidence may explain,"
        return Finding(name, "pass", f"{seen} of the experiment stands in the log as well.", "", share)
    message = (
        f"{format_percent(share, 1)} of the experiment's rows are in the log as well: their reward has seen their"
        " outcomes, and they count twice."
    )
    remedy = "Take the randomized rows out of the log."
    return Finding(name, "warn" if share < FEW else "fail", message, remedy, share)


def leaking_labels(study: Study) -> Finding:
    """A label that is the outcome under another name teaches the reward nothing but the confounding."""
    name, outcome = "labels", study.log.arrow["outcome"].to_numpy()
    if not study.label_names:
        return Finding(name, "pass", "There are no labels that could be the outcome.", "", 0.0)
    found = {each: _correlation(study.log.arrow[each].to_numpy(), outcome) for each in study.label_names}
    leaking = [each for each, size in found.items() if size > LEAKING]
    most = max(found.values())
    if not leaking:
        message = f"No label is the outcome under another name (largest correlation {most:.2f})."
        return Finding(name, "pass", message, "", most)
    message = (
        f"{join_names(leaking)}: the outcome under another name, so that psi repeats what is confounded in the log."
    )
    return Finding(name, "fail", message, "Leave these columns out.", most)


def _is_flat(outcome: Sequence[float]) -> bool:
    return len(outcome) >= ENOUGH_ROWS and bool(np.ptp(outcome) == 0)


def _values(table: Table) -> int:
    return len(np.unique(table.arrow["outcome"].to_numpy()))


def _correlation(label: Sequence[float], outcome: Sequence[float]) -> float:
    known = np.isfinite(label)
    x, y = np.asarray(label)[known], np.asarray(outcome)[known]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(abs(np.corrcoef(x, y)[0, 1]))
