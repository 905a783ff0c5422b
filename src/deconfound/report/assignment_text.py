"""A drawn assignment in words: who gets what, what to do next, and how the analysis reads it back."""

from __future__ import annotations

from typing import Any

from deconfound.assignment import AssignmentManifest
from deconfound.assignment.assigned_table import AssignedTable
from deconfound.escaping import escape_name
from deconfound.formatting import format_percent, join_names, pluralize, quote, text_table, wrap

GATEWAY_STEPS = {
    "litellm": "merge the file into LiteLLM's config.yaml, and call the model {group}",
    "tensorzero": "merge the file into tensorzero.toml, and call the function {group}",
    "growthbook": "give the features in the file to your GrowthBook SDK, use the value of {group} as the model, and "
    "record exposures with the key of the variation",
}


def assignment_text(manifest: AssignmentManifest, table: AssignedTable | None = None, planned_rows: int = 0) -> str:
    """What `deconfound assign` prints."""
    notes = [] if table is None else _notes(manifest, table, planned_rows)
    blocks = [_headline(manifest), _models(manifest, table), "\n".join(notes)]
    return wrap("\n\n".join(block for block in blocks if block)) + "\n"


def assignment_document(manifest: AssignmentManifest, table: AssignedTable | None = None) -> dict[str, Any]:
    """The same for programs: the manifest, and the counts of a drawn table."""
    if table is None:
        return {"manifest": manifest.to_document(), "drawn": None}
    drawn = {
        "rows": table.arrow.num_rows,
        "units": table.units,
        "left_out": table.left_out,
        "rows_by_model": {name: table.rows_by_model.get(name, 0) for name in manifest.rule.models},
    }
    return {"manifest": manifest.to_document(), "drawn": drawn}


def next_steps(manifest: AssignmentManifest, place: str, table: AssignedTable | None = None) -> str:
    """What to do with the files; ``place`` is the manifest as an argument of a shell."""
    if table is not None and not table.arrow.num_rows:
        return f"No row takes part: nothing can be asked. Give more {_units(manifest)}, or a larger --share."
    check = f"deconfound check --log LOG --experiment EXPERIMENT --replay REPLAY --assignment {place}"
    if table is not None:
        return f"Next: let each row's model answer, and add the columns output and outcome. Then: {check}"
    if manifest.is_reproducible:
        unit = manifest.unit if manifest.unit.isidentifier() else "unit_id"
        return f"Next: in your service, deconfound.AssignmentManifest.load(PATH).assign({unit}). Then: {check}"
    step = GATEWAY_STEPS[manifest.drawn_by].format(group=quote(manifest.group))
    exposures = " --exposures FILE" if manifest.drawn_by == "growthbook" else ""
    return f"Next: {step}. Then: deconfound convert TRACES{exposures} --assignment {place} -o study"


def _units(manifest: AssignmentManifest) -> str:
    return "contexts" if manifest.draws_contexts else f"units (values of {escape_name(manifest.unit)})"


def _headline(manifest: AssignmentManifest) -> str:
    rule = manifest.rule
    name, count = f"Experiment {escape_name(rule.experiment)}", f"one of {len(rule.models)} models"
    share = "" if rule.share >= 1.0 else f" {format_percent(rule.share)} of all take part."
    unit = "context" if manifest.draws_contexts else escape_name(manifest.unit)
    if not manifest.is_reproducible:
        return f"{name}: {manifest.drawn_by} draws {count} for each {unit}.{share}"
    hashed = "text" if manifest.unit == "context" else "id"
    return f"{name}: each {unit} gets {count}, drawn by the hash of its {hashed}.{share}"


def _models(manifest: AssignmentManifest, table: AssignedTable | None) -> str:
    counts = {} if table is None else table.rows_by_model
    headings = ("", "model", "propensity", *(() if table is None else ("rows", "share")))
    rows = []
    for model, propensity in manifest.rule.propensities.items():
        drawn: tuple[str, ...] = ()
        if table is not None:
            share = counts.get(model, 0) / max(table.arrow.num_rows, 1)
            drawn = (f"{counts.get(model, 0):,}", format_percent(share, 1))
        rows.append(("", escape_name(model), f"{propensity:.4g}", *drawn))
    return text_table([headings, *rows], left=(1,))


def _notes(manifest: AssignmentManifest, table: AssignedTable, planned_rows: int) -> list[str]:
    rows = table.arrow.num_rows
    of = f"different values of {escape_name(manifest.unit)}"
    units = pluralize(table.units, "context") if manifest.draws_contexts else f"{table.units:,} {of}"
    notes = [f"{pluralize(rows, 'row')}, {units}."]
    if table.left_out:
        notes.append(f"{pluralize(table.left_out, 'row')} outside the experiment's share: not in the file.")
    if not manifest.draws_contexts:
        name = escape_name(manifest.unit)
        notes.append(f"Rows of one {name} have one model; the {name} is the cluster of the evaluation.")
    elif table.units < rows:
        notes.append("Rows with the same context have the same model; another name of the experiment draws again.")
    missing = [model for model in manifest.rule.models if model not in table.rows_by_model]
    if missing and rows:
        notes.append(f"By chance, no row has {join_names(missing)}. Give more {_units(manifest)}.")
    if planned_rows > rows:
        notes.append(f"The plan asks for {planned_rows:,} randomized rows; these are {rows:,}.")
    return notes
