"""Whether the experiment has rows enough, and is not so large that it may be the log."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound.data.tables import Experiment
from deconfound.errors import Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, pluralize

MIN_ROWS = 2  # one row has no variance, so its value would have no standard error
MAX_SIZE_RATIO = 2.0  # of experiment to log; a randomized table is usually the smaller one
MIN_COMPARED_ROWS = 20  # of the experiment; the sizes of smaller tables say nothing


def too_few_rows(experiment: Experiment) -> list[Problem]:
    """An experiment needs at least ``MIN_ROWS`` rows."""
    if len(experiment) >= MIN_ROWS:
        return []
    what = f"the experiment has {pluralize(len(experiment), 'usable row')} and needs at least {MIN_ROWS}"
    return [Problem(experiment.source, what, "Run the experiment on more contexts, a few dozen per model.")]


def size_findings(log: str, log_rows: int, experiment: Experiment, models: Sequence[str]) -> list[Finding]:
    """Models with next to no rows, and an experiment that is much larger than the log of this name."""
    return [*underpowered_models(experiment, models), *_swapped_tables(log, log_rows, experiment)]


def _swapped_tables(log: str, log_rows: int, experiment: Experiment) -> list[Finding]:
    if len(experiment) < max(MAX_SIZE_RATIO * log_rows, MIN_COMPARED_ROWS):
        return []
    message = (
        f"{experiment.source} is given as the experiment and has {pluralize(len(experiment), 'row')}; {log} is "
        f"given as the log and has {log_rows:,}. Is the larger table really the randomized one?"
    )
    remedy = "If not, exchange --log and --experiment: every value depends on the experiment's randomization."
    return [Finding("table sizes", "warn", Notice(message, remedy))]


def underpowered_models(experiment: Experiment, models: Sequence[str]) -> list[Finding]:
    """Name the models with too few experiment rows for a standard error of their own."""
    counts = {row["values"]: row["counts"] for row in experiment.arrow["model"].value_counts().to_pylist()}
    too_few = [name for name in models if counts.get(name, 0) < MIN_ROWS]
    if not too_few:
        return []
    message = f"{experiment.source} has fewer than {MIN_ROWS} rows of {join_names(too_few)}."
    return [
        Finding("experiment size", "cannot tell", Notice(message, "Assign these models more often in the experiment."))
    ]
