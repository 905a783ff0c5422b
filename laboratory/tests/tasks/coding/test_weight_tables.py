"""Tables and figures over the two weights of the coding reward."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.results import Hyperparameters, Score
from deconfound_bench.score_tables import to_text, winner_map
from deconfound_bench.tasks.coding.spec import coding_cells
from deconfound_bench.tasks.coding.utility import REWARDS, WEIGHTS, CodingReward
from deconfound_bench.tasks.coding.weight_figures import (
    crossover_figure,
    differences_figure,
    write_coding_outputs,
)
from deconfound_bench.tasks.coding.weight_tables import (
    coding_winners,
    coding_winners_table,
    crossover_curves,
    crossover_table,
    differences_table,
    grounded_vs_log,
    representation_vs_log,
)

from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES

NAMES = {reward.name: reward for reward in REWARDS}
SEEDS = range(6)


def regret_of(reward, family):
    """representation-exp leads without weight on fix success, cvci at full weight, obs-only in between."""
    table = {
        "representation-exp": 0.04 + 0.05 * reward.fix_weight,
        "obs-only": 0.05,
        "cvci": 0.055 - 0.01 * reward.fix_weight,
        "grounded": 0.10 - 0.03 * reward.weakest_weight,
    }
    return table.get(family, 0.2)


def make_scores(cells=None, families=PAPER_FAMILY_NAMES, regret=regret_of, seeds=SEEDS):
    rng = np.random.default_rng(0)
    seed_noise = rng.normal(0, 0.02, len(seeds))
    return tuple(
        Score(
            "coding-swe",
            cell,
            seed,
            family,
            regret(NAMES[cell.reward], family) + seed_noise[seed] + rng.normal(0, 1e-3),
            *[0.1] * 6,
            hyperparameters=Hyperparameters(),
        )
        for cell in (coding_cells() if cells is None else cells)
        for seed in seeds
        for family in families
    )


def regrets(scores, family, reward):
    by_seed = {one.seed: one.regret for one in scores if one.family == family and one.cell.reward == reward.name}
    return np.array([by_seed[seed] for seed in SEEDS])


def test_differences_are_paired_and_against_the_best_log_based_family_of_the_cell():
    scores = make_scores()
    content = representation_vs_log(scores)
    assert len(content.differences) == 25
    for one in content.differences:
        reference = min(("obs-only", "cvci", "grounded"), key=lambda family: regrets(scores, family, one.reward).mean())
        by_seed = regrets(scores, "representation-exp", one.reward) - regrets(scores, reference, one.reward)
        assert one.reference == reference
        assert one.estimate.mean == pytest.approx(by_seed.mean(), abs=1e-12)
        expected_se = by_seed.std(ddof=1) / math.sqrt(len(by_seed))
        assert one.estimate.standard_error == pytest.approx(expected_se, abs=1e-12)
        assert one.estimate.standard_error < 0.002  # unpaired it would be near 0.01
    without_fix, with_fix = content.for_reward(0.0, 0.0), content.for_reward(1.0, 0.0)
    assert (without_fix.reference, with_fix.reference) == ("obs-only", "cvci")
    assert without_fix.estimate.mean < 0 < with_fix.estimate.mean


def test_only_log_based_families_are_references():
    scores = make_scores(regret=lambda _reward, family: 0.01 if family == "exp-only" else 0.1)
    assert {one.reference for one in representation_vs_log(scores).differences} <= {"obs-only", "cvci", "grounded"}


def test_grounded_is_compared_with_obs_only():
    scores = make_scores()
    content = grounded_vs_log(scores)
    assert {one.reference for one in content.differences} == {"obs-only"}
    assert content.for_reward(0.0, 0.0).estimate.mean == pytest.approx(0.05, abs=0.003)
    assert content.for_reward(0.0, 1.0).estimate.mean == pytest.approx(0.02, abs=0.003)


def test_rows_are_weights_of_fix_success_and_columns_weights_of_the_weakest_component():
    table = differences_table(grounded_vs_log(make_scores()))
    assert table.columns == ("fix", *(f"weakest {weakest:g}" for weakest in WEIGHTS))
    assert [row[0] for row in table.rows] == ["0", "0.25", "0.5", "0.75", "1"]
    means = np.array([[entry.mean for entry in row[1:]] for row in table.rows])
    assert (np.diff(means, axis=1) < 0).all()  # the weakest component narrows the gap
    assert np.abs(np.diff(means, axis=0)).max() < 0.005  # fix success has no effect


def test_the_winner_table_has_three_lines_per_weight():
    scores = make_scores()
    table = coding_winners_table(winner_map(scores))
    assert len(table.rows) == 15
    assert table.rows[0][:2] == ("0", "representation-exp")
    assert table.rows[12][0] == "1"
    assert table.rows[12][1].rstrip("?") == "cvci"
    assert table.rows[14][1] == "over obs-only"
    assert coding_winners(scores)[CodingReward(0.0, 1.0)].winner == "representation-exp"


def test_curves_give_regret_by_fix_success_at_each_weight_of_the_weakest_component():
    scores = make_scores()
    curves = crossover_curves(scores)
    assert [curve.weakest_weight for curve in curves] == list(WEIGHTS)
    for curve in curves:
        for family, row in zip(curve.families, curve.regret, strict=True):
            rewards = [CodingReward(fix, curve.weakest_weight) for fix in WEIGHTS]
            means = [regrets(scores, family, reward).mean() for reward in rewards]
            assert [each.mean for each in row] == pytest.approx(means)
    text = to_text(crossover_table("coding-swe", len(SEEDS), curves))
    assert "fix 0.75" in text
    assert text.count("representation-exp") == 5


def test_missing_rewards_give_empty_entries():
    cells = [cell for cell in coding_cells() if cell.reward in ("fix0-weakest0", "fix0-weakest1", "fix1-weakest0")]
    scores = make_scores(cells)
    assert differences_table(representation_vs_log(scores)).rows[1][2] == ""
    assert coding_winners_table(winner_map(scores)).rows[3][2] == ""
    assert crossover_table("b", 6, crossover_curves(scores)).rows[-1][-1] == ""
    assert differences_figure(representation_vs_log(scores)).count(b"against") == 3
    assert crossover_figure("b", 6, crossover_curves(scores))


def test_unknown_rewards_and_mixed_budgets_are_rejected():
    unknown = [replace(one, cell=replace(one.cell, reward="smooth")) for one in make_scores(coding_cells()[:1])]
    with pytest.raises(UsageError, match='"smooth" is not a reward of the coding'):
        representation_vs_log(unknown)
    cell = coding_cells()[0]
    both = [cell, replace(cell, confounding=0.9)]
    with pytest.raises(UsageError, match="more than the reward"):
        crossover_curves(make_scores(both))


def test_one_seed_is_shown_without_standard_errors():
    text = to_text(differences_table(representation_vs_log(make_scores(seeds=range(1)))))
    assert "One seed." in text
    assert "±" not in text


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_coding_outputs(make_scores(), tmp_path_factory.mktemp("tables"))


def test_every_table_and_figure_is_written_once(paths):
    names = {path.stem for path in paths}
    assert names == {"coding-winners", "coding-crossover", "coding-against-log", "coding-grounded"}
    assert len(paths) == len(set(paths)) == 15
    assert {path.stem for path in paths if path.suffix == ".svg"} == names - {"coding-winners"}


def test_equal_scores_give_equal_bytes(paths, tmp_path):
    for path, again in zip(paths, write_coding_outputs(make_scores(), tmp_path), strict=True):
        assert path.read_bytes() == again.read_bytes()


def test_the_csv_has_full_precision(paths):
    path = next(path for path in paths if path.name == "coding-against-log.csv")
    rows = list(csv.DictReader(path.read_text().splitlines()))
    difference = representation_vs_log(make_scores()).for_reward(0.25, 0.5)
    row = next(row for row in rows if (row["fix"], row["weakest"]) == ("0.25", "0.5"))
    assert float(row["difference"]) == difference.estimate.mean
    assert float(row["difference standard error"]) == difference.estimate.standard_error
    assert row["reference"] == difference.reference


def test_the_map_frames_clearly_lower_regret_and_hatches_unclear_differences():
    def tile(regret):
        cells = [cell for cell in coding_cells() if cell.reward == "fix0-weakest0"]
        return differences_figure(representation_vs_log(make_scores(cells, regret=regret))).decode()

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


def test_comparisons_of_families_that_were_not_run_are_omitted(tmp_path):
    families = ("exp-only", "obs-only", "grounded")
    names = {path.stem for path in write_coding_outputs(make_scores(families=families), tmp_path)}
    assert names == {"coding-winners", "coding-crossover", "coding-grounded"}
