"""The tables of the stress benchmark, one per kind of measure, in Markdown; each target has a mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.stress_measures import LEVEL
from benchmarks.stress_runs import SECONDS
from benchmarks.stress_scenarios import Scenario
from benchmarks.stress_scores import Measures
from benchmarks.stress_summaries import (
    MARKS,
    MISS_Z,
    Status,
    Summary,
    Target,
    average,
    difference,
    models,
    numbers,
    ratio,
    worst_model,
)

COVERAGE = Target(0.93, 0.97)  # of every single interval
AT_LEAST = Target(0.93, 1.0)  # of intervals of single contexts, where no context recurs and their width is assumed
NOT_WIDER = Target(high=1.0)
SIMULTANEOUS = Target(low=0.94)
NO_EXCESS = Target(high=0.0)  # regret of recommendations minus that of the table's first model
MIN_SHARE_OF_ORACLE = 0.7  # of the oracle's gain, where the T-learner reaches it
MIN_ORACLE_GAIN = 0.01  # below it there is nothing to find
CLEAR_ERRORS = Target(high=1 - LEVEL)
LEGEND = (
    "± is one Monte Carlo standard error. ✓ target met, ✗ missed by more than "
    f"{MISS_Z:g} standard errors (low or high), ≈ outside the target but within noise; no mark: no target."
)
Studies = Sequence[Measures]


@dataclass(slots=True)
class Cells:
    """Formats numbers with their marks, and counts the marks."""

    statuses: Counter[Status] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)

    def cell(self, summary: Summary | None, what: str, target: Target | None = None, digits: int | None = None) -> str:
        """A share in percent, or with ``digits`` a number."""
        if summary is None:
            return "–"
        scale, places = (100.0, 1) if digits is None else (1.0, digits)
        text = f"{scale * summary.mean:.{places}f} ± {scale * summary.standard_error:.{places}f}"
        if target is None:
            return text
        status = target.status(summary)
        self.statuses[status] += 1
        if status in ("low", "high"):
            self.missed.append(f"{what}: {text} ({status})")
        return f"{text} {MARKS[status]}"


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a sentence and rows; the first row has the headings."""

    title: str
    note: str
    rows: list[list[str]]

    def markdown(self) -> str:
        """The table with aligned columns."""
        width = [max(len(row[at]) for row in self.rows) for at in range(len(self.rows[0]))]
        lines = [" | ".join(cell.ljust(w) for cell, w in zip(row, width, strict=True)) for row in self.rows]
        rule = "|".join("-" * (w + 2) for w in width)
        body = "\n".join(f"| {line} |" for line in lines[1:])
        return f"## {self.title}\n\n{self.note}\n\n| {lines[0]} |\n|{rule}|\n{body}\n"


def all_tables(scenarios: Mapping[str, Scenario], results: Mapping[str, Studies], cells: Cells) -> list[Table]:
    """Every table that has rows."""
    once = {n: list(rows) for n, rows in results.items() if scenarios[n].mode == "once" and _answered(rows)}
    tables = [
        coverage_table(scenarios, once, cells),
        edge_table(once, cells),
        simultaneous_table(once, cells),
        precision_table(once, cells),
        regret_table(once, cells),
        routing_table(once, cells),
        verdict_table(scenarios, once, cells),
        looks_table({n: rows for n, rows in results.items() if scenarios[n].mode == "looks"}, cells),
        refusal_table(scenarios, results, cells),
    ]
    return [table for table in tables if len(table.rows) > 1]


def _answered(rows: Studies) -> bool:
    return any("headline" in row for row in rows)


def coverage_table(scenarios: Mapping[str, Scenario], results: Mapping[str, Studies], cells: Cells) -> Table:
    heading = [
        "scenario",
        "values",
        "worst model",
        "direct",
        "direct, worst",
        "experiment",
        "contrasts",
        "q",
        "margins",
    ]
    rows = [heading]
    for name, studies in results.items():
        count, worst = models(studies), replace(COVERAGE, low=scenarios[name].min_worst_coverage, high=1.0)
        row = [name]
        for measure in ("headline", "direct", "experiment", "contrast", "q", "margin"):
            assumed = measure in ("q", "margin") and not scenarios[name].design.recurring
            target = AT_LEAST if assumed or scenarios[name].is_near_an_edge else COVERAGE
            row.append(cells.cell(average(studies, measure, count), f"{name}, coverage of {measure}", target))
            if measure in ("headline", "direct"):
                row.append(cells.cell(worst_model(studies, measure), f"{name}, worst {measure}", worst))
        rows.append(row)
    note = (
        "Percent of 95 % intervals that cover the truth; the target is 93 to 97 for the mean over models or contexts, "
        "and at least 93 for q and margins where no context recurs, and near an edge (next table)."
    )
    return Table("Coverage of single intervals", f"{note} Worst: the model with the lowest coverage.", rows)


def edge_table(results: Mapping[str, Studies], cells: Cells) -> Table:
    rows = [["scenario", "values", "Wilson", "width / Wilson", "contrasts", "Newcombe", "width / Newcombe"]]
    for name, studies in results.items():
        if average(studies, "wilson") is None:
            continue
        row = [name]
        for ours, theirs in (("headline", "wilson"), ("contrast", "newcombe")):
            row += [cells.cell(average(studies, one), name) for one in (ours, theirs)]
            width = average(studies, f"width_{theirs}")
            row.append(cells.cell(width, f"{name}, width / {theirs}", NOT_WIDER, digits=3))
        rows.append(row)
    note = "Coverage beside that of textbook intervals on the same rows, and ratios of widths; these must not exceed 1."
    return Table("Yes/no outcomes near an edge", note, rows)


def simultaneous_table(results: Mapping[str, Studies], cells: Cells) -> Table:
    rows = [["scenario", "all values", "all contrasts", "best set", "all log biases"]]
    for name, studies in results.items():
        measures = ("simultaneous", "all_contrasts", "best_set", "log_bias")
        marked = [cells.cell(average(studies, one), f"{name}, coverage of {one}", SIMULTANEOUS) for one in measures]
        rows.append([name, *marked])
    return Table("Simultaneous coverage", "Percent of studies in which every interval covers; at least 94.", rows)


def precision_table(results: Mapping[str, Studies], cells: Cells) -> Table:
    heading = ["scenario", "width", "RMSE values", "RMSE direct", "RMSE experiment", "values/exp", "direct/exp"]
    rows = [heading]
    for name, studies in results.items():
        errors = [_root(average(studies, f"mse_{one}")) for one in ("headline", "direct", "experiment")]
        ratios = [ratio(studies, f"mse_{one}", "mse_experiment", _sqrt) for one in ("headline", "direct")]
        cellular = [cells.cell(one, name, digits=4) for one in errors] + [cells.cell(r, name, digits=2) for r in ratios]
        rows.append([name, cells.cell(average(studies, "width"), name, digits=3), *cellular])
    note = "Width of the headline's intervals relative to the experiment alone; errors of plain per-model means beside."
    return Table("Width and error", note, rows)


def _sqrt(value: float) -> float:
    return float(np.sqrt(value))


def _root(summary: Summary | None) -> Summary | None:
    """Root of a mean, by the delta method."""
    if summary is None or summary.mean == 0:
        return summary
    root = _sqrt(summary.mean)
    return replace(summary, mean=root, standard_error=summary.standard_error / (2 * root))


def regret_table(results: Mapping[str, Studies], cells: Cells) -> Table:
    sources = ("headline", "direct", "experiment", "t_learner", "recommended")
    rows = [["scenario", "table", "direct", "experiment", "T-learner", "recommended", "recommended - table"]]
    for name, studies in results.items():
        plain = [cells.cell(average(studies, f"regret_{one}"), name, digits=4) for one in sources]
        net = difference(studies, "regret_recommended", "regret_headline")
        rows.append([name, *plain, cells.cell(net, f"{name}, regret of recommendations", NO_EXCESS, digits=4)])
    note = "Mean over replayed contexts of the best true q minus that of the chosen model. Table: its first model."
    return Table("Regret", f"{note} The difference must not be positive.", rows)


def routing_table(results: Mapping[str, Studies], cells: Cells) -> Table:
    heading = ["scenario", "oracle gain", "recommended", "T-learner", "share", "T-learner's share"]
    rows = [[*heading, "gain interval", "policy value", "one model claimed", "claimed wrongly"]]
    for name, studies in results.items():
        oracle = average(studies, "gain_oracle")
        share = learner = target = None
        if oracle is not None and oracle.mean > MIN_ORACLE_GAIN:
            share, learner = (ratio(studies, f"gain_{one}", "gain_oracle") for one in ("recommended", "t_learner"))
            if learner is not None and learner.mean >= MIN_SHARE_OF_ORACLE:
                target = Target(low=MIN_SHARE_OF_ORACLE)
        gains = [average(studies, f"gain_{one}") for one in ("recommended", "t_learner")]
        rows.append(
            [
                name,
                "–" if oracle is None else f"{abs(oracle.mean):.4f}",
                *(cells.cell(gain, name, digits=4) for gain in gains),
                cells.cell(share, f"{name}, share of the oracle's gain", target),
                cells.cell(learner, name),
                cells.cell(average(studies, "gain"), f"{name}, coverage of the routing gain", COVERAGE),
                cells.cell(average(studies, "policy_value"), name),
                cells.cell(average(studies, "one_model"), name),
                cells.cell(average(studies, "one_model_wrong"), name),
            ]
        )
    note = "Gains over the truly best single model on new contexts. Share: of the oracle's gain, where it exceeds 0.01;"
    target_note = "the target is 70 % where the T-learner reaches 70 %. Then percent of studies."
    value_note = (
        "The value's interval is for the policies of the folds, which had four fifths of the rows; it is compared "
        "with the final policy, so it has no target."
    )
    return Table("Routing", f"{note} {target_note} {value_note}", rows)


def verdict_table(scenarios: Mapping[str, Scenario], results: Mapping[str, Studies], cells: Cells) -> Table:
    rows = [["scenario", "clear contexts", "errors among clear", "table and contrasts differ", "false difference"]]
    for name, studies in results.items():
        wanted = scenarios[name].min_clear_share
        clear_target = Target(low=wanted) if wanted else None
        errors = ratio(studies, "clear_wrong", "clear")
        if errors is not None and np.isnan(errors.standard_error):
            errors = replace(errors, standard_error=0.0)
        rows.append(
            [
                name,
                cells.cell(average(studies, "clear"), f"{name}, clear contexts", clear_target),
                cells.cell(errors, f"{name}, errors among clear contexts", CLEAR_ERRORS),
                cells.cell(average(studies, "table_and_contrasts_differ"), name),
                cells.cell(average(studies, "false_difference"), name),
            ]
        )
    note = "Percent of contexts, then of studies. At most 5 % of clear contexts may be wrong; a tie counts as wrong."
    return Table("Verdicts", note, rows)


def looks_table(results: Mapping[str, Studies], cells: Cells) -> Table:
    rows = [["scenario", "any of ten looks", "last look alone"]]
    for name, studies in results.items():
        rows.append([name, *(cells.cell(average(studies, one), name) for one in ("any_look", "last_look"))])
    return Table("False differences between equal models", "Percent of studies with a significant contrast.", rows)


def refusal_table(scenarios: Mapping[str, Scenario], results: Mapping[str, Studies], cells: Cells) -> Table:
    rows = [["scenario", "question", "studies", "refused", "seconds per study", "slowest"]]
    for name, studies in results.items():
        target = Target(low=1.0) if scenarios[name].mode == "refusal" else NO_EXCESS
        seconds = numbers(studies, SECONDS)
        time = [f"{seconds.mean():.2f}", f"{seconds.max():.2f}"]
        refused = cells.cell(average(studies, "refused"), f"{name}, refused", target)
        rows.append([name, scenarios[name].question, str(len(studies)), refused, *time])
    note = "Percent of studies that end with a refusal: all with eight rows, none elsewhere. Processor seconds."
    return Table("Refusals and time", note, rows)


def comparison_table(
    before: Mapping[str, Mapping[int, Measures]], after: Mapping[str, Mapping[int, Measures]]
) -> Table:
    """Measures whose mean moved by more than two standard errors, paired by study."""
    rows = [["scenario", "measure", "studies", "before", "after", "change"]]
    for name in sorted(set(before) & set(after)):
        shared = sorted(set(before[name]) & set(after[name]))
        old, new = [before[name][n] for n in shared], [after[name][n] for n in shared]
        for measure in sorted({key for row in (*old, *new) for key in row}):
            pairs = [(numbers([a], measure), numbers([b], measure)) for a, b in zip(old, new, strict=True)]
            change = np.array([float(b[0] - a[0]) for a, b in pairs if len(a) and len(b)])
            if len(change) < 2:
                continue
            error = float(change.std(ddof=1) / np.sqrt(len(change)))
            if abs(change.mean()) > MISS_Z * error:
                means = [f"{numbers(side, measure).mean():.4f}" for side in (old, new)]
                rows.append([name, measure, str(len(change)), *means, f"{change.mean():+.4f} ± {error:.4f}"])
    return Table("Changes", "Means over the studies that both runs have; only changes of more than two errors.", rows)
