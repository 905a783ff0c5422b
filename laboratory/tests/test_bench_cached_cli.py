"""The commands of the cached benchmarks, on small grids and, where they are, on the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.results import Cell, Choice, Score, read_scores
from deconfound_bench.sweep import digest
from deconfound_bench.views import View, write_views

from deconfound.cli import main
from deconfound.evaluation import PAPER_FAMILY_NAMES
from laboratory.tests.support.grids import make_rows, write_grid, write_rows

REAL = Path(__file__).resolve().parents[3] / "shared" / "data"
ONE = "confounding=0.5,n_log=2000,n_experiment=20,reward=smooth"
FAST = ["--workers", "1", "--families", "exp-only,obs-only"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    where = tmp_path_factory.mktemp("grids")
    for kind in ("summarization", "coding", "instructions"):
        write_grid(where / kind, 12, 5, kind=kind)
    return where


def bench(kind, grid, out, *options):
    return main(["bench", kind, "--grid", str(grid), "-o", str(out), "--seeds", "2", *options])


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in (*folder.glob("tasks/*"), *folder.glob("pool/*"))}


@pytest.mark.parametrize(
    ("kind", "options", "cells", "families"),
    [
        ("summarization", ["--contexts", "all", "--cells", ONE], 1, 8),
        ("coding", ["--cells", "reward=fix0-weakest0.25|fix1-weakest1"], 2, 6),
        ("instructions", ["--cells", "confounding=0.9,n_log=2000"], 2, 6),
    ],
)
def test_each_benchmark_runs_shows_winners_and_goes_on_where_it_was(
    kind, options, cells, families, place, tmp_path, capsys
):
    """Also started twice it does nothing twice, and the digest it tells is that of its table."""
    out = tmp_path / "out"
    assert bench(kind, place / kind, out, *options, "--workers", "1") == 0
    said = capsys.readouterr()
    assert f"{kind}-{kind}: family with the lowest mean regret" in said.out
    assert "kept:" in said.err
    scores = read_scores(out / "results.parquet")
    assert len(scores) == cells * families * 2
    assert len({one.family for one in scores}) == families
    assert {one.benchmark for one in scores} == {f"{kind}-{kind}"}
    assert list((out / "tables").rglob("*.csv"))
    assert list((out / "tables").rglob("winners.svg"))
    before, table = times(out), (out / "results.parquet").read_bytes()
    assert bench(kind, place / kind, out, *options, "--workers", "1", "-q", "--json") == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert times(out) == before
    assert (out / "results.parquet").read_bytes() == table
    assert json.loads(said.out)["digest"] == digest(scores)


def test_views_of_summarization_have_folders_of_their_own(place, tmp_path):
    out = tmp_path / "out"
    cells = "confounding=0.5,n_log=20000,n_experiment=20|800,reward=smooth"
    assert bench("summarization", place / "summarization", out, "--contexts", "all", "--cells", cells, *FAST) == 0
    folders = [path.name for path in (out / "tables").iterdir() if path.is_dir()]
    assert sorted(folders) == ["settings", "values", "winner-map"]
    assert (out / "alignment.parquet").exists()


def test_variants_are_run_where_they_are_compared_and_nowhere_else(place, tmp_path):
    out = tmp_path / "out"
    cells = "confounding=0.5,n_log=2000,reward=smooth"
    assert bench("summarization", place / "summarization", out, "--contexts", "all", "--cells", cells, "-q") == 0
    families = {}
    for one in read_scores(out / "results.parquet"):
        families.setdefault(one.cell.n_experiment, set()).add(one.family)
    assert {size: len(names) for size, names in families.items()} == {20: 8, 100: 8, 200: 6}


def test_a_variant_asked_for_by_name_is_shown_where_only_the_six_are_by_custom(place, tmp_path, capsys):
    options = ["--contexts", "all", "--cells", ONE.replace("n_experiment=20", "n_experiment=200"), "--workers", "1"]
    asked = ["--families", "grounded-linear,grounded-anchor"]
    assert bench("summarization", place / "summarization", tmp_path / "out", *options, *asked) == 0
    assert "grounded-linear" in capsys.readouterr().out


@pytest.mark.parametrize(("contexts", "held"), [("all", None), ("12", 12), ("10", 10)])
def test_contexts_may_be_all_or_so_many_of_the_hardest(contexts, held, place, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--contexts", contexts, "--cells", ONE, "--json", *FAST]
    assert bench("summarization", place / "summarization", out, *options) == 0
    assert json.loads(capsys.readouterr().out)["constants"]["contexts"] == held
    with np.load(out / "pool" / "world.npz") as world:
        assert len(world["row"]) == (held or 12)


@pytest.mark.parametrize("contexts", ["some", "13", "9", "0", "-10", "10.5", "1e1"])
def test_other_contexts_are_refused_before_any_work(contexts, place, tmp_path, capsys):
    out = tmp_path / "out"
    assert bench("summarization", place / "summarization", out, f"--contexts={contexts}", "--cells", ONE) == 2
    said = capsys.readouterr().err
    assert f'--contexts takes all or a number from 10 to 12, as many as the grid has, not "{contexts}".' in said
    assert not out.exists()


def test_a_grid_of_few_contexts_is_used_as_a_whole(tmp_path, capsys):
    """The usual 48 are no order: a smaller grid is taken whole, and only a number that is too large is refused."""
    write_grid(tmp_path / "few", 6, 2)
    assert bench("summarization", tmp_path / "few", tmp_path / "no", "--contexts", "48", "--cells", ONE, *FAST) == 2
    assert "--contexts takes only all where the grid has 6 contexts" in capsys.readouterr().err
    assert bench("summarization", tmp_path / "few", tmp_path / "out", "--cells", ONE, "--workers", "1") == 0


@pytest.mark.parametrize("kind", ["summarization", "coding", "instructions"])
def test_a_folder_that_is_not_there_is_bad_data(kind, tmp_path, capsys):
    assert bench(kind, tmp_path / "nowhere", tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "nowhere" in said
    assert "there is no such folder" in said
    assert "contexts.parquet and outputs.parquet" in said


LACKING = {
    "summarization": (("coverage", "clarity", "conciseness"), "needs at least 2 of faithfulness, coverage, clarity"),
    "coding": (("resolved",), 'there is no component "resolved"'),
    "instructions": (("preference",), 'there is no component "preference"'),
}


@pytest.mark.parametrize("kind", LACKING)
def test_a_grid_without_the_components_is_bad_data_and_told_so(kind, tmp_path, capsys):
    asked, given = make_rows(12, 4, kind=kind)
    lacking, message = LACKING[kind]
    write_rows(tmp_path / "g", asked, [{k: v for k, v in row.items() if k not in lacking} for row in given])
    assert bench(kind, tmp_path / "g", tmp_path / "out") == 1
    assert message in capsys.readouterr().err


def test_what_stands_in_and_what_is_left_out_is_told_and_kept(tmp_path, capsys):
    asked, given = make_rows(12, 4)
    for row in given:
        row["conciseness_proxy"] = row.pop("conciseness")
        del row["coverage"], row["unsupported_claims"]
    write_rows(tmp_path / "g", asked, given)
    options = ["--contexts", "10", "--cells", ONE, *FAST]
    assert bench("summarization", tmp_path / "g", tmp_path / "out", *options, "--json") == 0
    said = capsys.readouterr()
    for line in (
        "g: conciseness_proxy stands in for conciseness.",
        "g: coverage is not judged; the other weights are scaled up to sum to one.",
        "g: unsupported_claims is not counted",
    ):
        assert line in said.err
    told = json.loads(said.out)["constants"]
    assert told["components"] == ["faithfulness", "clarity", "conciseness_proxy"]
    assert told["left_out"] == ["coverage"]
    assert told["claims"] is False


def test_another_grid_does_not_mix_with_the_results_of_the_first(place, tmp_path, capsys):
    out, options = tmp_path / "out", ["--cells", "reward=fix0-weakest0", *FAST, "-q"]
    assert bench("coding", place / "coding", out, *options) == 0
    write_grid(tmp_path / "coding", 12, 5, seed=1, kind="coding")
    assert bench("coding", tmp_path / "coding", out, *options) == 2
    assert str(out) in capsys.readouterr().err


def a_score(cell, family):
    return Score("b", cell, 0, family, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 0.0, Choice())


def test_a_view_shows_its_cells_and_families_alone(tmp_path):
    cells = [Cell(0.5, 10, size, "smooth") for size in (20, 100)]
    scores = [a_score(cell, family) for cell in cells for family in ("cvci", "grounded-anchor")]
    assert View("all", tuple(cells)).of(scores) == tuple(scores)
    assert View("one", (cells[1],)).of(scores) == tuple(scores[2:])
    assert View("six", tuple(cells), PAPER_FAMILY_NAMES).of(scores) == (scores[0], scores[2])
    empty = View("none", (Cell(0.0, 1, 1, "smooth"),))
    assert write_views(scores, (empty, empty), tmp_path) == ()


def real(name, out, capsys, kind, *options):
    if not (REAL / name / "outputs.parquet").exists():
        pytest.skip(f"the grid {name} is not on this machine")
    arguments = ["bench", kind, "--grid", str(REAL / name), "-o", str(out), "--seeds", "1", *options, *FAST, "--json"]
    assert main(arguments) == 0
    said = capsys.readouterr()
    found = {one.family: one for one in read_scores(out / "results.parquet")}
    assert set(found) == {"exp-only", "obs-only"}
    assert all(0 <= one.regret < 0.5 for one in found.values())
    return json.loads(said.out)["constants"], said.err


def test_summeval_has_a_stand_in_and_no_claims(tmp_path, capsys):
    constants, said = real("summeval", tmp_path, capsys, "summarization", "--cells", ONE)
    assert constants["components"] == ["faithfulness", "coverage", "clarity", "conciseness_proxy"]
    assert (constants["contexts"], constants["claims"]) == (48, False)
    assert "summeval: conciseness_proxy stands in for conciseness." in said


def test_polytope_has_everything(tmp_path, capsys):
    constants, said = real("polytope", tmp_path, capsys, "summarization", "--cells", ONE.replace("smooth", "sharpened"))
    assert (constants["left_out"], constants["claims"]) == ([], True)
    assert "stands in" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "cell"),
    [
        ("swebench_verified", "coding", "reward=fix0.5-weakest0.5"),
        ("alpacaeval", "instructions", "confounding=0.5,n_log=2000,n_experiment=100"),
    ],
)
def test_the_large_grids_run(name, kind, cell, tmp_path, capsys):
    real(name, tmp_path, capsys, kind, "--cells", cell)
