"""Claims of the paper: found in worlds where they are so, and only there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from deconfound_bench.reproduction import paper
from deconfound_bench.reproduction import paper_coding as pc
from deconfound_bench.reproduction import paper_summarization as ps
from deconfound_bench.reproduction.claims import synthetic_claims, targeted_claim
from deconfound_bench.reproduction.coding_claims import coding_claims
from deconfound_bench.reproduction.instructions import carried_over, instruction_claims
from deconfound_bench.reproduction.summarization_claims import summarization_claims
from deconfound_bench.synthetic.constants import grid_cells, targeted_cells
from deconfound_bench.synthetic.targeted import TARGETED_FAMILIES

from deconfound.evaluation import PAPER_FAMILY_NAMES
from laboratory.tests.support.score_tables import (
    CODING,
    MAIN,
    MAP,
    VALUE,
    answers,
    chat_regret,
    coding_fits,
    flat,
    make,
    patches,
    regret_of,
    summaries,
    summary_fits,
)

# --- synthetic ---


def verdicts(scores):
    return [claim.verdict for claim in synthetic_claims(scores)]


def test_a_world_as_the_paper_describes_it_is_found():
    assert verdicts(make(grid_cells(), PAPER_FAMILY_NAMES, "synthetic")) == ["found"] * 5


@pytest.mark.parametrize(
    ("claim", "regret", "dr", "verdict"),
    [
        (0, lambda _cell, family: 0.1 if family == "cvci" else 0.2, 0.05, "not found"),
        (1, lambda _cell, family: 0.1 if family == "obs-only" else 0.2, 0.05, "not found"),
        (2, lambda _cell, _family: 0.1, 0.05, "not found"),
        (3, lambda cell, _family: 0.2 - 0.05 * cell.confounding, 0.05, "not found"),
        (3, lambda cell, _family: 0.1 + 0.05 * cell.confounding * (cell.n_log == 2_000), 0.05, "partly found"),
        (4, regret_of, -0.02, "not found"),
    ],
)
def test_what_is_not_so_is_not_found(claim, regret, dr, verdict):
    assert verdicts(make(grid_cells(), PAPER_FAMILY_NAMES, "synthetic", regret, dr))[claim] == verdict


def test_the_targeted_regime_needs_every_family_to_gain():
    gain, loss = (make(targeted_cells(), TARGETED_FAMILIES, "synthetic-targeted", dr=dr) for dr in (-0.03, 0.03))
    assert targeted_claim(gain).verdict == "found"
    assert targeted_claim(loss).verdict == "not found"
    mixed = [better if better.family == "cvci" else worse for better, worse in zip(gain, loss, strict=True)]
    assert targeted_claim(mixed).verdict == "partly found"


def test_the_papers_winners_are_counted_as_it_counts_them():
    wins = [win.family for row in paper.SYNTHETIC_WINNERS.values() for win in row]
    counts = {family: wins.count(family) for family in set(wins)}
    assert counts == {"cvci": 12, "exp-only": 5, "obs-only": 4, "grounded": 2, "cvci-residual": 1}


# --- summaries ---


def summary_verdicts(scores, aligned):
    main = [one for one in scores if one.cell in MAIN and one.family in PAPER_FAMILY_NAMES]
    chart = [one for one in scores if one.cell in MAP]
    values = [one for one in scores if one.cell in VALUE and one.family in PAPER_FAMILY_NAMES]
    return [claim.verdict for claim in summarization_claims(main, chart, values, aligned)]


def test_a_world_of_summaries_as_the_paper_describes_it_is_found():
    assert summary_verdicts(summaries(), summary_fits()) == ["found"] * 11


@pytest.mark.parametrize(
    ("claim", "change", "verdict"),
    [
        (0, {"regret": lambda _cell, family: 0.1 if family == "obs-only" else 0.2}, "not found"),
        (1, {"regret": lambda _cell, family: 0.1 if family == "cvci" else 0.2}, "not found"),
        (2, {"regret": lambda cell, _family: 0.2 - 0.05 * (cell.n_log == 20_000)}, "not found"),
        (3, {"regret": lambda _cell, family: 0.1 if family == "exp-only" else 0.2}, "partly found"),
        (4, {"regret": lambda c, _family: 0.2 - 0.05 * (c.reward == "sharpened")}, "not found"),
        (4, {"regret": lambda c, family: 0.1 + 0.1 * (family == "cvci") * (c.reward == "sharpened")}, "partly found"),
        (7, {"gap": lambda _cell, _family: -0.02}, "partly found"),
        (7, {"gap": lambda _cell, family: 0.02 if family == "obs-only" else -0.02}, "not found"),
        (8, {"gap": lambda _cell, _family: 0.02}, "partly found"),
        (8, {"gap": lambda cell, _family: -0.02 if cell.n_experiment < 800 else 0.02}, "not found"),
        (9, {"regret": lambda _cell, family: 0.2 if family == "grounded" else 0.1}, "not found"),
        (10, {"best": "cvci"}, "not found"),
    ],
)
def test_what_is_not_so_of_summaries_is_not_found(claim, change, verdict):
    assert summary_verdicts(summaries(**change), summary_fits())[claim] == verdict


def test_fits_are_judged_by_the_splits_in_which_they_hold():
    assert summary_verdicts(summaries(), summary_fits(sharpened=1.0))[5] == "partly found"
    assert summary_verdicts(summaries(), summary_fits(smooth=0.99))[5] == "partly found"
    assert summary_verdicts(summaries(), summary_fits(proxies=0.9))[6] == "partly found"
    wild = tuple(replace(one, each=(-500.0, *one.each[1:])) for one in summary_fits() if one.features == "proxies")
    rest = tuple(one for one in summary_fits() if one.features != "proxies")
    assert summary_verdicts(summaries(), (*wild, *rest))[6] == "found"


def test_the_papers_own_figures_agree_with_each_other():
    for log_based, gap in zip(
        zip(*(ps.REGRET[f] for f in ps.LOG_BASED), strict=True), ps.EXP_MINUS_LOG_BASED, strict=True
    ):
        at = ps.EXP_MINUS_LOG_BASED.index(gap)
        assert ps.REGRET["exp-only"][at] - min(log_based) == pytest.approx(gap, abs=1e-9)
    for direct, robust, gap in (row for by_size in ps.VALUES.values() for row in by_size.values()):
        assert robust - direct == pytest.approx(gap, abs=1.01e-4)
    for smooth, sharpened, gap in ps.SHAPES.values():
        assert sharpened - smooth == pytest.approx(gap, abs=1.01e-4)
    wins = [win.family for row in ps.WINNERS.values() for win in row]
    assert {family: wins.count(family) for family in set(wins)} == {
        "grounded": 6,
        "obs-only": 5,
        "exp-only": 4,
        "cvci": 8,
        "cvci-residual": 1,
    }
    coding_gaps = [win.gap for row in pc.WINNERS.values() for win in row]
    assert len(coding_gaps) == 25
    assert sum(gap < 0.0015 for gap in coding_gaps) == 20
    assert max(coding_gaps) < 0.01


# --- patches ---


def test_a_world_of_patches_as_the_paper_describes_it_is_found():
    assert [claim.verdict for claim in coding_claims(patches(), coding_fits())] == ["found"] * 6


@pytest.mark.parametrize(
    ("claim", "regret", "verdict"),
    [
        (0, lambda _c, f: 0.1 + 0.1 * (f == "representation-exp"), "not found"),
        (1, lambda _c, f: 0.2 - 0.1 * (f == "representation-exp"), "not found"),
        (2, lambda c, f: 0.2 - 0.1 * (f == "representation-exp") * CODING[c.reward].fix, "not found"),
        (2, lambda c, f: 0.1 + 0.1 * (f == "representation-exp") * (c.reward == "fix1-weakest1"), "partly found"),
        (3, lambda _c, f: 0.1 + 0.05 * (f == "grounded"), "partly found"),
        (3, lambda _c, f: 0.1 - 0.05 * (f == "grounded"), "not found"),
        (4, lambda c, f: 0.1 + 0.05 * (f == "grounded") * (c.reward != "fix0-weakest0"), "partly found"),
        (4, lambda c, f: 0.1 - 0.05 * (f == "grounded") * (1 - 2 * CODING[c.reward].fix), "not found"),
    ],
)
def test_what_is_not_so_of_patches_is_not_found(claim, regret, verdict):
    assert coding_claims(patches(regret), coding_fits())[claim].verdict == verdict


def test_fix_success_must_explain_more_as_its_weight_grows():
    assert coding_claims(patches(), coding_fits(rise=-0.009))[-1].verdict == "partly found"
    assert len(coding_claims(patches(), ())) == 5


# --- answers ---


def test_a_world_of_answers_as_the_paper_describes_its_own_is_found():
    assert [claim.verdict for claim in instruction_claims(answers(chat_regret))] == ["found"] * 6


@pytest.mark.parametrize(
    ("claim", "change", "verdict"),
    [
        (0, {"regret": lambda _cell, family: 0.1 if family == "cvci" else 0.2}, "not found"),
        (1, {"regret": lambda _cell, family: 0.1 if family == "exp-only" else 0.2}, "not found"),
        (2, {"regret": lambda _cell, family: 0.1 if family == "obs-only" else 0.2}, "not found"),
        (3, {"regret": flat}, "not found"),
        (3, {"regret": lambda c, f: 0.1 + c.n_experiment * (0.001 if f == "cvci" else 0.0001)}, "not found"),
        (3, {"regret": lambda c, f: 0.2 - 0.001 * c.n_experiment * (f == "exp-only")}, "partly found"),
        (4, {"regret": flat}, "not found"),
        (5, {"gap": lambda _cell, _family: 0.05}, "partly found"),
        (5, {"gap": lambda _cell, family: 0.05 if family == "obs-only" else -0.05}, "not found"),
    ],
)
def test_what_does_not_carry_over_is_not_found(claim, change, verdict):
    assert instruction_claims(answers(**change))[claim].verdict == verdict


def test_the_verdicts_are_summed_up_in_one_sentence():
    whole = instruction_claims(answers(chat_regret))
    assert carried_over(whole) == "All 6 conclusions carry over to this grid."
    part = instruction_claims(answers(lambda _cell, family: 0.1 if family == "cvci" else 0.2))
    assert "of 6 conclusions carry over" in carried_over(part)
    assert "No family wins everywhere." in carried_over(part)
