"""The real-grid benchmark: drawing, storing and scoring on a small artificial grid; the real ones where they exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("deconfound_bench", reason="the laboratory is not installed")

from benchmarks import real_grids
from benchmarks import real_grids_studies as studies
from benchmarks.real_grids import TABLES, Column, Results, change, comparison_table, jackknife
from benchmarks.real_grids_studies import (
    LOG_ROWS,
    PLANS,
    ROWS_PER_MODEL,
    GridStudy,
    evenly_spaced,
    prepare_grid,
    read_study,
    regrets,
    study_source,
    value_measures,
    write_study,
)

DATA = Path(__file__).parents[3] / "shared" / "data"
WORDS = ["river", "stone", "apple", "window", "garden", "market", "letter", "engine", "winter", "bridge"]


@pytest.fixture
def polytope(tmp_path: Path) -> Path:
    """A folder with an artificial grid in the format of polytope: 20 contexts, 3 models."""
    rng = np.random.default_rng(1)
    ids = [f"c{n:02d}" for n in range(20)]
    contexts = [f"{' '.join(rng.choice(WORDS, size=30))} {n}." for n in ids]
    cells = [(c, m) for c in ids for m in ("a", "b", "c")]
    scores = {name: rng.random(len(cells)) for name in ("faithfulness", "coverage", "clarity", "conciseness")}
    folder = tmp_path / "data" / "polytope"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"context_id": ids, "context": contexts}), folder / "contexts.parquet")
    output = [" ".join(rng.choice(WORDS, size=8)) for _ in cells]
    columns = {"context_id": [c for c, _ in cells], "model": [m for _, m in cells], "output": output}
    claims = {"unsupported_claims": rng.integers(3, size=len(cells))}
    pq.write_table(pa.table({**columns, **scores, **claims}), folder / "outputs.parquet")
    return folder


def test_a_study_has_the_truth_of_the_whole_grid_and_fresh_contexts_of_its_own(polytope):
    prepared = prepare_grid(polytope)
    study = prepared.draw(3000)
    q = prepared.environment.expected_outcome["smooth"].mean(axis=2)
    np.testing.assert_allclose(study.value, q.mean(axis=0))
    rows = [prepared.grid.context_ids.index(name) for name in study.fresh_ids]
    np.testing.assert_allclose(study.fresh_q, q[rows])
    assert set(study.fresh["context_id"].to_pylist()) == set(study.fresh_ids)
    used = {*study.log["context_id"].to_pylist(), *study.experiment["context_id"].to_pylist()}
    assert used <= set(study.replay["context_id"].to_pylist())
    assert not set(study.replay["context_id"].to_pylist()) & set(study.fresh_ids)


def test_tables_have_the_columns_and_sizes_of_a_study(polytope):
    study = prepare_grid(polytope).draw(3000)
    texts = ["context_id", "context", "model", "output"]
    assert study.log.column_names == [*texts, "outcome", "label_unsupported_claims"]
    assert study.experiment.column_names == [*texts, "outcome"]
    assert study.replay.column_names == study.fresh.column_names == texts
    assert (study.log.num_rows, study.replay.num_rows, study.fresh.num_rows) == (LOG_ROWS, 48, 12)
    small, large = (study.first_rows(rows) for rows in ROWS_PER_MODEL)
    assert (small.num_rows, large.num_rows) == (15, 60)
    assert large.slice(0, 15).equals(small)


def test_every_outcome_is_that_of_its_output_for_some_user(polytope):
    prepared = prepare_grid(polytope)
    log, grid = prepared.draw(3001).log, prepared.grid
    expected = prepared.environment.expected_outcome["smooth"]
    for row in log.slice(0, 50).to_pylist():
        c, m = grid.context_ids.index(row["context_id"]), grid.models.index(row["model"])
        assert row["output"] == grid.outputs[c][m]
        assert np.isclose(expected[c, m], row["outcome"]).any()


def test_a_stored_study_is_read_back(polytope, tmp_path):
    study = prepare_grid(polytope).draw(3000)
    write_study(study, tmp_path / "stored")
    read = read_study(tmp_path / "stored")
    assert (read.models, read.fresh_ids) == (study.models, study.fresh_ids)
    assert all(getattr(read, name).equals(getattr(study, name)) for name in studies.TABLES)
    np.testing.assert_array_equal(read.fresh_q, study.fresh_q)
    np.testing.assert_array_equal(read.value, study.value)


def test_models_are_evenly_spaced():
    assert evenly_spaced(14, 6).tolist() == [0, 3, 5, 8, 10, 13]
    assert evenly_spaced(3, 8).tolist() == [0, 1, 2]


def small_study() -> GridStudy:
    empty = pa.table({})
    q = np.array([[0.9, 0.1], [0.2, 0.6]])
    return GridStudy(("a", "b"), empty, empty, empty, empty, np.array([0.5, 0.4]), ("x", "y"), q)


def test_regret_is_the_loss_against_the_best_model_of_each_context_and_of_all():
    measures = regrets(small_study(), {"values": ["a", "a"], "recommended": ["a", "b"]})
    expected = {"values": (0.2, 0.0), "recommended": (0.0, -0.2)}
    for name, (regret, net) in expected.items():
        assert measures[f"regret_{name}"] == pytest.approx(regret)
        assert measures[f"net_{name}"] == pytest.approx(net)
    assert measures["regret_best_single"] == pytest.approx(0.2)


def test_the_best_single_model_is_that_of_the_whole_grid_not_of_the_fresh_contexts():
    study = replace(small_study(), value=np.array([0.4, 0.5]))
    assert regrets(study, {})["regret_best_single"] == pytest.approx(0.4)
    assert regrets(study, {"values": ["a", "a"]})["net_values"] == pytest.approx(-0.2)


def test_errors_skip_a_model_without_rows():
    interval = np.array([[0.0, 1.0], [0.6, 0.7]])
    measures = value_measures("experiment", np.array([np.nan, 0.6]), interval, np.array([0.5, 0.5]))
    assert measures["mse_experiment"] == pytest.approx(0.01)
    assert measures["covered_experiment"] == [1.0, 0.0]
    assert measures["width_experiment"] == pytest.approx(0.55)


def test_the_jackknife_of_a_mean_is_its_standard_error():
    rows = np.random.default_rng(0).normal(size=30)
    assert jackknife(Column("x", "x").statistic, rows) == pytest.approx((rows.mean(), rows.std(ddof=1) / np.sqrt(30)))
    assert jackknife(Column("x", "x", root=True).statistic, rows**2)[0] == pytest.approx(np.sqrt((rows**2).mean()))


def test_the_worst_model_is_that_with_the_smallest_mean():
    rows: list[studies.Measures] = [{"x": [1.0, 0.0, 1.0]}, {"x": [0.0, 0.0, 1.0]}, {"x": [1.0, 1.0, 1.0]}]
    assert Column("x", "x", worst=True).series(rows).tolist() == [0.0, 0.0, 1.0]
    assert Column("x", "x").series(rows) == pytest.approx([2 / 3, 1 / 3, 1.0])


def test_a_change_is_paired():
    rows = np.random.default_rng(0).normal(size=30)
    assert change(Column("x", "x"), rows, rows + 0.5) == pytest.approx((0.5, 0.0))


def test_a_comparison_uses_the_seeds_that_both_versions_answered():
    title = next(iter(TABLES))

    def measures(mse: float) -> studies.Measures:
        return {"refused": 0.0, **{column.measure: mse for column in TABLES[title]}}

    before = {"polytope, 5 rows": {1: measures(0.04), 2: measures(0.04), 3: {"refused": 1.0}}}
    after = {"polytope, 5 rows": {1: measures(0.01), 2: measures(0.01), 3: measures(0.9), 4: measures(0.9)}}
    assert "| values | 2 | 0.2000 ± 0.0000 | 0.1000 ± 0.0000 | -0.1000 ± 0.0000 * |" in comparison_table(
        title, before, after
    )


def test_a_run_exports_evaluates_and_continues(polytope, tmp_path, capsys, monkeypatch):
    stored, out = str(tmp_path / "stored"), tmp_path / "out.json"
    arguments = ["--grids", "polytope", "--seeds", "3000"]
    assert real_grids.main([*arguments, "--data", str(polytope.parent), "--export", stored]) == 0
    assert real_grids.main([*arguments, "--studies", stored, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert all(title in shown for title in TABLES)
    cells = Results.read(out).studies
    assert {cell: sorted(rows) for cell, rows in cells.items()} == {
        f"polytope, {rows} rows": [3000] for rows in ROWS_PER_MODEL
    }
    monkeypatch.setattr(real_grids, "evaluate", lambda *_: pytest.fail("it is stored"))
    assert real_grids.main([*arguments, "--studies", stored, "--out", str(out), "--compare", str(out)]) == 0
    assert "Before and after" in capsys.readouterr().out


def test_results_of_another_version_are_not_continued(tmp_path, polytope):
    out = tmp_path / "out.json"
    Results("other").write(out)
    with pytest.raises(SystemExit, match="another version"):
        real_grids.main(["--data", str(polytope.parent), "--grids", "polytope", "--out", str(out)])


def test_absent_grids_are_named_with_exit_code_two(tmp_path, capsys):
    assert real_grids.main(["--data", str(tmp_path)]) == 2
    assert "summeval is absent" in capsys.readouterr().err
    assert real_grids.main(["--studies", str(tmp_path), "--seeds", "3000"]) == 2
    assert "absent" in capsys.readouterr().err


@pytest.mark.parametrize("name", PLANS)
def test_the_real_grids_give_studies(name):
    if not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is absent")
    study = study_source(DATA, None)(name, 3000)
    assert len(study.models) == PLANS[name].models
    assert study.log.num_rows == LOG_ROWS
    assert ((study.value > 0) & (study.value < 1)).all()
