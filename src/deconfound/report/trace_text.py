"""Traces in words: what was recognized, what it can feed, what became of every call, and the command to run next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from deconfound.escaping import escape_line, escape_name
from deconfound.formatting import join_names, join_noted_names, pluralize, quote, shell_argument, wrap
from deconfound.loading.outcome_ends import less_is_better, likely_ends
from deconfound.traces.feedback_table import Feedback
from deconfound.traces.inventory import Inventory
from deconfound.traces.reader import Remarks
from deconfound.traces.router_weights import RouterDraw
from deconfound.traces.study_tables import StudyTables

BLANK_LINE = "\n\n"
MAX_LISTED = 8  # attributes in a sentence, and remarks
MAX_ATTRIBUTES = 15  # one per line
SOURCES = {
    "log": "The log is what calls outside of the experiment become: add traces of ordinary use.",
    "experiment": "For the experiment, say which calls were randomized: see `deconfound convert --help`.",
    "replay": "`deconfound replay` asks the models for the replay; finished batch files can be converted too.",
}
"""Where a table that could not be made comes from."""
ROUTER_NOTE = "a randomized experiment, if the router drew them at random with fixed weights"


def inventory_text(inventory: Inventory, paths: Sequence[str]) -> str:
    """What `deconfound doctor` prints."""
    parts = [
        _content_lines(inventory),
        _attribute_lines(inventory),
        _feed_lines(inventory),
        _remark_lines(inventory.remarks),
    ]
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
    for name, match in inventory.exposures.items():
        units = f"{match.matched:,} of {pluralize(match.units, 'unit')} are users or conversations of these calls"
        lines.append(f"Exposures: {name}, where {units}; variants: {join_names(match.variants)}.")
    for name, reason in inventory.unusable_tables.items():
        lines.append(f"Not used: {name}. {reason}")
    for source, draws in inventory.configs.items():
        lines += [_draw_line(draw) for draw in draws]
        if not draws:
            lines.append(f"{source}: no call asked for a name that stands for several models in it.")
    return lines


def _attribute_lines(inventory: Inventory) -> list[str]:
    """Attributes and tags of calls, those first that divide them into a few parts."""
    counts, values = inventory.attribute_counts, inventory.attributes
    names = [*values, *(name for name in counts if name not in values)]
    lines = []
    for name in names[:MAX_ATTRIBUTES]:
        listed = f": {join_names(values[name])}" if name in values else ""
        lines.append(f"  - {escape_name(name)}, in {pluralize(counts[name], 'answer')}{listed}")
    if len(names) > MAX_ATTRIBUTES:
        lines.append(f"  - {len(names) - MAX_ATTRIBUTES:,} more, which --json lists")
    return ["Attributes and tags:", *lines] if lines else []


def _feed_lines(inventory: Inventory) -> list[str]:
    return ["Tables of a study:", _log_line(inventory), _experiment_line(inventory), _replay_line(inventory)]


def _log_line(inventory: Inventory) -> str:
    if not inventory.units:
        return "  - log: no, there are no calls by users. Add the traces of ordinary use."
    if not (inventory.has_human_scores or inventory.feedback):
        return "  - log: yes, but no person's score is in it. Add feedback with --outcomes FILE, or choose a score."
    choice = " Say which score is the outcome with --outcome NAME." if inventory.asks_for_outcome else ""
    return f"  - log: yes, {pluralize(inventory.units, 'answer')}.{choice}"


def _experiment_line(inventory: Inventory) -> str:
    if inventory.recorded_propensities:
        name, count = next(iter(inventory.recorded_propensities.items()))
        drawn = "with which its model was drawn"
        return (
            f"  - experiment: yes, if {escape_name(name)} of {pluralize(count, 'answer')} is the probability {drawn}."
        )
    if inventory.exposures:
        name, match = next(iter(inventory.exposures.items()))
        return f"  - experiment: yes, calls of {pluralize(match.matched, 'unit')} since their exposure in {name}."
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
    tables = {*inventory.feedback, *inventory.exposures, *inventory.unusable_tables}
    traces = [path for path in paths if str(Path(path)) not in tables]
    words = ["deconfound convert", *map(shell_argument, traces)]
    if inventory.feedback:
        words.append(f"--outcomes {shell_argument(next(iter(inventory.feedback)))}")
    elif inventory.units and not inventory.has_human_scores:
        words.append("--outcomes FILE")
    if inventory.asks_for_outcome and (inventory.feedback or inventory.has_human_scores):
        words.append("--outcome NAME")
    draws = [draw for found in inventory.configs.values() for draw in found]
    if inventory.recorded_propensities:
        words.append(f"--propensity-attribute {shell_argument(next(iter(inventory.recorded_propensities)))}")
    elif inventory.exposures:
        words += _exposure_options(inventory)
    elif draws:
        words.append(f"--propensity-from {shell_argument(draws[0].source)}")
        words += ["--experiment-where NAME=VALUE"] if len(draws) > 1 else []
    elif inventory.groups:
        models = next(iter(inventory.groups.values()))
        words.append(f"--propensity {shell_argument(','.join(f'{name}=SHARE' for name in sorted(models)))}")
    elif inventory.units:
        words.append("--experiment-where NAME=VALUE" if inventory.attributes else "--exposures FILE")
    return " ".join([*words, "-o study"])


def _exposure_options(inventory: Inventory) -> list[str]:
    """--exposures, and --variant for each variant that is no model."""
    name, match = next(iter(inventory.exposures.items()))
    unknown = [variant for variant in match.variants if variant not in inventory.models]
    return [
        f"--exposures {shell_argument(name)}",
        *(f"--variant {shell_argument(f'{variant}=MODEL')}" for variant in unknown),
    ]


def conversion_text(tables: StudyTables, remarks: Remarks, feedback: Feedback | None = None) -> str:
    """What `deconfound convert` prints: every call accounted for, and how a feedback table was read."""
    lines = []
    for name in ("log", "experiment", "replay"):
        table = getattr(tables, name)
        rows = "no rows" if table is None else _table_line(table, list(tables.outcomes.values()))
        lines.append(f"{name}: {rows}.")
    for name, column in tables.outcomes.items():
        place = "The outcome" if len(tables.outcomes) == 1 else f"The outcome in column {escape_name(column)}"
        lines.append(f"{place} is the score {escape_name(name)} (by {tables.joined.authors[name]}).")
    lines += [] if feedback is None else _feedback_lines(feedback)
    for name, shared in tables.joined.shared.items():
        kind = tables.joined.authors[name]
        lines.append(f"The scores {escape_name(shared)} by {kind} are a score of their own, {escape_name(name)}.")
    if tables.experiment_rows.draw is not None:
        lines.append(_draw_line(tables.experiment_rows.draw))
    lines += _left_out_lines(tables)
    blocks = ["\n".join(map(escape_line, lines)), "\n".join(map(escape_line, _remark_lines(remarks)))]
    return wrap("\n\n".join(block for block in blocks if block)) + "\n"


def _feedback_lines(feedback: Feedback) -> list[str]:
    key, unused = feedback.key, feedback.unused
    rows = f"{key.matched:,} of {pluralize(key.rows, 'row')} have the id of a {key.target}"
    lines = [f"The scores of --outcomes are joined by {escape_name(key.column)}: {rows}."]
    if unused:
        lines.append(f"Columns of the feedback that are not used: {join_names(unused)}. One can be --outcome COLUMN.")
    return lines


def _table_line(table: pa.Table, outcomes: Sequence[str]) -> str:
    models = dict(sorted((row["values"], row["counts"]) for row in table["model"].value_counts().to_pylist()))
    present = [name for name in outcomes or ["outcome"] if name in table.column_names]
    rated = [
        f", {table.num_rows - table[name].null_count:,} with {'an outcome' if name == 'outcome' else escape_name(name)}"
        for name in present
    ]
    return f"{pluralize(table.num_rows, 'row')}{''.join(rated)} ({_counts(models)})"


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
    case = f" ({joined.other_case:,} differ from one only in case)" if joined.other_case else ""
    if joined.unmatched or joined.not_units:
        lines.append(
            f"Scores without a row: {joined.unmatched:,} of ids that are in no trace{case}, {joined.not_units:,} of "
            "calls that are no rows."
        )
    for name, count in joined.by_order.items():
        lines.append(
            f"{pluralize(count, 'answer')} got different scores {escape_name(name)} by one author, and no time says "
            "which is the last: the last one in the files counts."
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
        sources = " ".join(SOURCES[name] for name in missing)
        return f"Missing for an evaluation: {join_names(missing)}. {sources}"
    options = " ".join(f"--{n} {shell_argument(f'{folder}/{n}.parquet')}" for n in ("log", "experiment", "replay"))
    name, column = next(iter(tables.outcomes.items()), ("", "outcome"))
    chosen = f" --outcome {shell_argument(column)}" if len(tables.outcomes) > 1 else ""
    return f"Next: deconfound check {options}{chosen}{_range_option(tables, name, column)}"


def _range_option(tables: StudyTables, name: str, column: str) -> str:
    values = [t[column].drop_null().to_numpy() for t in (tables.log, tables.experiment) if t is not None]
    pooled = np.concatenate([*values, np.zeros(0)])
    if not len(pooled) or (pooled.min() >= 0.0 and pooled.max() <= 1.0):
        return ""
    ends = likely_ends(float(pooled.min()), float(pooled.max()))
    worst, best = reversed(ends) if less_is_better(name) else ends
    return f" --outcome-range {worst:g} {best:g}"


def _remark_lines(remarks: Remarks) -> list[str]:
    counts = remarks.counts
    listed = [f"  - {what}: {counts[what]:,}, first in {remarks.first[what]}" for what in list(counts)[:MAX_LISTED]]
    rest = [f"  - {len(counts) - MAX_LISTED} other kinds of remarks"] if len(counts) > MAX_LISTED else []
    return ["Remarks", *listed, *rest] if listed else []


def _counts(counts: Mapping[str, int]) -> str:
    return join_noted_names((name, f" {count:,}") for name, count in counts.items())
