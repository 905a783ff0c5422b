"""Tables and pictures over the two weights of the coding reward."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.coding.pictures import crossover_picture, gaps_picture, write_coding
from deconfound_bench.coding.recipe import coding_cells
from deconfound_bench.coding.tables import (
    against_log,
    coding_winners,
    crossover_table,
    crossovers,
    gaps_table,
    grounded_against_log,
    winners_table,
)
from deconfound_bench.coding.utility import REWARDS, WEIGHTS, Reward
from deconfound_bench.results import Choice, Score
from deconfound_bench.tables import to_text, winner_map

from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES

NAMES = {reward.name: reward for reward in REWARDS}
SEEDS = range(6)


def regret_of(reward, family):
    """representation-exp leads without weight on fix success, cvci with much of it, obs-only in between."""
    table = {
        "representation-exp": 0.04 + 0.05 * reward.fix,
        "obs-only": 0.05,
        "cvci": 0.055 - 0.01 * reward.fix,
        "grounded": 0.10 - 0.03 * reward.weakest,
    }
    return table.get(family, 0.2)


def make(cells=None, families=PAPER_FAMILY_NAMES, regret=regret_of, seeds=SEEDS):
    rng = np.random.default_rng(0)
    luck = rng.normal(0, 0.02, len(seeds))
    return tuple(
        Score(
            "coding-swe",
            cell,
            seed,
            family,
            regret(NAMES[cell.reward], family) + luck[seed] + rng.normal(0, 1e-3),
            *[0.1] * 6,
            choice=Choice(),
        )
        for cell in (coding_cells() if cells is None else cells)
        for seed in seeds
        for family in families
    )


def regrets(scores, family, reward):
    found = {one.seed: one.regret for one in scores if one.family == family and one.cell.reward == reward.name}
    return np.array([found[seed] for seed in SEEDS])


def test_differences_are_paired_and_against_the_best_of_the_cell():
    scores = make()
    found = against_log(scores)
    assert len(found.gaps) == 25
    for gap in found.gaps:
        rival = min(("obs-only", "cvci", "grounded"), key=lambda family: regrets(scores, family, gap.reward).mean())
        each = regrets(scores, "representation-exp", gap.reward) - regrets(scores, rival, gap.reward)
        assert gap.rival == rival
        assert gap.difference.mean == pytest.approx(each.mean(), abs=1e-12)
        assert gap.difference.error == pytest.approx(each.std(ddof=1) / math.sqrt(len(each)), abs=1e-12)
        assert gap.difference.error < 0.002  # unpaired it would be near 0.01
    assert found.at(0.0, 0.0).rival == "obs-only"
    assert found.at(1.0, 0.0).rival == "cvci"
    assert found.at(0.0, 0.0).difference.mean < 0 < found.at(1.0, 0.0).difference.mean


def test_a_family_that_wins_against_everybody_is_no_log_based_rival():
    scores = make(regret=lambda _reward, family: 0.01 if family == "exp-only" else 0.1)
    assert {gap.rival for gap in against_log(scores).gaps} <= {"obs-only", "cvci", "grounded"}


def test_grounded_is_set_against_obs_only():
    scores = make()
    found = grounded_against_log(scores)
    assert {gap.rival for gap in found.gaps} == {"obs-only"}
    assert found.at(0.0, 0.0).difference.mean == pytest.approx(0.05, abs=0.003)
    assert found.at(0.0, 1.0).difference.mean == pytest.approx(0.02, abs=0.003)


def test_fix_success_goes_down_and_the_weakest_link_across():
    table = gaps_table(grounded_against_log(make()))
    assert table.columns == ("fix", *(f"weakest {weakest:g}" for weakest in WEIGHTS))
    assert [row[0] for row in table.rows] == ["0", "0.25", "0.5", "0.75", "1"]
    means = np.array([[entry.mean for entry in row[1:]] for row in table.rows])
    assert (np.diff(means, axis=1) < 0).all()  # the weakest link narrows the distance
    assert np.abs(np.diff(means, axis=0)).max() < 0.005  # fix success does not matter to it


def test_the_winner_map_has_three_lines_a_weight():
    scores = make()
    table = winners_table(winner_map(scores))
    assert len(table.rows) == 15
    assert table.rows[0][:2] == ("0", "representation-exp")
    assert table.rows[12][0] == "1"
    assert table.rows[12][1].rstrip("?") == "cvci"
    assert table.rows[14][1] == "over obs-only"
    assert coding_winners(scores)[Reward(0.0, 1.0)].winner == "representation-exp"


def test_curves_follow_fix_success_at_each_weight_of_the_weakest_link():
    scores = make()
    found = crossovers(scores)
    assert [one.weakest for one in found] == list(WEIGHTS)
    for one in found:
        for family, row in zip(one.families, one.regret, strict=True):
            means = [regrets(scores, family, Reward(fix, one.weakest)).mean() for fix in WEIGHTS]
            assert [each.mean for each in row] == pytest.approx(means)
    text = to_text(crossover_table("coding-swe", len(SEEDS), found))
    assert "fix 0.75" in text
    assert text.count("representation-exp") == 5


def test_a_part_of_the_grid_leaves_its_places_empty():
    cells = [cell for cell in coding_cells() if cell.reward in ("fix0-weakest0", "fix0-weakest1", "fix1-weakest0")]
    scores = make(cells)
    assert gaps_table(against_log(scores)).rows[1][2] == ""
    assert winners_table(winner_map(scores)).rows[3][2] == ""
    assert crossover_table("b", 6, crossovers(scores)).rows[-1][-1] == ""
    assert gaps_picture(against_log(scores)).count(b"against") == 3
    assert crossover_picture("b", 6, crossovers(scores))


def test_strange_rewards_and_mixed_budgets_are_refused():
    strange = [replace(one, cell=replace(one.cell, reward="smooth")) for one in make(coding_cells()[:1])]
    with pytest.raises(UsageError, match='"smooth" is none of the coding'):
        against_log(strange)
    cell = coding_cells()[0]
    both = [cell, replace(cell, confounding=0.9)]
    with pytest.raises(UsageError, match="more than the reward"):
        crossovers(make(both))


def test_one_seed_is_shown_without_errors():
    text = to_text(gaps_table(against_log(make(seeds=range(1)))))
    assert "One seed." in text
    assert "±" not in text


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_coding(make(), tmp_path_factory.mktemp("tables"))


def test_everything_is_written_once(written):
    names = {path.stem for path in written}
    assert names == {"coding-winners", "coding-crossover", "coding-against-log", "coding-grounded"}
    assert len(written) == len(set(written)) == 15
    assert {path.stem for path in written if path.suffix == ".svg"} == names - {"coding-winners"}


def test_the_same_scores_give_the_same_bytes(written, tmp_path):
    for path, again in zip(written, write_coding(make(), tmp_path), strict=True):
        assert path.read_bytes() == again.read_bytes()


def test_the_csv_holds_the_numbers_in_full(written):
    path = next(path for path in written if path.name == "coding-against-log.csv")
    rows = list(csv.DictReader(path.read_text().splitlines()))
    gap = against_log(make()).at(0.25, 0.5)
    row = next(row for row in rows if (row["fix"], row["weakest"]) == ("0.25", "0.5"))
    assert float(row["difference"]) == gap.difference.mean
    assert float(row["difference error"]) == gap.difference.error
    assert row["rival"] == gap.rival


def test_the_map_frames_what_is_clearly_better_and_hatches_what_is_unclear():
    def tile(regret):
        cells = [cell for cell in coding_cells() if cell.reward == "fix0-weakest0"]
        return gaps_picture(against_log(make(cells, regret=regret))).decode()

    better = tile(lambda _reward, family: 0.05 if family == "representation-exp" else 0.1)
    worse = tile(lambda _reward, family: 0.15 if family == "representation-exp" else 0.1)
    same = tile(lambda _reward, _family: 0.1)
    frame = "stroke: #000000; stroke-width: 2"
    assert frame in better
    assert frame not in worse
    assert "<pattern" not in better + worse
    assert "<pattern" in same
    assert "#0072b2" in better
    assert "#d55e00" in worse


def test_comparisons_of_families_that_were_not_run_are_left_out(tmp_path):
    families = ("exp-only", "obs-only", "grounded")
    names = {path.stem for path in write_coding(make(families=families), tmp_path)}
    assert names == {"coding-winners", "coding-crossover", "coding-grounded"}
