"""The coding benchmark on one grid: the paper's figures beside ours, and where they part."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound_bench.cached.alignment import Aligned
from deconfound_bench.coding.tables import Gaps, against_log, coding_winners, grounded_against_log
from deconfound_bench.coding.utility import WEIGHTS, Reward
from deconfound_bench.reproduction import paper_coding as paper
from deconfound_bench.reproduction.beside import NO_FITS, UNKNOWN, joined, pair_of_rows, signed
from deconfound_bench.reproduction.coding_claims import coding_claims
from deconfound_bench.reproduction.evidence import Section
from deconfound_bench.results import Score
from deconfound_bench.tables import Table, overall, overall_table, to_markdown
from deconfound_bench.tables.table import Entry

GRIDS = {"swebench_verified": "patches that fourteen agents submitted to SWE-bench Verified, 500 issues"}
"""What is known of the public grids, by name."""

PAPERS = (
    "The paper's patches are of other agents on issues of the same set. How it computes patch size, locality and issue "
    "focus it does not publish; ours are our own. It speaks of 30 seeds under its figures and of 10 in its protocol of "
    "the same grid."
)
NEAR = 0.0015  # a gap that the paper counts as small
NAMES = {"proxies": "auxiliary statistics", "first judged": "fix success alone"}


def coding_section(scores: Sequence[Score], aligned: Sequence[Aligned]) -> Section:
    """Winner map, crossover, grounded and the fits behind them."""
    against, grounded = against_log(scores), grounded_against_log(scores)
    grid = scores[0].benchmark.partition("-")[2]
    parts = [
        "### Winners",
        to_markdown(coding_winners_table(scores)),
        about_winners(scores),
        "### representation-exp against the log",
        to_markdown(slices_table(against)),
        about_crossover(against),
        "### grounded against the log",
        to_markdown(grounded_table(grounded)),
        about_grounded(grounded),
        "### What explains the target",
        *((to_markdown(fits_table(aligned)), about_fits(aligned)) if aligned else (NO_FITS,)),
        "### Standings",
        "The paper prints no averages over this grid.",
        to_markdown(overall_table(overall(scores))),
    ]
    known = f"Here are {GRIDS[grid]}." if grid in GRIDS else f"The patches are those of the grid {grid}."
    about = (
        f"{len(against.gaps)} definitions of the reward at one budget, {against.seeds} paired seeds. {known} {PAPERS}"
    )
    return Section(f"Coding: {grid}", about, coding_claims(scores, aligned), joined(parts))


def coding_winners_table(scores: Sequence[Score]) -> Table:
    """Fix success down, the weakest link across; the paper's winner above ours."""
    found = coding_winners(scores)
    rows: list[tuple[str, ...]] = []
    for fix, told in paper.WINNERS.items():
        rows += pair_of_rows(f"fix {fix:g}", told, [found.get(Reward(fix, weakest)) for weakest in paper.WEAKEST])
    columns = ("weight", "", *(f"weakest {weakest:g}" for weakest in paper.WEAKEST))
    note = f"Family with the lowest mean regret and its gap to the runner-up; {UNKNOWN}."
    return Table("Winner of each cell", columns, tuple(rows), note)


def about_winners(scores: Sequence[Score]) -> str:
    """Agreement of the winners, and how many of the gaps are near-ties."""
    wins = coding_winners(scores)
    same = sum(
        win.winner == paper.WINNERS[reward.fix][paper.WEAKEST.index(reward.weakest)].family
        for reward, win in wins.items()
    )
    clear, near = sum(win.gap.clear for win in wins.values()), sum(win.gap.mean < NEAR for win in wins.values())
    told = sum(win.gap < NEAR for row in paper.WINNERS.values() for win in row)
    return (
        f"The same family wins in {same} of {len(wins)} cells. Gaps below {NEAR:g}: {near} here, {told} in the paper; "
        f"here {clear} exceed two of their errors."
    )


def slices_table(against: Gaps) -> Table:
    """The two slices for which the paper prints differences."""
    rows: list[tuple[Entry, ...]] = []
    for weakest, told in paper.AGAINST_LOG.items():
        rows.append((f"{weakest:g}", "paper", *(signed(told[fix]) if fix in told else "–" for fix in WEIGHTS)))
        rows.append(("", "here", *(against.at(fix, weakest).difference for fix in WEIGHTS)))
    columns = ("weakest", "", *(f"fix {fix:g}" for fix in WEIGHTS))
    title = "Regret of representation-exp minus that of the best of obs-only, cvci and grounded"
    return Table(title, columns, tuple(rows), "The best is picked on the same seeds, so our differences lean upwards.")


def about_crossover(against: Gaps) -> str:
    """Where the sign changes along the additive slice, and what the paper says of that place."""
    means = [against.at(fix, 0.0).difference.mean for fix in WEIGHTS]
    if means[0] < 0 < means[-1]:
        last = max(fix for fix, mean in zip(WEIGHTS, means, strict=True) if mean < 0)
        here = (
            f"With additive scoring representation-exp is ahead up to fix {last:g}; the paper's crossover is at 0.25."
        )
    elif all(mean > 0 for mean in means):
        here = "With additive scoring representation-exp is behind at every weight: the paper's crossover is not here."
    elif all(mean < 0 for mean in means):
        here = "With additive scoring representation-exp is ahead at every weight: the paper's crossover is not here."
    else:
        here = "With additive scoring the sign changes, but not from ahead to behind as in the paper."
    return (
        f"{here} At fix 0.25 the paper's text has representation-exp behind by 0.0003 and its winner map ahead by "
        "0.0006; its two numbers of seeds may be the reason."
    )


def grounded_table(grounded: Gaps) -> Table:
    """grounded minus obs-only without weight on fix success."""
    told = paper.GROUNDED_MINUS_OBS
    rows: tuple[tuple[Entry, ...], ...] = (
        ("paper", *(signed(told[weakest]) if weakest in told else "–" for weakest in paper.WEAKEST)),
        ("here", *(grounded.at(0.0, weakest).difference for weakest in paper.WEAKEST)),
    )
    columns = ("", *(f"weakest {weakest:g}" for weakest in paper.WEAKEST))
    return Table("Regret of grounded minus that of obs-only at fix 0", columns, rows)


def about_grounded(grounded: Gaps) -> str:
    """How far apart the two are here, against the paper's distance."""
    ours, told = grounded.at(0.0, 0.0).difference, paper.GROUNDED_MINUS_OBS[0.0]
    if not ours.clear:
        return f"With additive scoring no difference is found here; the paper's is {signed(told)}."
    if ours.mean < 0:
        return f"With additive scoring grounded is ahead here; in the paper it is behind by {told:.4f}."
    return f"With additive scoring the distance is {ours.mean / told:.1f} times the paper's."


def fits_table(aligned: Sequence[Aligned]) -> Table:
    """R² along the additive slice."""
    found = {(one.features, one.reward): one for one in aligned}
    rows: list[tuple[Entry, ...]] = []
    for features, told in paper.FITS.items():
        rows.append((NAMES[features], "paper", *(_told(told.get(fix)) for fix in WEIGHTS)))
        rows.append(("", "here", *(found[features, Reward(fix, 0.0).name].r2 for fix in WEIGHTS)))
    columns = ("fitted on", "", *(f"fix {fix:g}" for fix in WEIGHTS))
    note = "Least squares on four fifths of the issues, R² on the rest; additive scoring."
    return Table("Held-out R² of the target", columns, tuple(rows), note)


def about_fits(aligned: Sequence[Aligned]) -> str:
    """Where fix success alone begins to explain more than the auxiliary statistics."""
    found = {(one.features, one.reward): one.median for one in aligned}
    ahead = [fix for fix in WEIGHTS if _explains(found, "first judged", fix) > _explains(found, "proxies", fix)]
    first = _explains(found, "proxies", 0.0)
    told = paper.FITS["proxies"][0.0]
    text = f"The statistics explain {first:.2f} of the target at fix 0, the paper's {told:.2f}. "
    if not ahead:
        return text + "Fix success alone explains less than they do at every weight."
    return text + f"Fix success alone explains more than they do from fix {min(ahead):g} on."


def _told(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if value else "about 0"


def _explains(found: dict[tuple[str, str], float], features: str, fix: float) -> float:
    return found[features, Reward(fix, 0.0).name]
