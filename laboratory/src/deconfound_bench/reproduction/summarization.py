"""The summarization benchmark on one grid: the paper's figures beside ours, and where they part."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound_bench.cached.alignment import PROXIES, Aligned
from deconfound_bench.reproduction import paper_summarization as paper
from deconfound_bench.reproduction import summarization_tables as tables
from deconfound_bench.reproduction.beside import NO_FITS, agreement, joined, winners_table
from deconfound_bench.reproduction.evidence import Section, at_level
from deconfound_bench.reproduction.summarization_claims import summarization_claims
from deconfound_bench.results import Score
from deconfound_bench.summarization.recipe import main_cells, map_cells, value_cells
from deconfound_bench.summarization.rewards import SHARPENED, SMOOTH
from deconfound_bench.tables import direct_against_dr, overall, to_markdown, winner_map
from deconfound_bench.tables.paired import paired
from deconfound_bench.views import View

GRIDS = {
    "summeval": "published summarizers on news articles, judged by three experts; conciseness is computed, not judged",
    "polytope": "published summarizers on news articles, judged by a human log of their errors",
}
"""What is known of the public grids, by name."""

PAPERS = "The paper's are prompted Gemma models and extractive baselines, twenty in all, judged by a language model"
FEW = 0.5  # share of the variance below which a fit is called low


def summarization_section(scores: Sequence[Score], aligned: Sequence[Aligned], constants: str) -> Section:
    """Standings, budgets, reward shape, values, variants and winner map."""
    main, values = (View("", cells, PAPER_FAMILY_NAMES).of(scores) for cells in (main_cells(), value_cells()))
    chart, grid = View("", map_cells()).of(scores), scores[0].benchmark.partition("-")[2]
    seeds = len({one.seed for one in scores})
    run = f"{len(main_cells())} settings and {len(map_cells())} of a winner map, {seeds} paired seeds."
    return Section(
        f"Summarization: {grid}",
        f"{run} {about_data(grid, constants)}",
        summarization_claims(main, chart, values, aligned),
        joined([*_regret_parts(main), *_shape_parts(main, aligned), *_value_parts(values), *_map_parts(chart)]),
    )


def _regret_parts(main: Sequence[Score]) -> tuple[str, ...]:
    return (
        "### Standings",
        to_markdown(tables.standings_table(main)),
        about_standings(main),
        "### Budgets",
        to_markdown(tables.budgets_table(main)),
        about_budgets(main),
    )


def _shape_parts(main: Sequence[Score], aligned: Sequence[Aligned]) -> tuple[str, ...]:
    fits = (to_markdown(tables.fits_table(aligned)), about_fits(aligned)) if aligned else (NO_FITS,)
    return "### Reward shape", to_markdown(tables.shapes_table(main)), about_shapes(main), *fits


def _value_parts(values: Sequence[Score]) -> tuple[str, ...]:
    return "### Direct and doubly robust values", to_markdown(tables.values_table(values)), about_values(values)


def _map_parts(chart: Sequence[Score]) -> tuple[str, ...]:
    winners = winner_map([one for one in chart if one.family in PAPER_FAMILY_NAMES])
    return (
        "### Variants of grounded",
        to_markdown(tables.variants_table(chart)),
        about_variants(chart),
        "### Winners",
        to_markdown(winners_table(winners, paper.WINNERS)),
        agreement(winners, paper.WINNERS, "the paper's largest is 0.0062, and it gives no errors of them."),
    )


def about_data(grid: str, constants: str) -> str:
    """Whose outputs these are and how they were judged, beside the paper's."""
    made = json.loads(constants)
    told = [f"Here are {GRIDS[grid]}." if grid in GRIDS else f"The outputs are those of the grid {grid}.", f"{PAPERS}."]
    told.append(f"Components: {', '.join(made['components'])}.")
    if made["left_out"]:
        told.append(f"Not judged and so left out: {', '.join(made['left_out'])}.")
    if not made["claims"]:
        told.append("Unsupported claims are not counted, so the sharpened map has no penalty for them.")
    cut = "All contexts are used" if made["contexts"] is None else f"The {made['contexts']} hardest contexts are used"
    return " ".join([*told, f"{cut}; the paper used 48."])


def about_standings(main: Sequence[Score]) -> str:
    """Who leads here, and whether the paper names the same."""
    first, second, *_, last = overall(main).standings
    leads = "as in the paper" if first.family == "cvci" else "where the paper has cvci"
    trails = "as in the paper" if last.family == "representation-exp" else "where the paper has representation-exp"
    return f"{first.family} leads before {second.family}, {leads}; {last.family} comes last, {trails}."


def about_budgets(main: Sequence[Score]) -> str:
    """Where the sign of exp-only minus the best log-based family is the paper's, and how the scales compare."""
    grid = tables.smooth_regret(main)
    gaps = [gap for _, gap in tables.exp_minus_log_based(grid)]
    same = sum((gap.mean > 0) == (told > 0) for gap, told in zip(gaps, paper.EXP_MINUS_LOG_BASED, strict=True))
    unclear = sum(not gap.clear for gap in gaps)
    text = f"exp-only minus the best log-based family has the paper's sign at {same} of {len(gaps)} budgets"
    text += f"; {unclear} of ours are within two errors." if unclear else ", each beyond two errors."
    short, long = (at_level(grid, "n_log", rows)[grid.families.index("exp-only")] for rows in (2_000, 20_000))
    if np.array_equal(short, long):
        text += (
            " exp-only does not read the log. Here it meets the same experiments at both sizes of the log, so its "
            "regret is the same; the paper's changes with the log, from 0.0170 to 0.0140 with 20 experiment rows."
        )
    return text


def about_shapes(main: Sequence[Score]) -> str:
    """Which family the sharper reward costs least and most."""
    grid = paired(main, ("regret",))
    rises = (at_level(grid, "reward", SHARPENED) - at_level(grid, "reward", SMOOTH)).mean(axis=1)
    known = {family: float(rises[grid.families.index(family)]) for family in paper.SHAPES}
    least, most = min(known, key=lambda family: known[family]), max(known, key=lambda family: known[family])
    same = (least, most) == ("exp-only", "representation-exp")
    text = f"Of the paper's four, sharpening costs {least} least and {most} most"
    text += ", as in the paper." if same else "; in the paper it is exp-only and representation-exp."
    return (
        f"{text} The paper's smooth column is not the mean of its own budgets above (exp-only 0.0147, by the budgets "
        "0.0137), and it does not say why."
    )


def about_fits(aligned: Sequence[Aligned]) -> str:
    """Whether the proxies tell as little of the target as the paper's."""
    found = {one.reward: one.median for one in aligned if one.features == PROXIES}
    smooth, sharpened = found[SMOOTH], found[SHARPENED]
    ours = f"{smooth:.2f} of the smooth target and {sharpened:.2f} of the sharpened one"
    if max(smooth, sharpened) < FEW:
        return f"As in the paper the proxies explain little, {ours}."
    return f"The proxies explain {ours}, more than the paper's: here more of what is judged can be seen."


def about_values(values: Sequence[Score]) -> str:
    """Cells in which the correction helps, counted as the paper does."""
    found = direct_against_dr(values)
    rows = {row.family: row for row in found.rows}
    counts = ", ".join(
        f"{family} {rows[family].dr_better} of {found.cells} (paper {told} of 30)"
        for family, told in paper.DR_BETTER.items()
    )
    first = min(paper.VALUES, key=lambda family: rows[family].direct.mean)
    leads = "as in the paper" if first == "representation-exp" else "where the paper has representation-exp"
    return (
        f"Cells in which DR has less error: {counts}; which thirty the paper counts it does not say. Of these four "
        f"{first} has the least direct error, {leads}."
    )


def about_variants(chart: Sequence[Score]) -> str:
    """In what order the variants come, and how often one beats another."""
    grid = paired(chart, ("regret",), tuple(paper.VARIANTS))
    means = {family: grid.values[0][:, at].mean(axis=1) for at, family in enumerate(grid.families)}
    order = sorted(means, key=lambda family: float(means[family].mean()))
    told = sorted(paper.VARIANTS, key=lambda family: paper.VARIANTS[family].regret)
    same = "as in the paper" if order == told else f"in the paper {', '.join(told)}"
    rich = int((means["grounded"] < means["grounded-linear"]).sum())
    anchor = int((means["grounded-anchor"] < means["grounded"]).sum())
    return (
        f"By regret, best first: {', '.join(order)}; {same}. grounded is below grounded-linear in {rich} of "
        f"{len(grid.cells)} settings (paper {paper.GROUNDED_BELOW_LINEAR}), grounded-anchor below grounded in {anchor} "
        f"(paper {paper.ANCHOR_BELOW_GROUNDED})."
    )
