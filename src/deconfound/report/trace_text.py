"""Traces in words: what was recognized, what it can feed, what became of every call, and the command to run next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from deconfound.escaping import escape_line, escape_name
from deconfound.formatting import join_names, join_noted_names, pluralize, quote, shell_argument, wrap
from deconfound.traces.feedback_key import FeedbackKey
from deconfound.traces.inventory import Inventory
from deconfound.traces.reader import Remarks
from deconfound.traces.router_weights import RouterDraw
from deconfound.traces.study_tables import StudyTables

BLANK_LINE = "\n\n"
MAX_LISTED = 8  # attributes and remarks
ROUTER_NOTE = "a randomized experiment, if the router drew them at random with fixed weights"


def inventory_text(inventory: Inventory, remarks: Remarks, paths: Sequence[str]) -> str:
    """What `deconfound doctor` prints."""
    parts = [_content_lines(inventory), _feed_lines(inventory), _remark_lines(remarks)]
    blocks = ["\n".join(map(escape_line, lines)) for lines in parts if lines]
    # The command stays on one line, so that it can be copied.
    return f"{wrap(BLANK_LINE.join(blocks))}{BLANK_LINE}Next: {escape_line(_next_command(inventory, paths))}\n"


def _content_lines(inventory: Inventory) -> list[str]:
    formats = [
        f"{name} ({pluralize(inventory.files[name], 'file')}, {pluralize(inventory.calls.get(name, 0), 'call')})"
        for name in inventory.files
    ]
    lines = [f"Recognized: {', '.join(formats)}."]
    if inventory.units or inventory.left_out:
        left_out = f"; left out: {_counts(inventory.left_out)}" if inventory.left_out else ""
        lines.append(f"{pluralize(inventory.units, 'answer')} to users (the last call of each turn){left_out}.")
    if inventory.models:
        lines.append(f"Models: {_counts(inventory.models)}.")
    for model, names in inventory.renamed.items():
        lines.append(f"{escape_name(model)} was asked for as {join_names(names)}.")
    if inventory.users or inventory.conversations:
        people = f"{pluralize(inventory.users, 'user')}, {pluralize(inventory.conversations, 'conversation')}"
        lines.append(f"Clusters: {people}.")
    if inventory.scores:
        scores = join_noted_names((each.name, f" ({each.author}, {each.count:,})") for each in inventory.scores)
        lines.append(f"Scores: {scores}.")
    for name, key in inventory.feedback.items():
        rows = f"{key.matched:,} of {pluralize(key.rows, 'row')} have the id of a {key.target}"
        lines.append(f"Feedback: {name}, where {rows} in column {quote(key.column)}.")
    for source, draws in inventory.configs.items():
        lines += [_draw_line(draw) for draw in draws]
        if not draws:
            lines.append(f"{source}: no call asked for a name that stands for several models in it.")
    return lines


def _feed_lines(inventory: Inventory) -> list[str]:
    return ["Tables of a study:", _log_line(inventory), _experiment_line(inventory), _replay_line(inventory)]


def _log_line(inventory: Inventory) -> str:
    if not inventory.units:
        return "  - log: no, there are no calls by users. Add the traces of ordinary use."
    if not (inventory.has_human_scores or inventory.feedback):
        return "  - log: yes, but no person's score is in it. Add feedback with --outcomes FILE, or choose a score."
    return f"  - log: yes, {pluralize(inventory.units, 'answer')}."


def _experiment_line(inventory: Inventory) -> str:
    if inventory.recorded_propensities:
        name, count = next(iter(inventory.recorded_propensities.items()))
        drawn = "with which its model was drawn"
        return (
            f"  - experiment: yes, if {escape_name(name)} of {pluralize(count, 'answer')} is the probability {drawn}."
        )
    draw = _only_draw(inventory)
    if draw is not None:
        return f"  - experiment: yes, calls of {escape_name(draw.group)}, which {draw.source} draws."
    if inventory.groups:
        name, models = next(iter(inventory.groups.items()))
        return f"  - experiment: perhaps. The group {escape_name(name)} has {_counts(models)}: {ROUTER_NOTE}."
    if inventory.attributes:
        names = join_names(list(inventory.attributes)[:MAX_LISTED])
        return (
            "  - experiment: not by itself. If an attribute marks randomized calls, name it with --experiment-where "
            f"NAME=VALUE ({names}); or add --exposures FILE."
        )
    return (
        "  - experiment: no. Randomize some calls, record their propensity, or add the assignment table of your "
        "experimentation platform with --exposures FILE."
    )


def _replay_line(inventory: Inventory) -> str:
    if inventory.can_be_replay:
        return f"  - replay: yes, {_counts(inventory.replayed_models)}."
    if inventory.replayed_models:
        return f"  - replay: only one model ({_counts(inventory.replayed_models)}); replay every candidate."
    return "  - replay: no. Run every candidate on the contexts of the experiment, for instance by batch files."


def _only_draw(inventory: Inventory) -> RouterDraw | None:
    draws = [draw for found in inventory.configs.values() for draw in found]
    return draws[0] if len(draws) == 1 else None


def _next_command(inventory: Inventory, paths: Sequence[str]) -> str:
    traces = [path for path in paths if path not in inventory.feedback]
    words = ["deconfound convert", *map(shell_argument, traces)]
    if inventory.feedback:
        words.append(f"--outcomes {shell_argument(next(iter(inventory.feedback)))}")
    elif inventory.units and not inventory.has_human_scores:
        words.append("--outcomes FILE")
    draws = [draw for found in inventory.configs.values() for draw in found]
    if inventory.recorded_propensities:
        words.append(f"--propensity-attribute {shell_argument(next(iter(inventory.recorded_propensities)))}")
    elif draws:
        words.append(f"--propensity-from {shell_argument(draws[0].source)}")
        words += ["--experiment-where NAME=VALUE"] if len(draws) > 1 else []
    elif inventory.groups:
        models = next(iter(inventory.groups.values()))
        words.append(f"--propensity {shell_argument(','.join(f'{name}=SHARE' for name in sorted(models)))}")
    elif inventory.units:
        words.append("--experiment-where NAME=VALUE" if inventory.attributes else "--exposures FILE")
    return " ".join([*words, "-o study"])


def conversion_text(tables: StudyTables, remarks: Remarks, joined_by: FeedbackKey | None = None) -> str:
    """What `deconfound convert` prints: every call accounted for, and how a feedback table was joined."""
    lines = []
    for name in ("log", "experiment", "replay"):
        table = getattr(tables, name)
        lines.append(f"{name}: {'no rows' if table is None else _table_line(table)}.")
    if tables.outcome is not None:
        author = tables.joined.authors[tables.outcome]
        lines.append(f"The outcome is the score {escape_name(tables.outcome)} (by {author}).")
    if joined_by is not None:
        rows = f"{joined_by.matched:,} of {pluralize(joined_by.rows, 'row')} have the id of a {joined_by.target}"
        lines.append(f"The scores of --outcomes are joined by {escape_name(joined_by.column)}: {rows}.")
    for name, shared in tables.joined.shared.items():
        kind = tables.joined.authors[name]
        lines.append(f"The scores {escape_name(shared)} by {kind} are a score of their own, {escape_name(name)}.")
    if tables.experiment_rows.draw is not None:
        lines.append(_draw_line(tables.experiment_rows.draw))
    lines += _left_out_lines(tables)
    blocks = ["\n".join(map(escape_line, lines)), "\n".join(map(escape_line, _remark_lines(remarks)))]
    return wrap("\n\n".join(block for block in blocks if block)) + "\n"


def _table_line(table: pa.Table) -> str:
    models = dict(sorted((row["values"], row["counts"]) for row in table["model"].value_counts().to_pylist()))
    rated = table.num_rows - table["outcome"].null_count if "outcome" in table.column_names else None
    outcomes = "" if rated is None else f", {rated:,} with an outcome"
    return f"{pluralize(table.num_rows, 'row')}{outcomes} ({_counts(models)})"


def _draw_line(draw: RouterDraw) -> str:
    shares = join_noted_names((name, f" {share:.4g}") for name, share in draw.shares.items())
    return f"Propensities of {escape_name(draw.group)} in {draw.source} ({draw.basis}): {shares}."


def _left_out_lines(tables: StudyTables) -> list[str]:
    lines = []
    if tables.units.left_out:
        lines.append(f"Calls that are no rows: {_counts(tables.units.left_out)}.")
    if tables.experiment_rows.reasons:
        lines.append(f"Randomized calls that are not used: {_counts(tables.experiment_rows.reasons)}.")
    if tables.experiment_rows.switched_units:
        units = f"Units that saw two variants: {tables.experiment_rows.switched_units:,}"
        lines.append(f"{units}. From their first exposure on they are in no table.")
    joined = tables.joined
    if joined.unmatched or joined.not_units:
        lines.append(
            f"Scores without a row: {joined.unmatched:,} of ids that are in no trace, {joined.not_units:,} of calls "
            "that are no rows."
        )
    for name, count in joined.averaged.items():
        units = f"{pluralize(count, 'answer')} got {escape_name(name)} from several authors"
        lines.append(f"{units}, whose scores are averaged.")
    if joined.ambiguous:
        lines.append(
            f"{pluralize(joined.ambiguous, 'score')} without a row: calls of several traces have their id. Add a "
            "column trace_id."
        )
    if joined.words:
        lines.append(f"Scores that are no numbers: {_counts(joined.words)}. Say what they mean: --outcome-values.")
    if joined.faults:
        labels = join_noted_names(
            (name, f" ({problem.where}: {problem.what})") for name, problem in joined.faults.items()
        )
        lines.append(f"Labels that are left out: {labels}.")
    if tables.replay_left_out:
        lines.append(f"{pluralize(tables.replay_left_out, 'replayed call')} without a usable output.")
    return lines


def next_evaluation(tables: StudyTables, folder: str) -> str:
    """The command that evaluates the tables, or what is missing for it."""
    missing = [name for name in ("log", "experiment", "replay") if getattr(tables, name) is None]
    if missing:
        return f"Missing for an evaluation: {join_names(missing)}. See `deconfound convert --help`."
    options = " ".join(f"--{n} {shell_argument(f'{folder}/{n}.parquet')}" for n in ("log", "experiment", "replay"))
    return f"Next: deconfound check {options}{_range_option(tables)}"


def _range_option(tables: StudyTables) -> str:
    values = [t["outcome"].drop_null().to_numpy() for t in (tables.log, tables.experiment) if t is not None]
    pooled = np.concatenate([*values, np.zeros(0)])
    outside = len(pooled) and (pooled.min() < 0.0 or pooled.max() > 1.0)
    return f" --outcome-range {min(pooled.min(), 0.0):g} {pooled.max():g}" if outside else ""


def _remark_lines(remarks: Remarks) -> list[str]:
    counts = remarks.counts
    listed = [f"  - {what}: {counts[what]:,}, first in {remarks.first[what]}" for what in list(counts)[:MAX_LISTED]]
    rest = [f"  - {len(counts) - MAX_LISTED} other kinds of remarks"] if len(counts) > MAX_LISTED else []
    return ["Remarks", *listed, *rest] if listed else []


def _counts(counts: Mapping[str, int]) -> str:
    return join_noted_names((name, f" {count:,}") for name, count in counts.items())
