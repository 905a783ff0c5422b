"""The commands of the cached benchmarks, on small grids and, where available, on the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.results import read_scores, scores_digest

from deconfound.cli import main
from laboratory.tests.support.grids import make_rows, write_grid, write_rows

REAL = Path(__file__).resolve().parents[4] / "shared" / "data"
ONE_CELL = "confounding=0.5,n_log=2000,n_experiment=20,reward=smooth"
FAST = ["--workers", "1", "--families", "exp-only,obs-only"]


@pytest.fixture(scope="module")
def grid_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grids")
    for kind in ("summarization", "coding", "instructions"):
        write_grid(folder / kind, 12, 5, kind=kind)
    return folder


def run_command(kind, grid, out, *options):
    return main(["bench", kind, "--grid", str(grid), "-o", str(out), "--seeds", "2", *options])


def modification_times(folder):
    return {path.name: path.stat().st_mtime_ns for path in (*folder.glob("tasks/*"), *folder.glob("pool/*"))}


@pytest.mark.parametrize(
    ("kind", "options", "cells", "families"),
    [
        ("summarization", ["--contexts", "all", "--cells", ONE_CELL], 1, 8),
        ("coding", ["--cells", "reward=fix0-weakest0.25|fix1-weakest1"], 2, 6),
        ("instructions", ["--cells", "confounding=0.9,n_log=2000"], 2, 6),
    ],
)
def test_each_benchmark_prints_winners_and_does_not_repeat_finished_work(
    kind, options, cells, families, grid_folder, tmp_path, capsys
):
    """The digest of the second run is that of the table of the first."""
    out = tmp_path / "out"
    assert run_command(kind, grid_folder / kind, out, *options, "--workers", "1") == 0
    printed = capsys.readouterr()
    assert f"{kind}-{kind}: family with the lowest mean regret" in printed.out
    assert "saved:" in printed.err
    scores = read_scores(out / "results.parquet")
    assert len(scores) == cells * families * 2
    assert len({one.family for one in scores}) == families
    assert {one.benchmark for one in scores} == {f"{kind}-{kind}"}
    assert list((out / "tables").rglob("*.csv"))
    assert list((out / "tables").rglob("winners.svg"))
    before, table = modification_times(out), (out / "results.parquet").read_bytes()
    assert run_command(kind, grid_folder / kind, out, *options, "--workers", "1", "-q", "--json") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert modification_times(out) == before
    assert (out / "results.parquet").read_bytes() == table
    assert json.loads(printed.out)["digest"] == scores_digest(scores)


def test_views_of_summarization_have_separate_folders(grid_folder, tmp_path):
    out = tmp_path / "out"
    cells = "confounding=0.5,n_log=20000,n_experiment=20|800,reward=smooth"
    assert (
        run_command("summarization", grid_folder / "summarization", out, "--contexts", "all", "--cells", cells, *FAST)
        == 0
    )
    folders = [path.name for path in (out / "tables").iterdir() if path.is_dir()]
    assert sorted(folders) == ["settings", "values", "winner-map"]
    assert (out / "alignment.parquet").exists()


def test_variants_are_run_in_the_cells_of_the_winner_map_only(grid_folder, tmp_path):
    out = tmp_path / "out"
    cells = "confounding=0.5,n_log=2000,reward=smooth"
    assert (
        run_command(
            "summarization",
            grid_folder / "summarization",
            out,
            "--contexts",
            "all",
            "--cells",
            cells,
            "--workers",
            "1",
            "-q",
        )
        == 0
    )
    families = {}
    for one in read_scores(out / "results.parquet"):
        families.setdefault(one.cell.n_experiment, set()).add(one.family)
    assert {size: len(names) for size, names in families.items()} == {20: 8, 100: 8, 200: 6}


def test_a_variant_requested_by_name_is_shown_in_every_view(grid_folder, tmp_path, capsys):
    options = [
        "--contexts",
        "all",
        "--cells",
        ONE_CELL.replace("n_experiment=20", "n_experiment=200"),
        "--workers",
        "1",
    ]
    families = ["--families", "grounded-linear,grounded-anchor"]
    assert run_command("summarization", grid_folder / "summarization", tmp_path / "out", *options, *families) == 0
    assert "grounded-linear" in capsys.readouterr().out


@pytest.mark.parametrize(("contexts", "used"), [("all", None), ("12", 12), ("10", 10)])
def test_all_contexts_or_a_number_of_the_hardest_can_be_used(contexts, used, grid_folder, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--contexts", contexts, "--cells", ONE_CELL, "--json", *FAST]
    assert run_command("summarization", grid_folder / "summarization", out, *options) == 0
    assert json.loads(capsys.readouterr().out)["constants"]["contexts"] == used
    with np.load(out / "pool" / "environment.npz") as environment:
        assert len(environment["row"]) == (used or 12)


@pytest.mark.parametrize("contexts", ["some", "13", "9", "0", "-10", "10.5", "1e1"])
def test_invalid_numbers_of_contexts_are_rejected_before_any_work(contexts, grid_folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert (
        run_command("summarization", grid_folder / "summarization", out, f"--contexts={contexts}", "--cells", ONE_CELL)
        == 2
    )
    message = f'--contexts takes all, or a number from 10 to 12, the number of contexts of the grid, not "{contexts}".'
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_small_grid_is_used_completely(tmp_path, capsys):
    """The default of 48 does not apply to a smaller grid; only an explicit number that is too large is rejected."""
    write_grid(tmp_path / "few", 6, 2)
    assert (
        run_command("summarization", tmp_path / "few", tmp_path / "no", "--contexts", "48", "--cells", ONE_CELL, *FAST)
        == 2
    )
    assert "--contexts takes only all, because the grid has 6 contexts" in capsys.readouterr().err
    assert run_command("summarization", tmp_path / "few", tmp_path / "out", "--cells", ONE_CELL, "--workers", "1") == 0


@pytest.mark.parametrize("kind", ["summarization", "coding", "instructions"])
def test_a_missing_folder_is_a_data_error(kind, tmp_path, capsys):
    assert run_command(kind, tmp_path / "nowhere", tmp_path / "out") == 1
    message = capsys.readouterr().err
    for part in ("nowhere", "there is no such folder", "contexts.parquet and outputs.parquet"):
        assert part in message


MISSING = {
    "summarization": (("coverage", "clarity", "conciseness"), "needs at least 2 of faithfulness, coverage, clarity"),
    "coding": (("resolved",), 'there is no component "resolved"'),
    "instructions": (("preference",), 'there is no component "preference"'),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_grid_without_the_required_components_is_a_data_error(kind, tmp_path, capsys):
    contexts, outputs = make_rows(12, 4, kind=kind)
    missing, message = MISSING[kind]
    outputs = [{name: value for name, value in row.items() if name not in missing} for row in outputs]
    write_rows(tmp_path / "g", contexts, outputs)
    assert run_command(kind, tmp_path / "g", tmp_path / "out") == 1
    assert message in capsys.readouterr().err


def test_replaced_and_missing_components_are_printed_and_stored(tmp_path, capsys):
    contexts, outputs = make_rows(12, 4)
    for row in outputs:
        row["conciseness_proxy"] = row.pop("conciseness")
        del row["coverage"], row["unsupported_claims"]
    write_rows(tmp_path / "g", contexts, outputs)
    options = ["--contexts", "10", "--cells", ONE_CELL, *FAST]
    assert run_command("summarization", tmp_path / "g", tmp_path / "out", *options, "--json") == 0
    printed = capsys.readouterr()
    for line in (
        "g: conciseness_proxy is used in place of conciseness.",
        "g: coverage is not judged; the other weights are rescaled to sum to one.",
        "g: unsupported_claims is missing",
    ):
        assert line in printed.err
    constants = json.loads(printed.out)["constants"]
    assert constants["components"] == ["faithfulness", "clarity", "conciseness_proxy"]
    assert constants["left_out"] == ["coverage"]
    assert constants["claims"] is False


def test_results_of_another_grid_are_not_mixed(grid_folder, tmp_path, capsys):
    out, options = tmp_path / "out", ["--cells", "reward=fix0-weakest0", *FAST, "-q"]
    assert run_command("coding", grid_folder / "coding", out, *options) == 0
    write_grid(tmp_path / "coding", 12, 5, seed=1, kind="coding")
    assert run_command("coding", tmp_path / "coding", out, *options) == 2
    assert str(out) in capsys.readouterr().err


def run_real(name, out, capsys, kind, *options):
    if not (REAL / name / "outputs.parquet").exists():
        pytest.skip(f"the grid {name} is not on this machine")
    arguments = ["bench", kind, "--grid", str(REAL / name), "-o", str(out), "--seeds", "1", *options, *FAST, "--json"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    scores = {score.family: score for score in read_scores(out / "results.parquet")}
    assert set(scores) == {"exp-only", "obs-only"}
    assert all(0 <= score.regret < 0.5 for score in scores.values())
    return json.loads(printed.out)["constants"], printed.err


def test_summeval_has_a_proxy_component_and_no_claims(tmp_path, capsys):
    constants, printed = run_real("summeval", tmp_path, capsys, "summarization", "--cells", ONE_CELL)
    assert constants["components"] == ["faithfulness", "coverage", "clarity", "conciseness_proxy"]
    assert (constants["contexts"], constants["claims"]) == (48, False)
    assert "summeval: conciseness_proxy is used in place of conciseness." in printed


def test_polytope_has_all_components(tmp_path, capsys):
    constants, printed = run_real(
        "polytope", tmp_path, capsys, "summarization", "--cells", ONE_CELL.replace("smooth", "sharpened")
    )
    assert (constants["left_out"], constants["claims"]) == ([], True)
    assert "in place of" not in printed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "cell"),
    [
        ("swebench_verified", "coding", "reward=fix0.5-weakest0.5"),
        ("alpacaeval", "instructions", "confounding=0.5,n_log=2000,n_experiment=100"),
    ],
)
def test_the_large_real_grids_can_be_run(name, kind, cell, tmp_path, capsys):
    run_real(name, tmp_path, capsys, kind, "--cells", cell)
