"""Claims of the paper are reproduced on scores for which they are true, and only there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from deconfound_bench.reproduction import paper
from deconfound_bench.reproduction.coding_section import coding_claims
from deconfound_bench.reproduction.instructions_section import instruction_claims, summarize_verdicts
from deconfound_bench.reproduction.summarization_claims import summarization_claims
from deconfound_bench.reproduction.synthetic_section import synthetic_claims, targeted_claim
from deconfound_bench.synthetic.benchmark import TARGETED_FAMILIES
from deconfound_bench.synthetic.constants import grid_cells, targeted_cells

from deconfound.evaluation import PAPER_FAMILY_NAMES
from laboratory.tests.support.score_tables import (
    MAIN,
    REWARD_BY_NAME,
    VALUE,
    WINNER_MAP,
    coding_fits,
    coding_scores,
    equal_regret,
    instruction_regret,
    instruction_scores,
    make_scores,
    summarization_fits,
    summarization_scores,
    synthetic_regret,
)

# --- synthetic ---


def verdicts(scores):
    return [claim.verdict for claim in synthetic_claims(scores)]


def test_all_synthetic_claims_are_reproduced_where_they_are_true():
    assert verdicts(make_scores(grid_cells(), PAPER_FAMILY_NAMES, "synthetic")) == ["reproduced"] * 5


@pytest.mark.parametrize(
    ("claim", "regret", "dr", "verdict"),
    [
        (0, lambda _cell, family: 0.1 if family == "cvci" else 0.2, 0.05, "not reproduced"),
        (1, lambda _cell, family: 0.1 if family == "obs-only" else 0.2, 0.05, "not reproduced"),
        (2, lambda _cell, _family: 0.1, 0.05, "not reproduced"),
        (3, lambda cell, _family: 0.2 - 0.05 * cell.confounding, 0.05, "not reproduced"),
        (3, lambda cell, _family: 0.1 + 0.05 * cell.confounding * (cell.n_log == 2_000), 0.05, "partly reproduced"),
        (4, synthetic_regret, -0.02, "not reproduced"),
    ],
)
def test_a_false_synthetic_claim_is_not_reproduced(claim, regret, dr, verdict):
    assert verdicts(make_scores(grid_cells(), PAPER_FAMILY_NAMES, "synthetic", regret, dr))[claim] == verdict


def test_the_targeted_claim_needs_every_family_to_gain():
    gain, loss = (make_scores(targeted_cells(), TARGETED_FAMILIES, "synthetic-targeted", dr=dr) for dr in (-0.03, 0.03))
    assert targeted_claim(gain).verdict == "reproduced"
    assert targeted_claim(loss).verdict == "not reproduced"
    mixed = [better if better.family == "cvci" else worse for better, worse in zip(gain, loss, strict=True)]
    assert targeted_claim(mixed).verdict == "partly reproduced"


def test_the_reported_winners_have_the_counts_that_the_paper_gives():
    wins = [win.family for row in paper.SYNTHETIC_WINNERS.values() for win in row]
    counts = {family: wins.count(family) for family in set(wins)}
    assert counts == {"cvci": 12, "exp-only": 5, "obs-only": 4, "grounded": 2, "cvci-residual": 1}


# --- summarization ---


def summarization_verdicts(scores, fits):
    main = [one for one in scores if one.cell in MAIN and one.family in PAPER_FAMILY_NAMES]
    winner_map_scores = [one for one in scores if one.cell in WINNER_MAP]
    values = [one for one in scores if one.cell in VALUE and one.family in PAPER_FAMILY_NAMES]
    return [claim.verdict for claim in summarization_claims(main, winner_map_scores, values, fits)]


def test_all_summarization_claims_are_reproduced_where_they_are_true():
    assert summarization_verdicts(summarization_scores(), summarization_fits()) == ["reproduced"] * 11


@pytest.mark.parametrize(
    ("claim", "change", "verdict"),
    [
        (0, {"regret": lambda _cell, family: 0.1 if family == "obs-only" else 0.2}, "not reproduced"),
        (1, {"regret": lambda _cell, family: 0.1 if family == "cvci" else 0.2}, "not reproduced"),
        (2, {"regret": lambda cell, _family: 0.2 - 0.05 * (cell.n_log == 20_000)}, "not reproduced"),
        (3, {"regret": lambda _cell, family: 0.1 if family == "exp-only" else 0.2}, "partly reproduced"),
        (4, {"regret": lambda c, _family: 0.2 - 0.05 * (c.reward == "sharpened")}, "not reproduced"),
        (
            4,
            {"regret": lambda c, family: 0.1 + 0.1 * (family == "cvci") * (c.reward == "sharpened")},
            "partly reproduced",
        ),
        (7, {"gap": lambda _cell, _family: -0.02}, "partly reproduced"),
        (7, {"gap": lambda _cell, family: 0.02 if family == "obs-only" else -0.02}, "not reproduced"),
        (8, {"gap": lambda _cell, _family: 0.02}, "partly reproduced"),
        (8, {"gap": lambda cell, _family: -0.02 if cell.n_experiment < 800 else 0.02}, "not reproduced"),
        (9, {"regret": lambda _cell, family: 0.2 if family == "grounded" else 0.1}, "not reproduced"),
        (10, {"best": "cvci"}, "not reproduced"),
    ],
)
def test_a_false_summarization_claim_is_not_reproduced(claim, change, verdict):
    assert summarization_verdicts(summarization_scores(**change), summarization_fits())[claim] == verdict


def test_r2_claims_are_judged_by_the_number_of_splits():
    assert summarization_verdicts(summarization_scores(), summarization_fits(sharpened=1.0))[5] == "partly reproduced"
    assert summarization_verdicts(summarization_scores(), summarization_fits(smooth=0.99))[5] == "partly reproduced"
    assert summarization_verdicts(summarization_scores(), summarization_fits(proxies=0.9))[6] == "partly reproduced"
    outlier = tuple(
        replace(one, r2_by_seed=(-500.0, *one.r2_by_seed[1:]))
        for one in summarization_fits()
        if one.features == "proxies"
    )
    rest = tuple(one for one in summarization_fits() if one.features != "proxies")
    assert summarization_verdicts(summarization_scores(), (*outlier, *rest))[6] == "reproduced"


def test_the_reported_figures_are_consistent():
    regret = paper.SUMMARIZATION_REGRET
    for at, gap in enumerate(paper.SUMMARIZATION_EXP_MINUS_LOG_BASED):
        best = min(regret[family][at] for family in paper.SUMMARIZATION_LOG_BASED)
        assert regret["exp-only"][at] - best == pytest.approx(gap, abs=1e-9)
    for direct, robust, gap in (row for by_size in paper.SUMMARIZATION_VALUES.values() for row in by_size.values()):
        assert robust - direct == pytest.approx(gap, abs=1.01e-4)
    for smooth, sharpened, gap in paper.SUMMARIZATION_SHAPES.values():
        assert sharpened - smooth == pytest.approx(gap, abs=1.01e-4)
    wins = [win.family for row in paper.SUMMARIZATION_WINNERS.values() for win in row]
    assert {family: wins.count(family) for family in set(wins)} == {
        "grounded": 6,
        "obs-only": 5,
        "exp-only": 4,
        "cvci": 8,
        "cvci-residual": 1,
    }
    coding_gaps = [win.gap for row in paper.CODING_WINNERS.values() for win in row]
    assert len(coding_gaps) == 25
    assert sum(gap < 0.0015 for gap in coding_gaps) == 20
    assert max(coding_gaps) < 0.01


# --- coding ---


def test_all_coding_claims_are_reproduced_where_they_are_true():
    assert [claim.verdict for claim in coding_claims(coding_scores(), coding_fits())] == ["reproduced"] * 6


@pytest.mark.parametrize(
    ("claim", "regret", "verdict"),
    [
        (0, lambda _c, f: 0.1 + 0.1 * (f == "representation-exp"), "not reproduced"),
        (1, lambda _c, f: 0.2 - 0.1 * (f == "representation-exp"), "not reproduced"),
        (
            2,
            lambda c, f: 0.2 - 0.1 * (f == "representation-exp") * REWARD_BY_NAME[c.reward].fix_weight,
            "not reproduced",
        ),
        (2, lambda c, f: 0.1 + 0.1 * (f == "representation-exp") * (c.reward == "fix1-weakest1"), "partly reproduced"),
        (3, lambda _c, f: 0.1 + 0.05 * (f == "grounded"), "partly reproduced"),
        (3, lambda _c, f: 0.1 - 0.05 * (f == "grounded"), "not reproduced"),
        (4, lambda c, f: 0.1 + 0.05 * (f == "grounded") * (c.reward != "fix0-weakest0"), "partly reproduced"),
        (
            4,
            lambda c, f: 0.1 - 0.05 * (f == "grounded") * (1 - 2 * REWARD_BY_NAME[c.reward].fix_weight),
            "not reproduced",
        ),
    ],
)
def test_a_false_coding_claim_is_not_reproduced(claim, regret, verdict):
    assert coding_claims(coding_scores(regret), coding_fits())[claim].verdict == verdict


def test_the_r2_of_fix_success_must_grow_with_its_weight():
    assert coding_claims(coding_scores(), coding_fits(rise=-0.009))[-1].verdict == "partly reproduced"
    assert len(coding_claims(coding_scores(), ())) == 5


# --- instructions ---


def test_all_instruction_claims_are_reproduced_where_they_are_true():
    assert [claim.verdict for claim in instruction_claims(instruction_scores(instruction_regret))] == ["reproduced"] * 6


@pytest.mark.parametrize(
    ("claim", "change", "verdict"),
    [
        (0, {"regret": lambda _cell, family: 0.1 if family == "cvci" else 0.2}, "not reproduced"),
        (1, {"regret": lambda _cell, family: 0.1 if family == "exp-only" else 0.2}, "not reproduced"),
        (2, {"regret": lambda _cell, family: 0.1 if family == "obs-only" else 0.2}, "not reproduced"),
        (3, {"regret": equal_regret}, "not reproduced"),
        (3, {"regret": lambda c, f: 0.1 + c.n_experiment * (0.001 if f == "cvci" else 0.0001)}, "not reproduced"),
        (3, {"regret": lambda c, f: 0.2 - 0.001 * c.n_experiment * (f == "exp-only")}, "partly reproduced"),
        (4, {"regret": equal_regret}, "not reproduced"),
        (5, {"gap": lambda _cell, _family: 0.05}, "partly reproduced"),
        (5, {"gap": lambda _cell, family: 0.05 if family == "obs-only" else -0.05}, "not reproduced"),
    ],
)
def test_a_false_instruction_claim_is_not_reproduced(claim, change, verdict):
    assert instruction_claims(instruction_scores(**change))[claim].verdict == verdict


def test_the_verdicts_are_summarized_in_one_sentence():
    whole = instruction_claims(instruction_scores(instruction_regret))
    assert summarize_verdicts(whole) == "All 6 conclusions hold on this grid."
    part = instruction_claims(instruction_scores(lambda _cell, family: 0.1 if family == "cvci" else 0.2))
    assert "of 6 conclusions hold" in summarize_verdicts(part)
    assert "No family wins everywhere." in summarize_verdicts(part)
