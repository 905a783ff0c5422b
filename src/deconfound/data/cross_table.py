"""What must hold between the tables of a study: each check finds its own kind of misfit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data.tables import TEXT_COLUMNS, Experiment, Log, Mask, Replay, Table, describe_context, is_in, text_ids
from deconfound.errors import Problem, UsageError
from deconfound.findings import Finding, Notice
from deconfound.formatting import did_you_mean, join_names, pluralize, quote

FEWEST_ROWS = 2  # one row has no spread, so nothing can be said of its error


def candidates(replay: Replay, models: Sequence[str] | None) -> tuple[str, ...]:
    """Settle which models are compared: those asked for, or all that were replayed."""
    covered = sorted(replay.distinct("model"))
    for name in models or ():
        if name not in covered:
            offer = did_you_mean(name, covered) or "."
            raise UsageError(
                f"--models: {quote(name)} has no replay{offer} {replay.source} covers {join_names(covered)}."
            )
    return tuple(covered if models is None else sorted(set(models)))


def lacking_text(tables: Sequence[Table]) -> list[tuple[str, str]]:
    """Name each table and text column that keep a study from using text."""
    return [(t.source, name) for t in tables for name in TEXT_COLUMNS if name not in t.table.column_names]


def text_problems(tables: Sequence[Table]) -> list[Problem]:
    """Without text in every table, features must take its place in every table."""
    fix = "Add it, or describe contexts and outputs by feature_* columns in all three tables."
    if all(table.columns_like("feature_") for table in tables):
        return []
    return [Problem(source, f"the {name} has no text here", fix) for source, name in lacking_text(tables)]


def text_findings(tables: Sequence[Table]) -> list[Finding]:
    """Say when text that some tables have goes unused because another lacks it."""
    lacking = lacking_text(tables)
    if not lacking or len(lacking) == len(tables) * len(TEXT_COLUMNS):
        return []
    message = "; ".join(f"{source} has no {name} text" for source, name in lacking)
    remedy = "Add the missing text to use it together with the features."
    return [
        Finding("text", "warn", Notice(f"{message}: all text is left unused, only feature_* columns count.", remedy))
    ]


def contradictory_texts(tables: Sequence[Table]) -> list[Problem]:
    """A context_id must mean one text, in all tables together."""
    if any("context" not in table.table.column_names for table in tables):
        return []
    ids = pa.chunked_array([c for t in tables for c in t.table["context_id"].chunks], pa.string())
    texts = pa.chunked_array([c for t in tables for c in text_ids(t.table["context"]).chunks], pa.string())
    codes, prints = _codes(ids), _codes(texts)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    bad = np.flatnonzero(prints != prints[first[inverse]])
    if not len(bad):
        return []
    row, earlier, name = int(bad[0]), int(first[inverse[bad[0]]]), ids[int(bad[0])].as_py()
    what = f"context_id {quote(name)} stands for another text than in {_place(tables, earlier)}"
    others = len(np.unique(codes[bad])) - 1
    more = f" (and so {pluralize(others, 'other context_id')})" if others else ""
    fix = "Give each text its own context_id, or leave the column out: contexts are then named by their text."
    return [Problem(_place(tables, row), what + more, fix)]


def _codes(values: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    encoded = values.dictionary_encode().unify_dictionaries()
    return np.concatenate([chunk.indices.to_numpy().astype(np.int64) for chunk in encoded.chunks])


def _place(tables: Sequence[Table], row: int) -> str:
    for table in tables:
        if row < len(table):
            return table.where(row)
        row -= len(table)
    raise IndexError(row)


def unequal_features(tables: Sequence[Table]) -> list[Problem]:
    """A feature is of use only where the log, the experiment and the replay all have it."""
    named = [set(table.columns_like("feature_")) for table in tables]
    fix = "Add it there, or take it out of the other tables."
    return [
        Problem(table.source, f"{join_names(sorted(lacking))} is missing here and stands in another table", fix)
        for table, names in zip(tables, named, strict=True)
        if (lacking := set.union(*named) - names)
    ]


def unreplayed(experiment: Experiment, replay: Replay, models: Sequence[str]) -> list[Problem]:
    """A model that the experiment drew can be compared only if it was replayed."""
    problems = []
    covers = f"{replay.source} covers {join_names(models)}"
    for name in sorted(experiment.distinct("model").difference(models)):
        rows = np.flatnonzero(pc.equal(experiment.table["model"], name).to_numpy())
        count = f" ({pluralize(len(rows), 'row')})" if len(rows) > 1 else ""
        what = f"model {quote(name)} has no replay{count}; {covers}{did_you_mean(name, models).rstrip('?')}"
        fix = f"Replay it, or leave it out with --models {','.join(models)}."
        problems.append(Problem(experiment.where(int(rows[0])), what, fix))
    return problems


def too_few_models(replay: Replay, models: Sequence[str]) -> list[Problem]:
    """One model alone cannot be better than anything."""
    if len(models) >= 2:
        return []
    what = f"only {join_names(models) or 'no model'} is replayed, and a comparison takes two models"
    return [Problem(replay.source, what, "Replay another model on the same contexts, or name two with --models.")]


def complete_rows(experiment: Experiment, replay: Replay, models: Sequence[str]) -> Mask:
    """Mark the experiment's rows on whose context every candidate was replayed."""
    return is_in(experiment.table["context_id"], replay.complete_contexts(models))


def incomplete_problem(experiment: Experiment, replay: Replay, models: Sequence[str], complete: Mask) -> Problem:
    """Say which of the experiment's contexts cannot be used, by an example."""
    row = int(np.flatnonzero(~complete)[0])
    name = experiment.table["context_id"][row].as_py()
    lacking = sorted(set(models) - replay.models_on(name))
    contexts = pc.count_distinct(experiment.table["context_id"].filter(pa.array(~complete))).as_py()
    what = (
        f"context {describe_context(experiment.table, row)} has no replay of {join_names(lacking)} in {replay.source}"
    )
    more = f" ({pluralize(contexts, 'context')} lack one, in {pluralize(int((~complete).sum()), 'row')})"
    fix = (
        "Replay them, name only models replayed everywhere with --models, or leave those rows out by --drop-incomplete."
    )
    return Problem(experiment.where(row), what + (more if (~complete).sum() > 1 else ""), fix)


def dropped_finding(experiment: Experiment, complete: Mask) -> Finding:
    """Tell how much of the experiment is gone, and why that may matter."""
    message = (
        f"{experiment.source}: {pluralize(int((~complete).sum()), 'row')} of {len(experiment):,} left out because"
        " a candidate was not replayed on the context; values hold for the remaining contexts."
    )
    return Finding(
        "incomplete replay", "warn", Notice(message, "Replay every candidate on every context of the experiment.")
    )


def too_few_rows(experiment: Experiment) -> list[Problem]:
    """An experiment must have some spread to have an error."""
    if len(experiment) >= FEWEST_ROWS:
        return []
    what = f"the experiment has {pluralize(len(experiment), 'usable row')} and needs at least {FEWEST_ROWS}"
    return [Problem(experiment.source, what, "Run the experiment on more contexts, a few dozen for each model.")]


def log_only(log: Log, experiment: Experiment, models: Sequence[str]) -> list[Finding]:
    """Say which models teach the reward without being compared."""
    findings = []
    for table in (log, experiment):
        others = sorted(table.distinct("model").difference(models))
        if others:
            rows = int(is_in(table.table["model"], others).sum())
            message = f"{table.source}: {pluralize(rows, 'row')} of models that are not compared ({join_names(others)})"
            findings.append(Finding("models", "pass", Notice(f"{message} still teach the reward.")))
    return findings


def thin_models(experiment: Experiment, models: Sequence[str]) -> list[Finding]:
    """Name the candidates on which the experiment itself can say next to nothing."""
    counts = {row["values"]: row["counts"] for row in experiment.table["model"].value_counts().to_pylist()}
    thin = [name for name in models if counts.get(name, 0) < FEWEST_ROWS]
    if not thin:
        return []
    message = f"{experiment.source} has fewer than {FEWEST_ROWS} rows of {join_names(thin)}."
    return [
        Finding("experiment size", "cannot tell", Notice(message, "Draw these models more often in the experiment."))
    ]
