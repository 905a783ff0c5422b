"""The sentences of every kind of finding: what was observed, what it means, and what to do.

``describe`` has one entry per type of details. It is the only place where a finding becomes prose.
"""

from __future__ import annotations

from functools import singledispatch

from deconfound.diagnose import context_shift as contexts
from deconfound.diagnose import outcome_consistency as outcomes
from deconfound.diagnose import randomization, sanity
from deconfound.diagnose import replay_fidelity as replay
from deconfound.diagnose.output_mechanism import TooFewReplayedLogContexts
from deconfound.findings import Finding, Notice
from deconfound.formatting import escape_control_characters, format_percent, join_names, pluralize

BIASED = "Unless this is chance, the models were given different kinds of contexts and the values are biased."
ROWS_LOST = "Unless this is chance, rows were lost or added after the assignment, and the values are biased."
MORE_ROWS, MORE_CONTEXTS = "Randomize more rows.", "Randomize more contexts."
ADD_TIME = "Add the time of each row (column `time`)."
CHECK_SCALE = "Check that 1 is the best outcome in both sources; invert the one where it is not."
CHECK_OUTCOME = "Check which column is the outcome (--map)."


@singledispatch
def describe(details: object, finding: Finding) -> tuple[str, str]:
    """Message and remedy of a finding with these details."""
    raise TypeError(f"{finding.check}: no wording for {type(details).__name__}")


def details_types() -> tuple[type, ...]:
    """Every type of details that a finding can have, for reading saved findings."""
    return tuple(each for each in describe.registry if each is not object)


def format_p_value(finding: Finding) -> str:
    """The raw p-value and, where it is small, the one adjusted for all tests of the study."""
    if finding.p_value is None:
        return ""
    if finding.adjusted_p_value is None or finding.p_value >= 0.1:
        return _p(finding.p_value)
    return f"{_p(finding.p_value)}, adjusted {_p(finding.adjusted_p_value)}"


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}" if value < 0.1 else f"p = {value:.2f}"


@describe.register
def _(details: Notice, _finding: Finding) -> tuple[str, str]:
    return details.message, details.remedy


# --- A1 ---


def _draws(draws: int, by_cluster: bool) -> str:
    return f"{pluralize(draws, 'row')}{', one per cluster' if by_cluster else ''}"


@describe.register
def _(details: randomization.TooFewDraws, _finding: Finding) -> tuple[str, str]:
    return f"Too few for this test: {_draws(details.draws, details.by_cluster)}.", MORE_ROWS


@describe.register
def _(details: randomization.TooFewExpectedRows, _finding: Finding) -> tuple[str, str]:
    return (
        f"Propensities vary between rows and {details.expected:.1f} rows of some model are expected; the test needs "
        f"{details.minimum:.0f}.",
        MORE_ROWS,
    )


@describe.register
def _(details: randomization.SampleRatio, finding: Finding) -> tuple[str, str]:
    total = sum(details.counts)
    test = f"chi-square {finding.statistic:.1f}, {format_p_value(finding)}"
    rows = _draws(total, details.by_cluster)
    if finding.verdict == "pass":
        return f"No significant deviation from the declared propensities ({rows}, {test}).", ""
    pairs = list(zip(details.counts, details.expected, strict=True))
    worst = max(range(len(pairs)), key=lambda k: abs(pairs[k][0] - pairs[k][1]) / max(pairs[k][1], 1e-12) ** 0.5)
    observed, declared = (format_percent(pairs[worst][side] / total, 1) for side in (0, 1))
    model = escape_control_characters(details.models[worst])
    return _wrong_ratio(f"{model} was assigned in {observed} of {rows}; {declared} were declared ({test})")


@describe.register
def _(details: randomization.WeightedSampleRatio, finding: Finding) -> tuple[str, str]:
    rows = _draws(details.draws, details.by_cluster)
    z = "" if finding.statistic is None else f"z = {finding.statistic:.1f}, "
    test = f"{rows}, {z}{format_p_value(finding)}"
    if finding.verdict == "pass":
        return f"No significant deviation from the declared propensities ({test}).", ""
    worst = max(range(len(details.ratios)), key=lambda k: abs(details.ratios[k] - 1.0))
    model = escape_control_characters(details.models[worst])
    return _wrong_ratio(f"{model} was assigned {details.ratios[worst]:.2f} times as often as declared ({test})")


def _wrong_ratio(observation: str) -> tuple[str, str]:
    return (
        f"{observation}. {ROWS_LOST}",
        "Look for errors, timeouts, filters and retries, and for wrong propensities; declare the true ones, or repeat "
        "the experiment.",
    )


@describe.register
def _(details: randomization.MissingTime, _finding: Finding) -> tuple[str, str]:
    return f"{details.source} has no time column, so a change of the assignment over time cannot be detected.", ADD_TIME


@describe.register
def _(details: randomization.AssignmentDrift, finding: Finding) -> tuple[str, str]:
    p = format_p_value(finding)
    if finding.verdict == "pass":
        return f"No significant change of the models' shares over time ({p}).", ""
    first, second = (format_percent(share, 1) for share in (details.first_half, details.second_half))
    model = escape_control_characters(details.model)
    return (
        f"The shares of the models changed over time: {model} from {first} in the first half to {second} in the second "
        f"({p}). Anything else that changed with time is then confounded with the model.",
        "Declare the propensities of each period, or use only a period in which they were constant.",
    )


@describe.register
def _(_details: randomization.AssignmentByContext, finding: Finding) -> tuple[str, str]:
    p = format_p_value(finding)
    if finding.verdict == "pass":
        return f"The context does not significantly predict the assigned model ({p}).", ""
    return (
        f"The context predicts the assigned model ({p}). {BIASED}",
        "Look for a rule or a user's choice before the assignment; declare its propensities, or remove those rows.",
    )


@describe.register
def _(_details: randomization.IdenticalContexts, _finding: Finding) -> tuple[str, str]:
    return "All contexts have the same features, so this cannot be tested.", "Check the context column."


# --- A2 and A4 ---


@describe.register
def _(details: replay.TooFewCells, _finding: Finding) -> tuple[str, str]:
    return f"Fewer than {details.minimum} experiment rows can be compared with their replay.", MORE_CONTEXTS


@describe.register
def _(details: replay.OutputDifference, finding: Finding) -> tuple[str, str]:
    cells = f"{pluralize(details.cells, 'cell')} of context and model"
    test = f"AUC {details.auc:.2f}, {cells}, {format_p_value(finding)}"
    if finding.verdict == "pass":
        return f"No significant difference between replayed outputs and the {details.other_source}'s ({test}).", ""
    named = zip(details.models, details.model_aucs, strict=True)
    models = join_names(f"{model} (AUC {auc:.2f})" for model, auc in named)
    alone = f" Models that differ on their own: {models}." if models else ""
    observation = f"Replayed outputs differ from the {details.other_source}'s ({test}).{alone}"
    if details.other_source == "experiment":
        return (
            f"{observation} The values then describe what was replayed, not what the experiment ran.",
            "Replay with the experiment's versions, settings and prompts, or repeat the experiment with today's.",
        )
    return (
        f"{observation} Logged outputs then depend on more than context and model (user memory, personal settings, "
        "another model version); that can confound output and outcome.",
        "Put what the system knew into the context, or use only log rows of fresh sessions. If only the version "
        "differs, the reward can still be learned from the log.",
    )


@describe.register
def _(details: replay.OutsideSupport, finding: Finding) -> tuple[str, str]:
    unchecked = ""
    if details.unchecked_models:
        names = join_names(details.unchecked_models)
        unchecked = f" Not checked (fewer than {details.minimum_rows} experiment rows): {names}."
    if finding.verdict == "pass":
        largest = format_percent(details.largest_share, 0)
        return f"At most {largest} of a model's replayed outputs are unlike all its experiment outputs.{unchecked}", ""
    shares = zip(details.models, details.shares, strict=True)
    models = join_names(f"{model} ({format_percent(share, 0)})" for model, share in shares)
    return (
        f"Replayed outputs unlike any experiment output of the same model: {models} ({format_p_value(finding)}). For "
        f"these the reward extrapolates, and the data cannot confirm it.{unchecked}",
        "Look for failed or truncated replays; assign these models more often in the experiment.",
    )


@describe.register
def _(details: replay.SupportUntested, _finding: Finding) -> tuple[str, str]:
    return f"No model has {details.minimum_rows} experiment rows to describe its outputs.", MORE_CONTEXTS


@describe.register
def _(details: replay.ReplayDraws, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        return f"Every model was replayed on every context, {pluralize(details.draws, 'draw')} each.", ""
    parts = []
    if details.incomplete_contexts:
        parts.append(f"{details.incomplete_contexts:,} of {details.contexts:,} replayed contexts lack a model")
    if details.short_cells:
        parts.append(f"{details.short_cells:,} of {details.cells:,} cells have fewer than {details.draws} draws")
    return (
        f"{'; '.join(parts)}. If calls failed on some kinds of outputs, the others are not representative.",
        "Repeat the missing calls.",
    )


@describe.register
def _(details: TooFewReplayedLogContexts, _finding: Finding) -> tuple[str, str]:
    return (
        f"{details.replayed_log_contexts:,} of the log's contexts were replayed; comparing its outputs with replay "
        f"needs at least {details.minimum_cells} cells of context and model.",
        "Replay a few dozen of the log's contexts with the models that the log used on them.",
    )


# --- A3 ---


def _scale(values: int, bounds: tuple[float, float], scale: tuple[float, ...]) -> str:
    if scale and len(scale) < 3:
        return " and ".join(f"{value:.3g}" for value in scale)
    return f"{values:,} values from {bounds[0]:.3g} to {bounds[1]:.3g}"


@describe.register
def _(details: outcomes.OutcomeValues, finding: Finding) -> tuple[str, str]:
    log = _scale(details.log_values, details.log_range, details.log_scale)
    experiment = _scale(details.experiment_values, details.experiment_range, details.experiment_scale)
    observed = f"log: {log}; experiment: {experiment}"
    if finding.verdict == "pass":
        return f"Log and experiment use compatible outcome values ({observed}).", ""
    return (
        f"Log and experiment use different outcome values ({observed}; {format_p_value(finding)}). A reward learned "
        "from one is wrong for the other.",
        "Convert both to one scale and coding before loading; --outcome-range applies to both.",
    )


@describe.register
def _(details: outcomes.OutcomeDirection, finding: Finding) -> tuple[str, str]:
    correlation = f"correlation {details.correlation:.2f} within models"
    if finding.verdict == "warn":
        return (
            f"Outputs that rate high in the log rate low in the experiment ({correlation}, {format_p_value(finding)}). "
            "One source may have an inverted scale; strong confounding can have the same effect.",
            CHECK_SCALE,
        )
    test = f"{correlation}, {_p(details.positive_p_value)}"
    if details.confirmed:
        return f"Outputs that rate high in the log also rate high in the experiment ({test}).", ""
    return (
        f"The log does not predict the experiment's outcomes ({test}), so an inverted scale could not be detected.",
        "Compare some rows of both sources by hand.",
    )


@describe.register
def _(details: outcomes.DirectionUntested, _finding: Finding) -> tuple[str, str]:
    return (
        f"The direction of the outcomes cannot be compared: this needs surface statistics and {details.minimum} "
        f"experiment rows, of {details.rows:,}.",
        "Use surface statistics, and randomize more rows.",
    )


@describe.register
def _(details: outcomes.MatchingOutputs, finding: Finding) -> tuple[str, str]:
    rows = f"{pluralize(details.rows, 'row')} with the same {details.matched_on}"
    test = f"correlation {details.correlation:.2f} within models, {format_p_value(finding)}"
    if finding.verdict == "pass":
        return f"No significant contradiction between log and experiment on {rows} ({test}).", ""
    return (
        f"Log and experiment contradict each other on {rows} ({test}). One source may have an inverted scale.",
        CHECK_SCALE,
    )


@describe.register
def _(details: outcomes.MatchingLevel, finding: Finding) -> tuple[str, str]:
    rows = f"{pluralize(details.rows, 'row')} with the same {details.matched_on}"
    test = f"mean difference {details.difference:+.3f}, {format_p_value(finding)}"
    if finding.verdict == "pass":
        return f"No significant difference in mean outcome between experiment and log on {rows} ({test}).", ""
    return (
        f"Experiment and log differ in their mean outcome on {rows} ({test}). Confounding causes this and is corrected;"
        " a different question or rating scale would not be, and the data cannot distinguish them.",
        "Make sure that both sources asked the same question on the same scale.",
    )


@describe.register
def _(details: outcomes.TooFewMatches, _finding: Finding) -> tuple[str, str]:
    return (
        f"{pluralize(details.rows, 'experiment row')} share context and output, or context and model, with the log; "
        f"{details.minimum} are needed.",
        "Include some contexts in both sources, to see whether the same output gets the same outcome.",
    )


@describe.register
def _(details: outcomes.OutcomeDrift, finding: Finding) -> tuple[str, str]:
    p = format_p_value(finding)
    if finding.verdict == "pass":
        return f"No significant change of a model's outcomes over time ({p}).", ""
    return (
        f"Outcomes of the same model changed over time ({details.mean_shift:+.3f} from the first half to the second, "
        f"{p}). Values then average over a changing period.",
        "Find out what changed (users, rubric, judge, model version), and use only the rows that still apply.",
    )


@describe.register
def _(details: outcomes.DriftUntested, _finding: Finding) -> tuple[str, str]:
    if details.has_time:
        return f"{details.source} has too few rows, clusters or distinct times to detect a drift.", "Collect more rows."
    return f"{details.source} has no time column, so a change of the outcomes over time cannot be detected.", ADD_TIME


# --- A5 ---

OTHER_CONTEXTS = {"log": "the log's", "replay": "the other replayed contexts", "target": "the target's"}
SHIFT_CONSEQUENCE = {
    "log": (
        "Values remain valid for the experiment's contexts; the log is less informative about them and its raw "
        "averages describe another population.",
        "Nothing to do for the values. If the log's contexts are the ones that matter, give them as --target.",
    ),
    "replay": (
        "Values are averaged over the experiment's contexts only.",
        "To use all replayed contexts, draw both from one list at random.",
    ),
    "target": (
        "Values without weights describe other contexts than the target's.",
        "Use the values weighted to the target, and consider their effective number of rows.",
    ),
}


@describe.register
def _(details: contexts.ContextDifference, finding: Finding) -> tuple[str, str]:
    others = OTHER_CONTEXTS[details.other_source]
    test = f"AUC {details.auc:.2f}, {pluralize(details.contexts, 'context')}, {format_p_value(finding)}"
    consequence, remedy = SHIFT_CONSEQUENCE[details.other_source]
    if finding.verdict == "warn":
        return f"The experiment's contexts differ from {others} ({test}). {consequence}", remedy
    message = f"No significant difference between the experiment's contexts and {others} ({test})."
    if details.other_source == "replay" and not details.same_population:
        return f"{message} Because the raw p-value is small, values still use the experiment's contexts only.", ""
    return message, ""


@describe.register
def _(details: contexts.SameContexts, _finding: Finding) -> tuple[str, str]:
    others = OTHER_CONTEXTS[details.other_source]
    return f"The experiment's contexts and {others} are the same.", ""


@describe.register
def _(details: contexts.TooFewContexts, _finding: Finding) -> tuple[str, str]:
    others = OTHER_CONTEXTS[details.other_source]
    return (
        f"Fewer than {details.minimum} of the experiment's contexts, or of {others}, can be compared (one per "
        "cluster).",
        "Use more contexts or clusters.",
    )


@describe.register
def _(details: contexts.UndescribedContexts, _finding: Finding) -> tuple[str, str]:
    others = OTHER_CONTEXTS[details.other_source]
    return (
        f"No feature_* column depends on the context alone, so the experiment's contexts and {others} cannot be "
        "compared.",
        "Add feature_* columns that describe the context, or the text of the contexts.",
    )


@describe.register
def _(details: contexts.TargetOverlap, finding: Finding) -> tuple[str, str]:
    rows = f"{details.effective_rows:.0f} effective rows of {pluralize(details.rows, 'experiment row')}"
    outside = f"{format_percent(details.share_outside_support, 0)} of the target's contexts are unlike the experiment's"
    if finding.verdict == "fail":
        return (
            f"Too little overlap with the target: {rows}; {outside}. Reweighting cannot fix this.",
            "Randomize on contexts of the target.",
        )
    message = f"Weighted to the target: {rows}; {outside}."
    if finding.verdict == "pass":
        return message, ""
    return (
        f"{message} Intervals are wider, and values for such contexts are extrapolated.",
        "Randomize more contexts like the target's.",
    )


# --- sanity ---


@describe.register
def _(details: sanity.ConstantOutcomes, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        return "Outcomes vary in both sources and for every model.", ""
    source = join_names(details.sources)
    if details.models:
        return (
            f"{source}: all outcomes of {join_names(details.models)} are equal, so the standard error is not credible.",
            "Do not rely on the intervals of these models; collect more rows for them.",
        )
    if details.in_experiment:
        return f"All outcomes in {source} are equal, so the models cannot be compared.", CHECK_OUTCOME
    return f"All outcomes in {source} are equal, so the log is not informative.", CHECK_OUTCOME


@describe.register
def _(details: sanity.DuplicateRows, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        return f"No row of {details.source} occurs twice.", ""
    coincidence = "" if details.certain else " On this discrete scale some of it may be coincidence."
    rows = f"{pluralize(details.rows, 'row')} ({format_percent(details.share, 1)})"
    return (
        f"{details.source}: {rows} equal an earlier row and count twice.{coincidence}",
        "Remove the duplicates, or mark rows that belong together in `cluster`.",
    )


@describe.register
def _(details: sanity.DuplicateContexts, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        return "Every text of the experiment has one context_id.", ""
    texts = f"{pluralize(details.texts, 'text')} ({pluralize(details.rows, 'row')})"
    return (
        f"{details.source}: {texts} under several context_ids. Cross-fitting then trains on contexts that it predicts, "
        "and standard errors are too small.",
        "Give each text one context_id, or omit the column: contexts are then identified by their text.",
    )


@describe.register
def _(_details: sanity.NoText, _finding: Finding) -> tuple[str, str]:
    return "Without texts, contexts with several ids cannot be detected.", ""


@describe.register
def _(details: sanity.SharedRows, finding: Finding) -> tuple[str, str]:
    if not details.share:
        return "No experiment row is in the log.", ""
    if finding.verdict == "pass":
        share = format_percent(details.share, 0)
        return f"{share} of the experiment's rows are in the log, which may be coincidence on this discrete scale.", ""
    return (
        f"{format_percent(details.share, 1)} of the experiment's rows are also in the log: the reward was trained on "
        "their outcomes, and they count twice.",
        "Remove the randomized rows from the log.",
    )


@describe.register
def _(details: sanity.LabelLeakage, finding: Finding) -> tuple[str, str]:
    if not details.labels:
        return "There are no labels.", ""
    if finding.verdict == "pass":
        return f"No label is the outcome itself (largest correlation {details.largest_correlation:.2f}).", ""
    return (
        f"{join_names(details.leaking)}: the outcome under another name (correlation "
        f"{details.largest_correlation:.3f}). The proxies then repeat the log's confounding.",
        "Remove these columns.",
    )
