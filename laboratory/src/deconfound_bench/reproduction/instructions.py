"""The instruction benchmark on one grid: which of the paper's conclusions carry over to chat models."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound_bench.reproduction.beside import joined
from deconfound_bench.reproduction.claims import more_confounding, nobody_everywhere, pooled_lead
from deconfound_bench.reproduction.evidence import (
    FOUND,
    Claim,
    Section,
    above,
    at_level,
    below,
    leads_by_rank,
    levels,
    verdict,
)
from deconfound_bench.results import Score
from deconfound_bench.tables import (
    direct_against_dr,
    overall,
    overall_table,
    to_markdown,
    values_table,
    winner_grid,
    winner_map,
)
from deconfound_bench.tables.estimate import over_seeds
from deconfound_bench.tables.paired import Paired, paired

GRIDS = {"alpacaeval": "answers of twenty chat models to 400 instructions, compared with a reference by a GPT-4 judge"}
"""What is known of the public grids, by name."""

EXP_BASED = ("exp-only", "representation-exp")
FEW_SEEDS = 15  # half of what the other benchmarks run: errors are then at least 1.4 times as wide as theirs


def instructions_section(scores: Sequence[Score]) -> Section:
    """The claims of the other benchmarks on this one; there are no figures to put beside ours."""
    grid = scores[0].benchmark.partition("-")[2]
    claims = instruction_claims(scores)
    standings = overall(scores)
    parts = [
        carried_over(claims),
        "### Standings",
        to_markdown(overall_table(standings)),
        "### Winners",
        to_markdown(winner_grid(winner_map(scores))),
        "### Direct and doubly robust values",
        to_markdown(values_table(direct_against_dr(scores))),
    ]
    known = f"Here are {GRIDS[grid]}." if grid in GRIDS else f"The answers are those of the grid {grid}."
    about = (
        f"{standings.cells} cells, {standings.seeds} paired seeds. {known} The paper has no such benchmark: what it "
        "reports of the others is put to the test here, at the budgets of its controlled validation."
    )
    if standings.seeds < FEW_SEEDS:
        about += f" With {standings.seeds} seeds errors are wide: what is not found may only be too small to be seen."
    return Section(f"Instructions: {grid}", about, claims, joined(parts))


def instruction_claims(scores: Sequence[Score]) -> tuple[Claim, ...]:
    """What the paper reports of its own benchmarks."""
    grid = paired(scores, ("regret",))
    return (
        nobody_everywhere(grid),
        leads_by_rank(grid, "cvci"),
        pooled_lead(grid),
        _experiment_helps_its_own(grid),
        more_confounding(grid),
        _direct_ahead_but_for_the_log(scores),
    )


def carried_over(claims: Sequence[Claim]) -> str:
    """The verdicts in one sentence."""
    found = sum(claim.verdict == FOUND for claim in claims)
    if found == len(claims):
        return f"All {len(claims)} conclusions carry over to this grid."
    rest = " ".join(claim.said for claim in claims if claim.verdict != FOUND)
    return f"{found} of {len(claims)} conclusions carry over to this grid. Not, or only in part: {rest}"


def _experiment_helps_its_own(grid: Paired) -> Claim:
    few, *_, many = levels(grid, lambda cell: cell.n_experiment)
    change = at_level(grid, "n_experiment", many) - at_level(grid, "n_experiment", few)
    pooled = change[grid.families.index("cvci")]
    seen, found = [], 0
    for family in EXP_BASED:
        own = change[grid.families.index(family)]
        found += below(over_seeds(own)) and below(over_seeds(own - pooled))
        seen.append(f"{family} {over_seeds(own).shown()}")
    text = f"Change from {few:,} to {many:,} rows: {', '.join(seen)}, cvci {over_seeds(pooled).shown()}."
    said = "More experiment lowers the regret of exp-based families more than that of log-based ones."
    return Claim(said, text, verdict(found, len(EXP_BASED)))


def _direct_ahead_but_for_the_log(scores: Sequence[Score]) -> Claim:
    rows = {row.family: row.difference for row in direct_against_dr(scores).rows}
    others = (*EXP_BASED, "cvci")
    found = sum(above(rows[family]) for family in others) + below(rows["obs-only"])
    seen = ", ".join(f"{family} {rows[family].shown()}" for family in (*others, "obs-only"))
    said = "Direct values have less error than doubly robust ones, but for obs-only."
    return Claim(said, f"DR minus direct: {seen}.", verdict(found, len(others) + 1))
