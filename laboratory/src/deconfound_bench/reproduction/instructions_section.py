"""The instruction benchmark on one grid: which of the paper's conclusions also apply to chat models."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound_bench.reproduction.claims import (
    REPRODUCED,
    Claim,
    PageSection,
    clearly_negative,
    clearly_positive,
    confounding_hurts_obs_only,
    leads_by_rank,
    mean_regret_at,
    no_family_dominates,
    pooling_helps_small_experiments,
    sorted_levels,
    verdict,
)
from deconfound_bench.reproduction.side_by_side import join_parts
from deconfound_bench.results import Score
from deconfound_bench.score_tables import (
    ScoreCube,
    direct_vs_dr,
    mean_over_seeds,
    overall_standings,
    score_cube,
    standings_table,
    to_markdown,
    values_table,
    winner_grid,
    winner_map,
)

GRIDS = {"alpacaeval": "answers of twenty chat models to 400 instructions, compared with a reference by a GPT-4 judge"}
"""Descriptions of the public grids, by name."""

EXP_BASED = ("exp-only", "representation-exp")
FEW_SEEDS = 15  # half as many as the other benchmarks: standard errors are then at least 1.4 times as large


def instructions_section(scores: Sequence[Score]) -> PageSection:
    """The claims about the other benchmarks, tested on this one; the paper has no figures for it."""
    grid = scores[0].benchmark.partition("-")[2]
    claims = instruction_claims(scores)
    standings = overall_standings(scores)
    parts = [
        summarize_verdicts(claims),
        "### Overall ranking",
        to_markdown(standings_table(standings)),
        "### Winners",
        to_markdown(winner_grid(winner_map(scores))),
        "### Direct and doubly robust values",
        to_markdown(values_table(direct_vs_dr(scores))),
    ]
    data = f"The data here: {GRIDS[grid]}." if grid in GRIDS else f"The answers are those of the grid {grid}."
    about = (
        f"{standings.cells} cells, {standings.seeds} paired seeds. {data} The paper has no such benchmark. Its claims "
        "about the others are tested here, at the budgets of its controlled validation."
    )
    if standings.seeds < FEW_SEEDS:
        about += f" With {standings.seeds} seeds standard errors are large: small effects may go undetected."
    return PageSection(f"Instructions: {grid}", about, claims, join_parts(parts))


def instruction_claims(scores: Sequence[Score]) -> tuple[Claim, ...]:
    """What the paper reports about its own benchmarks."""
    cube = score_cube(scores, ("regret",))
    return (
        no_family_dominates(cube),
        leads_by_rank(cube, "cvci"),
        pooling_helps_small_experiments(cube),
        _experiment_helps_exp_based(cube),
        confounding_hurts_obs_only(cube),
        _direct_beats_dr_except_obs_only(scores),
    )


def summarize_verdicts(claims: Sequence[Claim]) -> str:
    """The verdicts in one sentence."""
    reproduced = sum(claim.verdict == REPRODUCED for claim in claims)
    if reproduced == len(claims):
        return f"All {len(claims)} conclusions hold on this grid."
    rest = " ".join(claim.claim for claim in claims if claim.verdict != REPRODUCED)
    return f"{reproduced} of {len(claims)} conclusions hold on this grid. Not, or only partly: {rest}"


def _experiment_helps_exp_based(cube: ScoreCube) -> Claim:
    few, *_, many = sorted_levels(cube, lambda cell: cell.n_experiment)
    change = mean_regret_at(cube, "n_experiment", many) - mean_regret_at(cube, "n_experiment", few)
    cvci = change[cube.families.index("cvci")]
    parts, confirmed = [], 0
    for family in EXP_BASED:
        own = change[cube.families.index(family)]
        confirmed += clearly_negative(mean_over_seeds(own)) and clearly_negative(mean_over_seeds(own - cvci))
        parts.append(f"{family} {mean_over_seeds(own).format()}")
    evidence = f"Change from {few:,} to {many:,} rows: {', '.join(parts)}, cvci {mean_over_seeds(cvci).format()}."
    claim = "A larger experiment lowers the regret of exp-based families more than that of log-based ones."
    return Claim(claim, evidence, verdict(confirmed, len(EXP_BASED)))


def _direct_beats_dr_except_obs_only(scores: Sequence[Score]) -> Claim:
    differences = {row.family: row.difference for row in direct_vs_dr(scores).rows}
    others = (*EXP_BASED, "cvci")
    confirmed = sum(clearly_positive(differences[family]) for family in others)
    confirmed += clearly_negative(differences["obs-only"])
    values = ", ".join(f"{family} {differences[family].format()}" for family in (*others, "obs-only"))
    claim = "Direct values have less error than doubly robust ones, except for obs-only."
    return Claim(claim, f"DR minus direct: {values}.", verdict(confirmed, len(others) + 1))
