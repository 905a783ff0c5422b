"""The sentences about A2, replay fidelity, and A4, output mechanism."""

from __future__ import annotations

from deconfound.diagnose import replay_fidelity as replay
from deconfound.diagnose.output_mechanism import TooFewReplayedLogContexts
from deconfound.findings import Finding
from deconfound.formatting import format_percent, join_names, join_noted_names, pluralize
from deconfound.report.wording import MORE_CONTEXTS, Wordings, format_p_value


def _too_few_cells(details: replay.TooFewCells, _finding: Finding) -> tuple[str, str]:
    return f"Fewer than {details.minimum} experiment rows can be compared with their replay.", MORE_CONTEXTS


def _output_difference(details: replay.OutputDifference, finding: Finding) -> tuple[str, str]:
    cells = f"{pluralize(details.cells, 'cell')} of context and model"
    test = f"AUC {details.auc:.2f}, {cells}, {format_p_value(finding)}"
    if finding.verdict == "pass":
        return f"No significant difference between replayed outputs and the {details.other_source}'s ({test}).", ""
    named = zip(details.models, details.model_aucs, strict=True)
    models = join_noted_names((model, f" (AUC {auc:.2f})") for model, auc in named)
    alone = f" Models that differ on their own: {models}." if models else ""
    copies = _copies_text(details)
    remove = "Remove copies first. " if details.repeated_rows else ""
    if details.repeated_draws and not details.repeated_rows:
        remove = "Remove equal draws first if they are copies. "
    observation = f"{copies}Replayed outputs differ from the {details.other_source}'s ({test}).{alone}"
    if details.other_source == "experiment":
        return (
            f"{observation} The values then describe what was replayed, not what the experiment ran.",
            f"{remove}Replay with the experiment's versions, settings and prompts, or repeat the experiment with "
            "today's.",
        )
    return (
        f"{observation} Logged outputs then depend on more than context and model (user memory, personal settings, "
        "another model version); that can confound output and outcome.",
        f"{remove}Put what the system knew into the context, or use only log rows of fresh sessions. If only the "
        "version differs, the reward can still be learned from the log.",
    )


def _copies_text(details: replay.OutputDifference) -> str:
    """Rows that equal another one, in the experiment and in the replay; empty where there are none."""
    text = ""
    if details.repeated_rows:
        text = (
            f"Copies, retries or cached outputs in the experiment: {pluralize(details.repeated_rows, 'row')} with the "
            "context, model and output of another row. One row per context and model was compared. "
        )
    if details.repeated_draws:
        text += (
            f"Equal draws in the replay: {pluralize(details.repeated_draws, 'row')} with the context, model and output "
            "of another row. If they are copies and no draws of their own, they are a likely cause. "
        )
    return text


def _outside_support(details: replay.OutsideSupport, finding: Finding) -> tuple[str, str]:
    unchecked = ""
    if details.unchecked_models:
        names = join_names(details.unchecked_models)
        unchecked = f" Not checked ({_too_few(details.minimum_rows)}): {names}."
    if finding.verdict == "pass":
        largest = format_percent(details.largest_share, 0)
        return f"At most {largest} of a model's replayed outputs are unlike all its experiment outputs.{unchecked}", ""
    shares = zip(details.models, details.shares, strict=True)
    models = join_noted_names((model, f" ({format_percent(share, 0)})") for model, share in shares)
    return (
        f"Replayed outputs unlike any experiment output of the same model: {models} ({format_p_value(finding)}). For "
        f"these the reward extrapolates, and the data cannot confirm it.{unchecked}",
        "Look for failed or truncated replays; assign these models more often in the experiment.",
    )


def _support_untested(details: replay.SupportUntested, _finding: Finding) -> tuple[str, str]:
    return f"No model's outputs can be compared with the experiment's: {_too_few(details.minimum_rows)}.", MORE_CONTEXTS


def _too_few(minimum: int) -> str:
    return f"fewer than {minimum} experiment rows, or propensities that differ by context"


def _replay_draws(details: replay.ReplayDraws, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        least = "" if details.least_draws == details.draws else f"{details.least_draws} to "
        return f"Every model was replayed on every context, {least}{pluralize(details.draws, 'draw')} each.", ""
    parts = []
    if details.incomplete_contexts:
        parts.append(f"{details.incomplete_contexts:,} of {details.contexts:,} replayed contexts lack a model")
    if details.short_cells:
        cells = f"{details.short_cells:,} of {details.cells:,} cells of context and model"
        parts.append(f"{cells} have fewer draws than most of the same model")
    return (
        f"{'; '.join(parts)}. If calls failed on some kinds of outputs, the others are not representative.",
        "Repeat the missing calls.",
    )


def _too_few_replayed_log_contexts(details: TooFewReplayedLogContexts, _finding: Finding) -> tuple[str, str]:
    return (
        f"{details.replayed_log_contexts:,} of the log's contexts were replayed; comparing its outputs with replay "
        f"needs at least {details.minimum_cells} cells of context and model.",
        "Replay a few dozen of the log's contexts with the models that the log used on them.",
    )


WORDINGS: Wordings = {
    replay.TooFewCells: _too_few_cells,
    replay.OutputDifference: _output_difference,
    replay.OutsideSupport: _outside_support,
    replay.SupportUntested: _support_untested,
    replay.ReplayDraws: _replay_draws,
    TooFewReplayedLogContexts: _too_few_replayed_log_contexts,
}
