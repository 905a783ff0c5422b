"""The controlled validation: claims, and the paper's tables beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound_bench.reproduction import paper
from deconfound_bench.reproduction.claims import (
    NOT_REPRODUCED,
    REPRODUCED,
    Claim,
    PageSection,
    clearly_negative,
    clearly_positive,
    confounding_hurts_obs_only,
    mean_regret_at,
    no_family_dominates,
    pooling_helps_small_experiments,
    sorted_levels,
    verdict,
)
from deconfound_bench.reproduction.side_by_side import join_parts, winner_agreement, winners_table
from deconfound_bench.results import Score
from deconfound_bench.score_tables import (
    Entry,
    OverallStandings,
    ScoreCube,
    Table,
    curve_grid,
    direct_vs_dr,
    dr_curve,
    mean_over_seeds,
    overall_standings,
    ranking_summary,
    ranking_table,
    regret_by_axis,
    score_cube,
    standings_table,
    to_markdown,
    winner_map,
)

PAPER_LEADER = "cvci"
PAPER_GAPS = "most of the paper's gaps are below 0.002, and it does not report which of them exceed sampling noise."
LARGE_RATIO = 2.0  # a difference in scale by this factor or more needs an explanation


def synthetic_claims(scores: Sequence[Score]) -> tuple[Claim, ...]:
    """The claims about the grid."""
    cube = score_cube(scores, ("regret",))
    return (
        no_family_dominates(cube),
        pooling_helps_small_experiments(cube),
        _experiment_helps_exp_only(cube),
        confounding_hurts_obs_only(cube),
        _direct_beats_dr(scores),
    )


def _experiment_helps_exp_only(cube: ScoreCube) -> Claim:
    few, *_, many = sorted_levels(cube, lambda cell: cell.n_experiment)
    at = cube.families.index("exp-only")
    change = mean_over_seeds(
        mean_regret_at(cube, "n_experiment", many)[at] - mean_regret_at(cube, "n_experiment", few)[at]
    )
    evidence = f"Regret at {many:,} minus regret at {few:,} rows: {change.format()}."
    result = REPRODUCED if clearly_negative(change) else NOT_REPRODUCED
    return Claim("The regret of exp-only falls with more experiment rows.", evidence, result)


def _direct_beats_dr(scores: Sequence[Score]) -> Claim:
    rows = [row for row in direct_vs_dr(scores).rows if row.family in paper.SYNTHETIC_VALUES]
    confirmed = sum(clearly_positive(row.difference) for row in rows)
    differences = ", ".join(f"{row.family} {row.difference.format()}" for row in rows)
    claim = "Direct values have less error than doubly robust ones on this grid."
    return Claim(claim, f"DR minus direct: {differences}.", verdict(confirmed, len(rows)))


def targeted_claim(scores: Sequence[Score]) -> Claim:
    """Doubly robust values have much less error where the reward is deliberately bad."""
    curve = dr_curve(scores)
    parts, confirmed = [], 0
    for at, family in enumerate(curve.families):
        first, last = curve.difference[at][0], curve.difference[at][-1]
        confirmed += clearly_negative(first) and clearly_negative(last)
        parts.append(f"{family} {first.format()} and {last.format()}")
    sizes = f"{curve.levels[0]:,} and {curve.levels[-1]:,}"
    return Claim(
        "Doubly robust values have clearly less error in the targeted regime.",
        f"DR minus direct at {sizes} experiment rows: {'; '.join(parts)}.",
        verdict(confirmed, len(curve.families)),
    )


def synthetic_section(scores: Sequence[Score], targeted: Sequence[Score]) -> PageSection:
    """Winners, overall ranking, budgets, values and claims."""
    winners, standings = winner_map(scores), overall_standings(scores)
    claims = (*synthetic_claims(scores), *((targeted_claim(targeted),) if targeted else ()))
    parts = [
        "### Winners",
        to_markdown(winners_table(winners, paper.SYNTHETIC_WINNERS)),
        winner_agreement(winners, paper.SYNTHETIC_WINNERS, PAPER_GAPS),
        "### Overall ranking",
        "The paper names cvci as the leader by regret and exp-only and obs-only as the next group, and reports that "
        "grounded and cvci-residual win few cells. It prints no figures for these averages.",
        _describe_leader(standings),
        to_markdown(standings_table(standings)),
        to_markdown(ranking_table(ranking_summary(scores))),
        "### Budgets",
        *(to_markdown(curve_grid(regret_by_axis(scores, axis))) for axis in ("n_log", "n_experiment", "confounding")),
        "### Direct and doubly robust values",
        to_markdown(_values_table(scores)),
        _compare_value_scale(scores),
        *(("### The targeted regime", *_targeted_parts(targeted)) if targeted else ()),
    ]
    about = f"{standings.cells} cells, {standings.seeds} paired seeds, {len(standings.standings)} families."
    return PageSection("Controlled validation", about, claims, join_parts(parts))


def targeted_section(scores: Sequence[Score]) -> PageSection:
    """The targeted regime as a section of its own."""
    about = f"{len({one.cell for one in scores})} cells, {len({one.seed for one in scores})} paired seeds."
    text = join_parts(_targeted_parts(scores))
    return PageSection("The targeted regime", about, (targeted_claim(scores),), text)


def _targeted_parts(scores: Sequence[Score]) -> tuple[str, ...]:
    return to_markdown(_targeted_table(scores)), _describe_targeted(scores)


def _describe_leader(standings: OverallStandings) -> str:
    first, second = standings.standings[:2]
    agreement = "as in the paper" if first.family == PAPER_LEADER else f"not {PAPER_LEADER} as in the paper"
    return (
        f"Here {first.family} leads by average rank ({first.rank.format()}), followed by {second.family} "
        f"({second.rank.format()}), {agreement}."
    )


def _values_table(scores: Sequence[Score]) -> Table:
    rows: list[tuple[Entry, ...]] = []
    for row in direct_vs_dr(scores).rows:
        reported = paper.SYNTHETIC_VALUES.get(row.family)
        paper_values = ("–", "–") if reported is None else tuple(f"{value:.4f}" for value in reported)
        rows.append((row.family, *paper_values, row.direct, row.dr, row.difference))
    columns = ("family", "direct, paper", "DR, paper", "direct, here", "DR, here", "DR - direct, here")
    return Table("Error (RMSE) of the models' values, over the grid", columns, tuple(rows))


def _compare_value_scale(scores: Sequence[Score]) -> str:
    """How our doubly robust errors compare in size with the paper's, and why."""
    ours = {row.family: row.dr.mean for row in direct_vs_dr(scores).rows}
    ratios = [ours[family] / reported[1] for family, reported in paper.SYNTHETIC_VALUES.items() if family in ours]
    times = f"{min(ratios):.1f} to {max(ratios):.1f} times the paper's"
    if min(ratios) < LARGE_RATIO:
        return f"Doubly robust errors are {times}."
    curve = dr_curve(scores)
    means = [sum(row[at].mean for row in curve.dr) / len(curve.dr) for at in range(len(curve.levels))]
    by_size = " and ".join(f"{mean:.3f} with {rows:,}" for mean, rows in zip(means, curve.levels, strict=True))
    return (
        f"Doubly robust errors are {times}. With twenty models and a uniform experiment each row has a weight of "
        f"twenty, so the noise of single outcomes is hardly averaged out ({by_size} experiment rows, mean over "
        "families). The paper's outcomes were probably less noisy."
    )


def _targeted_table(scores: Sequence[Score]) -> Table:
    curve = dr_curve(scores)
    rows: list[tuple[str, ...]] = []
    for number, size in enumerate(curve.levels):
        if int(size) in paper.TARGETED_VALUES:
            direct, robust = paper.TARGETED_VALUES[int(size)]
            rows.append((f"{size:,}", "paper's curve", f"{direct:.4f}", f"{robust:.4f}", ""))
        for at, family in enumerate(curve.families):
            ours = (curve.direct[at][number], curve.dr[at][number], curve.difference[at][number])
            rows.append((f"{size:,}", family, *(estimate.format() for estimate in ours)))
    columns = ("experiment rows", "family", "direct", "DR", "DR - direct")
    note = f"Mean ± standard error over {curve.seeds} paired seeds. The paper does not name the family of its curve."
    return Table("Error (RMSE) of the models' values, targeted regime", columns, tuple(rows), note)


def _describe_targeted(scores: Sequence[Score]) -> str:
    """The size of the direct errors, and of those that remain after the correction."""
    curve = dr_curve(scores)
    direct, robust = [row[-1].mean for row in curve.direct], [row[-1].mean for row in curve.dr]
    size, reported = curve.levels[-1], paper.TARGETED_VALUES[max(paper.TARGETED_VALUES)]
    text = (
        f"At {size:,} experiment rows direct errors are between {min(direct):.4f} and {max(direct):.4f} (paper "
        f"{reported[0]:.4f}), doubly robust ones between {min(robust):.4f} and {max(robust):.4f} (paper "
        f"{reported[1]:.4f})."
    )
    if max(direct) * LARGE_RATIO > reported[0]:
        return text
    return (
        f"{text} A correction has little to gain here: programs that mostly extract sentences of the same article "
        "differ little on average, so even a constant reward gives nearly correct values, and the noise of the "
        "residuals is larger than the bias that they remove."
    )
