"""Checks across the tables of a study; each function covers one kind of mismatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data.absent_contexts import absent_problem
from deconfound.data.encode import encode, encode_by_appearance
from deconfound.data.log_counts import LogCounts
from deconfound.data.name_variants import NameVariants, Variant, fold_text
from deconfound.data.tables import (
    PROPENSITY_PREFIX,
    TEXT_COLUMNS,
    Experiment,
    Log,
    Mask,
    Replay,
    Table,
    describe_context,
    describe_counts,
    is_in,
    text_ids,
)
from deconfound.errors import MAX_PRINTED_PROBLEMS, Problem, UsageError
from deconfound.escaping import escape_name
from deconfound.findings import Finding, Notice
from deconfound.formatting import (
    MAX_LISTED_NAMES,
    did_you_mean,
    join_names,
    pluralize,
    quote,
    shell_argument,
    similar_name,
)

MIN_MODELS = 2  # a comparison needs two
MAX_MODELS = 1_000  # half a million pairs; time and memory grow with the square


def resolve_models(replay: Replay, models: Sequence[str] | None) -> tuple[str, ...]:
    """The models to compare, sorted: ``models``, or every model in the replay; at most ``MAX_MODELS``."""
    replayed = sorted(replay.unique_values("model"))
    present = set(replayed)
    for name in models or ():
        if name not in present:
            variant = NameVariants(replayed).find(name)
            suggestion = did_you_mean(name, replayed) or "."
            suggestion = suggestion if variant is None else f"; it {variant.description}."
            raise UsageError(
                f"--models: {quote(name)} has no replay{suggestion} {replay.source} covers {join_names(replayed)}."
            )
    chosen = tuple(replayed if models is None else sorted(set(models)))
    if len(chosen) > MAX_MODELS:
        raise UsageError(
            f"{replay.source}: {len(chosen):,} models are to be compared, and at most {MAX_MODELS:,} can be, because "
            "every pair of them is a comparison. Name fewer with --models."
        )
    return chosen


def missing_text_columns(tables: Sequence[Table]) -> list[tuple[str, str]]:
    """Source and name of each text column that a table lacks."""
    return [(t.source, name) for t in tables for name in TEXT_COLUMNS if name not in t.arrow.column_names]


def text_problems(tables: Sequence[Table]) -> list[Problem]:
    """Missing text is a problem unless every table has features instead."""
    fix = "Add it, or describe contexts and outputs by feature_* columns in every table."
    if all(table.columns_with_prefix("feature_") for table in tables):
        return []
    return [
        Problem(source, f"there is no text column {quote(name)}", fix) for source, name in missing_text_columns(tables)
    ]


def text_findings(tables: Sequence[Table]) -> list[Finding]:
    """Warn if some tables have text that goes unused because another lacks it."""
    missing = missing_text_columns(tables)
    if not missing or len(missing) == len(tables) * len(TEXT_COLUMNS):
        return []
    message = "; ".join(f"{source} has no column {name}" for source, name in missing)
    remedy = "Add the missing text to use it together with the features."
    return [
        Finding(
            "text", "warn", Notice(f"{message}: text is ignored in all tables, only feature_* columns count.", remedy)
        )
    ]


def conflicting_context_ids(tables: Sequence[Table]) -> list[Problem]:
    """A context_id must belong to one text, across all tables."""
    if any("context" not in table.arrow.column_names for table in tables):
        return []
    ids = pa.chunked_array([c for t in tables for c in t.arrow["context_id"].chunks], pa.string())
    texts = pa.chunked_array([c for t in tables for c in text_ids(t.arrow["context"]).chunks], pa.string())
    id_code, text_code = encode_by_appearance(ids)[1], encode_by_appearance(texts)[1]
    _, first, inverse = np.unique(id_code, return_index=True, return_inverse=True)
    conflicts = np.flatnonzero(text_code != text_code[first[inverse]])
    if not len(conflicts):
        return []
    row = int(conflicts[0])
    earlier = _locate(tables, int(first[inverse[row]]))
    others = len(np.unique(id_code[conflicts])) - 1
    more = f" (the same for {pluralize(others, 'other context_id')})" if others else ""
    what = f"context_id {quote(ids[row].as_py())} has a different text in {earlier}{more}"
    fix = "Give each text its own context_id, or leave the column out: contexts are then identified by their text."
    return [Problem(_locate(tables, row), what, fix)]


def _locate(tables: Sequence[Table], row: int) -> str:
    """The place of a row, counted through all tables."""
    for table in tables:
        if row < len(table):
            return table.locate(row)
        row -= len(table)
    raise IndexError(row)


def feature_mismatches(tables: Sequence[Table]) -> list[Problem]:
    """All tables must have the same feature columns."""
    features = [set(table.columns_with_prefix("feature_")) for table in tables]
    every = set.union(*features)
    problems = []
    for table, present in zip(tables, features, strict=True):
        missing = sorted(every - present)
        if missing:
            verb, pronoun = ("is", "it") if len(missing) == 1 else ("are", "them")
            what = f"{join_names(missing)} {verb} missing; another table has {pronoun}"
            fix = f"Add {pronoun}, or remove {pronoun} from the other tables."
            problems.append(Problem(table.source, what, fix))
    return problems


def models_without_replay(experiment: Experiment, replay: Replay, models: Sequence[str]) -> list[Problem]:
    """Each model of the experiment must be replayed, or it cannot be compared."""
    names, codes = encode(experiment.arrow["model"])
    counts, first = np.bincount(codes, minlength=len(names)), np.full(len(names), len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    compared = set(models)
    lacking = [code for code, name in enumerate(names) if name not in compared]
    covered = join_names(models)
    option = shell_argument(",".join(models)) if len(models) <= MAX_LISTED_NAMES else "and the names of the others"
    variants = NameVariants(models)
    problems = []
    for place, code in enumerate(lacking):
        count = f" ({pluralize(int(counts[code]), 'row')})" if counts[code] > 1 else ""
        similar = similar_name(names[code], models) if place < MAX_PRINTED_PROBLEMS else None
        typo = "" if similar is None else f"Correct it if {quote(similar)} is meant. "
        variant = variants.find(names[code])
        if variant is not None:
            renamed = shell_argument(f"{names[code]}={variant.name}")
            typo = f"It {variant.description}: pass --rename-model {renamed} if that is meant. "
        what = f"model {quote(names[code])} has no replay{count}; {replay.source} covers {covered}"
        fix = f"{typo}Replay it, or leave it out with --models {option}."
        problems.append(Problem(experiment.locate(int(first[code])), what, fix))
    return problems


def impossible_assignments(experiment: Experiment, models: Sequence[str]) -> list[Problem]:
    """Each compared model must be possible in every row, or its value is not identified on that row's context."""
    problems = []
    for name, propensity in experiment.propensities().items():
        rows = np.flatnonzero(propensity <= 0)
        if name in models and len(rows):
            count = f" ({pluralize(len(rows), 'row')})" if len(rows) > 1 else ""
            column = f"{PROPENSITY_PREFIX}{escape_name(name)}"
            what = f"{column} is 0{count}, so this model, which is compared, could not be assigned"
            fix = "Remove such rows, or leave the model out with --models."
            problems.append(Problem(experiment.locate(int(rows[0])), what, fix))
    return problems


def too_few_models(replay: Replay, models: Sequence[str]) -> list[Problem]:
    """A comparison needs at least ``MIN_MODELS`` models."""
    if len(models) >= MIN_MODELS:
        return []
    what = f"only {join_names(models) or 'no model'} is replayed; a comparison needs at least two models"
    return [Problem(replay.source, what, "Replay another model on the same contexts, or name two with --models.")]


def rows_with_full_replay(experiment: Experiment, replay: Replay, models: Sequence[str]) -> Mask:
    """Mark the experiment's rows whose context has a replay of every model."""
    return is_in(experiment.arrow["context_id"], replay.complete_contexts(models))


def incomplete_problem(experiment: Experiment, replay: Replay, models: Sequence[str], complete: Mask) -> Problem:
    """Name the first context without a full replay, and count the others; if most are in no row, say so."""
    rewritten = _rewritten_contexts(experiment.filter(~complete), replay)
    absent = None if rewritten else absent_problem(experiment, replay)
    if absent is not None:
        return absent
    row = int(np.flatnonzero(~complete)[0])
    missing = sorted(set(models) - replay.models_on(experiment.arrow["context_id"][row].as_py()))
    contexts = pc.count_distinct(experiment.arrow["context_id"].filter(pa.array(~complete))).as_py()
    rows = int((~complete).sum())
    context = describe_context(experiment.arrow, row)
    what = f"context {context} has no replay of {join_names(missing)} in {replay.source}"
    more = f" ({pluralize(contexts, 'incomplete context')} in {pluralize(rows, 'row')})" if rows > 1 else ""
    fix = (
        rewritten
        + "Replay the missing models, compare fewer models with --models, or drop such rows with --drop-incomplete."
    )
    return Problem(experiment.locate(row), what + more, fix)


def _rewritten_contexts(incomplete: Experiment, replay: Replay) -> str:
    """Say how many contexts without a full replay have one under a text, or an id, that is written differently."""
    column, count = _count_rewritten(incomplete, replay)
    return f"{_rewritten(column, count)}: pass --normalize-contexts if they are the same. " if count else ""


def _count_rewritten(table: Table, replay: Replay) -> tuple[str, int]:
    """How many contexts, or ids, of a table are not replayed as they are and are if written a little differently."""
    column = "context" if "context" in table.arrow.column_names else "context_id"
    if column not in replay.arrow.column_names:
        return column, 0
    replayed = replay.unique_values(column)
    folded = {fold_text(text) for text in replayed}
    return column, sum(fold_text(text) in folded for text in table.unique_values(column) - replayed)


def _rewritten(column: str, count: int) -> str:
    verb = "differs" if count == 1 else "differ"
    where = "surrounding spaces, line ends or Unicode normalization"
    return f"{pluralize(count, column)} {verb} from a replayed one only in {where}"


def rewritten_log_findings(log: Log, replay: Replay) -> list[Finding]:
    """Warn of contexts of the log that are not recognized as replayed: checks that compare the two would see none."""
    column, count = _count_rewritten(log, replay)
    if not count:
        return []
    message = f"{log.source}: {_rewritten(column, count)}, and count as other contexts."
    return [Finding("contexts", "warn", Notice(message, "Pass --normalize-contexts if they are the same."))]


def dropped_finding(experiment: Experiment, complete: Mask) -> Finding:
    """Count the experiment's rows that were dropped for lack of a full replay."""
    message = (
        f"{experiment.source}: {int((~complete).sum()):,} of {pluralize(len(experiment), 'row')} dropped, because a"
        " model was not replayed on the context; values apply to the remaining contexts."
    )
    return Finding(
        "incomplete replay", "warn", Notice(message, "Replay every model on every context of the experiment.")
    )


def unrated_log_findings(source: str, counts: LogCounts) -> list[Finding]:
    """Count the rows of the log that nobody rated, by model."""
    unrated = sum(counts.unrated.values())
    if not unrated:
        return []
    message = f"{source}: {unrated:,} of {pluralize(counts.rows + unrated, 'row')} have no outcome and are not used"
    return [Finding("log without outcomes", "pass", Notice(f"{message} ({describe_counts(counts.unrated)})."))]


def uncompared_model_findings(source: str, rows: Mapping[str, int], models: Sequence[str]) -> list[Finding]:
    """Report rows of models that help to train the reward and are not compared; warn of names written differently.

    ``rows`` are those of each model in one table.
    """
    variants = NameVariants(models)
    others = sorted(set(rows).difference(models))
    written = {name: variant for name in others if (variant := variants.find(name)) is not None}
    findings = [_variant_finding(source, rows, written)] if written else []
    unrelated = [name for name in others if name not in written]
    if unrelated:
        count = sum(rows[name] for name in unrelated)
        message = f"{source}: {pluralize(count, 'row')} of models that are not compared ({join_names(unrelated)})"
        findings.append(Finding("models", "pass", Notice(f"{message} are used only to train the reward.")))
    return findings


def _variant_finding(source: str, rows: Mapping[str, int], written: Mapping[str, Variant]) -> Finding:
    """Names that are probably those of compared models; rows are never merged by a guess."""
    listed = list(written.items())
    parts = []
    for name, variant in listed[:MAX_LISTED_NAMES]:
        verb = "is" if rows[name] == 1 else "are"
        parts.append(f"{pluralize(rows[name], 'row')} {verb} of {quote(name)}, which {variant.description}")
    more = f"; and {len(listed) - MAX_LISTED_NAMES:,} more names" if len(listed) > MAX_LISTED_NAMES else ""
    message = f"{source}: {'; '.join(parts)}{more}. They are not compared and only help to train the reward."
    options = [
        f"--rename-model {shell_argument(f'{name}={variant.name}')}" for name, variant in listed[:MAX_LISTED_NAMES]
    ]
    return Finding("models", "warn", Notice(message, f"If they are the same model: {' '.join(options)}."))
