"""What the values of a result are: their scale, whether costs are subtracted, and the contexts that they are about."""

from __future__ import annotations

from deconfound.escaping import escape_line
from deconfound.findings import Notice
from deconfound.formatting import pluralize
from deconfound.report.missing_text import missing_answer
from deconfound.report.scale import Scale
from deconfound.result import Result

ONE_LOOK = (
    "Intervals are for one look at a finished experiment. Looking again and again at a growing one, until a difference "
    "shows, finds differences that do not exist several times as often as the confidence level says."
)


def scope_lines(result: Result) -> list[str]:
    """One line each for another scale, costs, missing outcomes and other contexts than the experiment's; often none."""
    about = (_scale_lines, _cost_lines, _row_lines, missing_answer, _population_lines)
    return [line for lines in about for line in lines(result)]


def _row_lines(result: Result) -> list[str]:
    """Which rows were read, if conditions chose some; what several tables note is said once."""
    noted = (
        escape_line(finding.details.message)
        for finding in result.findings
        if finding.check == "rows left out" and finding.verdict == "pass" and isinstance(finding.details, Notice)
    )
    return list(dict.fromkeys(noted))


def _scale_lines(result: Result) -> list[str]:
    scale = Scale.of(result)
    return [f"Values are {scale.description}."] if scale.description else []


def _cost_lines(result: Result) -> list[str]:
    if result.values.cost is None:
        return []
    return [
        "Values, differences and gains from routing are net of cost. In the table, gross values and the columns after "
        "them are before cost."
    ]


def _population_lines(result: Result) -> list[str]:
    population = result.population
    if population.kind == "target":
        source, rows = escape_line(population.source), population.experiment_rows
        return [
            f"Values are for the {pluralize(population.contexts, 'context')} of {source}; after weighting, the "
            f"{pluralize(rows, 'experiment row')} count as {population.effective_rows:.0f}."
        ]
    if population.kind == "experiment and extra contexts":
        extra = population.contexts - result.counts.experiment.contexts
        own = pluralize(result.counts.experiment.contexts, "context")
        return [f"Values are for the experiment's {own} and {extra:,} other replayed ones (--extra-contexts)."]
    return []


def unused_context_lines(result: Result) -> list[str]:
    """Whether replayed contexts were left out that could narrow the intervals."""
    unused = result.population.unused_extra_contexts
    if not unused or result.population.kind == "target":
        return []
    were = "context was" if unused == 1 else "contexts were"
    return [
        f"{unused:,} {were} replayed but not part of the experiment, and the values leave them out. If they come "
        "from the same population as the experiment's, --extra-contexts averages over them too: intervals get narrower."
    ]
