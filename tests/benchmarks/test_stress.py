"""The stress benchmark: its truths are exact, its studies repeatable, its marks correct, and every scenario runs.

Simulated means are compared at four standard errors, which a correct generator exceeds with probability 6e-5 per mean.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, linregress

from benchmarks import stress, stress_runs
from benchmarks.stress_generators import MAX_Z, Design, Mechanism, Users, draw_contexts, simulate, truncated_normal
from benchmarks.stress_learner import fit_t_learner
from benchmarks.stress_references import newcombe_interval, wilson_interval
from benchmarks.stress_runs import Results, source_digest
from benchmarks.stress_scenarios import RARE_SHARE, Scenario, all_scenarios
from benchmarks.stress_scores import Measures, measure
from benchmarks.stress_summaries import Summary, Target, ratio, worst_model
from benchmarks.stress_tables import Cells, all_tables, comparison_table

SCENARIOS = all_scenarios()
PROPORTIONS = (binomtest(56, 70).proportion_ci, binomtest(48, 80).proportion_ci)
LARGE = 12_000  # rows of the studies that check truths


def small(scenario: Scenario) -> Scenario:
    """The same situation with few rows, for speed."""
    given = scenario.design
    design = replace(
        given,
        rows=min(given.rows, 60),
        log_rows=100,
        users=min(given.users, 20),
        extra_contexts=min(given.extra_contexts, 20),
        fresh_contexts=20,
    )
    return replace(scenario, design=design)


FAST = (
    "baseline",
    "tiny",
    "bounded_high_20",
    "bounded_users_40",
    "two_way_30",
    "extra_contexts",
    "interaction",
    "few_2x20_inverting",
)


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in SCENARIOS]
)
def test_every_scenario_gives_finite_measures_that_its_tables_show(name):
    scenario = small(SCENARIOS[name])
    studies = [{**measure(scenario, 0, number), "seconds": 0.1} for number in range(2)]
    for study in studies:
        numbers = [x for one in study.values() for x in (one if isinstance(one, list) else [one]) if x is not None]
        assert np.isfinite(numbers).all()
    tables = all_tables({name: scenario}, {name: studies}, Cells())
    assert all(name in table.markdown() for table in tables)


@pytest.mark.parametrize(
    "name", ["baseline", "baseline_yes_no", "bounded_high_50", "interaction", "few_12x10_inverting"]
)
def test_mean_outcomes_are_the_stated_values_and_log_values(name):
    mechanism = SCENARIOS[name].mechanism
    study = simulate(mechanism, Design(LARGE, log_rows=LARGE, fresh_contexts=1), np.random.default_rng(1))
    for table, truth in ((study.experiment, study.value), (study.log, study.log_value)):
        model, outcome = np.array(table["model"].to_pylist()), table["outcome"].to_numpy()
        for code, expected in zip(study.models, truth, strict=True):
            own = outcome[model == code]
            assert abs(own.mean() - expected) < 4 * own.std() / np.sqrt(len(own))


@pytest.mark.parametrize(
    ("name", "factor"), [("interaction", 1), ("interaction_absent", 0), ("interaction_reversed", -1)]
)
def test_log_and_experiment_have_their_own_slopes(name, factor):
    """Least-squares slopes on feature_length, per model."""
    mechanism = SCENARIOS[name].mechanism
    study = simulate(mechanism, Design(LARGE, log_rows=LARGE, fresh_contexts=1), np.random.default_rng(3))
    for table, multiple in ((study.experiment, 1), (study.log, factor)):
        model, outcome = np.array(table["model"].to_pylist()), table["outcome"].to_numpy()
        length = table["feature_length"].to_numpy()
        for code, slope in zip(study.models, mechanism.interactions, strict=True):
            fitted = linregress(length[model == code], outcome[model == code])
            assert abs(fitted.slope - multiple * slope) < 4 * fitted.stderr


def test_users_who_agree_with_themselves_change_no_mean():
    """Two rows of a user use the same random number in 49 % of the pairs, and are as correlated."""
    mechanism = replace(SCENARIOS["bounded_users_40"].mechanism, value=(0.95, 0.95), log_bias=())
    design = Design(LARGE, log_rows=10, users=LARGE // 2, fresh_contexts=1)
    table = simulate(mechanism, design, np.random.default_rng(4)).experiment
    outcome, user = table["outcome"].to_numpy(), np.array(table["cluster"].to_pylist())
    _, code, count = np.unique(user, return_inverse=True, return_counts=True)
    total = np.bincount(code, outcome - 0.95)
    assert abs(total.sum()) < 4 * np.sqrt((total**2).sum())
    products = total**2 - np.bincount(code, (outcome - 0.95) ** 2)  # of all ordered pairs of rows of one user
    correlation = products.sum() / (count * (count - 1)).sum() / (0.95 * 0.05)
    assert abs(correlation - 0.49) < 4 * np.sqrt((products**2).sum()) / (count * (count - 1)).sum() / (0.95 * 0.05)


@pytest.mark.parametrize("name", ["two_way_30", "users_uneven"])
def test_user_and_context_effects_have_mean_zero(name):
    """Means over 200 studies; outcomes of one study are correlated."""
    scenario = SCENARIOS[name]
    design = replace(scenario.design, rows=100, log_rows=10, fresh_contexts=1)
    rng = np.random.default_rng(2)
    studies = [simulate(scenario.mechanism, design, rng) for _ in range(200)]
    error = np.array([np.mean(study.outcome - study.value[study.model]) for study in studies])
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(len(error))


@pytest.mark.parametrize("name", ["one_best", "one_best_hidden"])
def test_the_first_model_loses_on_the_stated_share_of_contexts(name):
    contexts = draw_contexts(SCENARIOS[name].mechanism, "c", 100_000, np.random.default_rng(3))
    share = float((contexts.q.argmax(axis=1) != 0).mean())
    assert abs(share - RARE_SHARE) < 4 * np.sqrt(RARE_SHARE / 100_000)


def test_the_oracle_gain_is_that_of_the_best_model_per_context():
    mechanism = SCENARIOS["interaction"].mechanism
    contexts = draw_contexts(mechanism, "c", 100_000, np.random.default_rng(4))
    best = int(np.argmax(mechanism.value))
    gain = contexts.q.max(axis=1) - contexts.q[:, best]
    assert mechanism.oracle_gain() == pytest.approx(0.05, abs=0.005)
    assert abs(gain.mean() - mechanism.oracle_gain()) < 4 * gain.std() / np.sqrt(len(gain))


def test_extra_contexts_are_shifted_by_a_quarter_of_a_standard_deviation():
    scenario = SCENARIOS["extra_contexts"]
    design = replace(scenario.design, rows=20_000, extra_contexts=20_000, log_rows=10, fresh_contexts=1)
    study = simulate(scenario.mechanism, design, np.random.default_rng(5))
    topic, ids = study.replay["feature_topic"].to_numpy(), study.replay["context_id"].to_pylist()
    extra = np.array([name.startswith("x") for name in ids])
    shift = (topic[extra].mean() - topic[~extra].mean()) / topic[~extra].std()
    assert abs(shift - 0.25) < 4 * np.sqrt(2 / 20_000)


def test_effects_that_could_leave_the_unit_interval_are_refused():
    with pytest.raises(ValueError, match="outside 0 to 1"):
        Mechanism((0.9, 0.5), slope=0.05)


def test_truncated_effects_stay_inside_their_range():
    assert np.abs(truncated_normal(np.random.default_rng(6), 10_000)).max() <= MAX_Z


def test_studies_depend_on_seed_scenario_and_number_alone():
    one, other = SCENARIOS["baseline"], SCENARIOS["baseline_yes_no"]
    assert one.study(0, 1).experiment.equals(one.study(0, 1).experiment)
    assert not one.study(0, 1).experiment.equals(one.study(0, 2).experiment)
    assert not one.study(0, 1).experiment.equals(one.study(1, 1).experiment)
    assert not np.array_equal(one.study(0, 1).model, other.study(0, 1).model)


def test_the_t_learner_recovers_crossing_slopes_and_never_chooses_a_model_without_rows():
    rng = np.random.default_rng(7)
    columns, model = rng.normal(size=(400, 2)), rng.integers(2, size=400)
    outcome = 0.5 + 0.1 * (2 * model - 1) * columns[:, 1] + 0.05 * rng.normal(size=400)
    learner = fit_t_learner(columns, model, outcome, 3)
    assert learner.slope[:2, 1] == pytest.approx([-0.1, 0.1], abs=4 * 0.05 / np.sqrt(190))
    assert set(learner.best(columns).tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("mean", "error", "status"),
    [(0.95, 0.01, "met"), (0.925, 0.01, "open"), (0.90, 0.01, "low"), (1.0, 0.0, "high"), (0.97, 0.0, "met")],
)
def test_a_target_is_missed_outside_two_standard_errors(mean, error, status):
    assert Target(0.93, 0.97).status(Summary(mean, error, studies=400)) == status


def test_a_few_studies_without_a_miss_do_not_show_coverage_above_the_target():
    """Of 20 studies at 97 %, all cover with probability 0.54."""
    assert Target(0.93, 0.97).status(Summary(1.0, 0.0, studies=20)) == "open"


def test_the_worst_model_is_the_one_with_the_lowest_mean():
    studies: list[Measures] = [{"headline": [1.0, 0.0, None]}, {"headline": [1.0, 1.0, 1.0]}]
    worst = worst_model(studies, "headline")
    assert worst is not None
    assert (worst.mean, worst.studies, worst.compared) == (0.5, 2, 3)


def test_ratios_are_of_totals_with_jackknife_errors():
    """Leaving out one of (1, 2), (2, 4), (0, 2) gives 1/3, 1/4 and 1/2."""
    studies: list[Measures] = [{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 4.0}, {"a": 0.0, "b": 2.0}]
    summary = ratio(studies, "a", "b")
    assert summary is not None
    left_out = np.array([1 / 3, 1 / 4, 1 / 2])
    assert summary.mean == pytest.approx(3 / 8)
    assert summary.standard_error == pytest.approx(np.sqrt(2 / 3 * ((left_out - left_out.mean()) ** 2).sum()))


def stored(path: Path, covered: float, source: str | None = None) -> Path:
    """Four hundred studies of one scenario with the given share of covering studies."""
    hits = np.arange(400) < 400 * covered
    studies: dict[int, Measures] = {
        n: {"refused": 0.0, "headline": [float(hit)] * 3, "seconds": 0.1} for n, hit in enumerate(hits.tolist())
    }
    Results(0, source or source_digest(), {"columns_only": studies}).write(path)
    return path


@pytest.mark.parametrize(("covered", "code"), [(0.95, 0), (0.8, 1), (1.0, 1)])
def test_the_exit_code_is_one_if_a_target_is_missed(tmp_path, capsys, covered, code):
    out = stored(tmp_path / "results.json", covered)
    assert stress.main(["--only", "columns_only", "--studies", "400", "--out", str(out)]) == code
    assert ("✗" in capsys.readouterr().out.split("##", 1)[1]) == bool(code)


def test_a_run_continues_where_it_was_interrupted(tmp_path, monkeypatch, capsys):
    ran: list[int] = []

    def fake(task: tuple[tuple[str, int], int]) -> tuple[tuple[str, int], Measures]:
        (name, number), _ = task
        ran.append(number)
        if number == 30:
            raise KeyboardInterrupt
        return (name, number), {"refused": 1.0, "seconds": 0.1}

    monkeypatch.setattr(stress_runs, "run_study", fake)
    arguments = ["--only", "tiny", "--studies", "30", "--processes", "1", "--out", str(tmp_path / "r.json")]
    with pytest.raises(KeyboardInterrupt):
        stress.main([*arguments[:3], "40", *arguments[4:]])
    ran.clear()
    assert stress.main(arguments) == 0
    assert ran == list(range(stress_runs.BATCH, 30))
    assert "| 30 " in capsys.readouterr().out


def test_results_of_other_code_are_not_continued(tmp_path):
    out = stored(tmp_path / "results.json", 0.95, source="other")
    with pytest.raises(SystemExit, match="another version"):
        stress.main(["--only", "columns_only", "--studies", "0", "--out", str(out)])


def test_files_of_two_runs_are_merged(tmp_path, capsys):
    first, second = tmp_path / "first.json", stored(tmp_path / "second.json", 0.95)
    Results(0, source_digest(), {"tiny": {0: {"refused": 1.0, "seconds": 0.1}}}).write(first)
    stress.main(["--studies", "0", "--out", str(first), "--merge", str(second)])
    assert set(Results.read(first).studies) == {"tiny", "columns_only"}
    assert "tiny" in capsys.readouterr().out


def test_a_comparison_lists_what_changed():
    before: dict[str, dict[int, Measures]] = {"baseline": {n: {"a": 0.5, "b": float(n % 2)} for n in range(10)}}
    after: dict[str, dict[int, Measures]] = {"baseline": {n: {"a": 0.6, "b": float(n % 2)} for n in range(10)}}
    rows = comparison_table(before, after).rows[1:]
    assert [row[:5] for row in rows] == [["baseline", "a", "10", "0.5000", "0.6000"]]


def test_an_unknown_scenario_is_refused():
    with pytest.raises(SystemExit, match="no scenario"):
        stress.select(["unknown"])


def test_a_name_that_starts_others_selects_itself_alone():
    assert list(stress.select(["baseline"])) == ["baseline"]
    assert len(stress.select(["bounded"])) == 8


def test_wilsons_and_newcombes_intervals_are_those_of_the_textbook():
    """56 of 70 and 48 of 80: Newcombe's method 10 gives 0.0524 to 0.3339 for the difference (Newcombe, 1998)."""
    mean, rows = np.array([56 / 70, 48 / 80]), np.array([70.0, 80.0])
    single = wilson_interval(mean, rows)
    expected = [interval(0.95, method="wilson") for interval in PROPORTIONS]
    np.testing.assert_allclose(single, [(one.low, one.high) for one in expected])
    difference = newcombe_interval(mean, single, np.array([0]), np.array([1]))
    np.testing.assert_allclose(difference, [[0.0524, 0.3339]], atol=5e-5)


def test_one_user_has_the_rows_that_the_design_gives():
    """12,000 rows: a share of 0.28 beyond an equal one has a standard error of 0.004."""
    users = Users(100, "e", uneven=False, heaviest=0.28)
    rows = np.bincount(users.draw(LARGE, np.random.default_rng(3)), minlength=100) / LARGE
    assert rows[0] == pytest.approx(0.28 + 0.72 / 100, abs=4 * 0.0042)
    assert rows[1:].max() < 0.02
