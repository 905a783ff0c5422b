"""The summarization task: hard contexts, missing components and unsupported claims."""

from __future__ import annotations

import numpy as np
import pytest
from deconfound_bench.tasks.summarization import (
    available_components,
    component_scores,
    grid_notes,
    main_cells,
    read_hardest_contexts,
    read_judged_grid,
    summarization_environment,
    value_cells,
    winner_map_cells,
)

from deconfound.errors import DataError
from laboratory.tests.support.grids import make_rows, write_grid, write_rows

CLOSE = {"rtol": 0.0, "atol": 1e-12}


def test_cells_are_those_of_the_paper():
    main, winners, values = main_cells(), winner_map_cells(), value_cells()
    assert [len(set(cells)) for cells in (main, winners, values)] == [48, 24, 18]
    assert {cell.confounding for cell in main} == {0.0, 0.2, 0.5, 0.8, 0.9, 0.99}
    assert {(cell.n_log, cell.n_experiment) for cell in main} == {(n, m) for n in (2_000, 20_000) for m in (20, 200)}
    assert {(cell.n_log, cell.n_experiment) for cell in winners} == {(n, m) for n in (2_000, 20_000) for m in (20, 100)}
    assert {(cell.n_log, cell.n_experiment) for cell in values} == {(20_000, m) for m in (100, 200, 800)}
    assert {cell.reward for cell in (*winners, *values)} == {"smooth"}


def test_the_hardest_contexts_are_those_with_the_lowest_mean_scores(grid_folder):
    whole = read_judged_grid(grid_folder / "summaries")
    hard = read_hardest_contexts(grid_folder / "summaries", 4)
    names = ("faithfulness", "coverage", "clarity", "conciseness")
    mean = {
        context_id: np.mean([whole.components[name][at] for name in names])
        for at, context_id in enumerate(whole.context_ids)
    }
    assert set(hard.context_ids) == set(sorted(mean, key=mean.__getitem__)[:4])
    assert list(hard.context_ids) == sorted(hard.context_ids)
    for at, context_id in enumerate(hard.context_ids):
        before = whole.context_ids.index(context_id)
        assert hard.outputs[at] == whole.outputs[before]
        assert hard.contexts[at] == whole.contexts[before]
        assert hard.context_columns["reference"][at] == whole.context_columns["reference"][before]
        assert (hard.components["clarity"][at] == whole.components["clarity"][before]).all()
    assert hard.digest != whole.digest
    assert read_hardest_contexts(grid_folder / "summaries", None).digest == whole.digest
    assert read_hardest_contexts(grid_folder / "summaries", 12).digest == whole.digest


def write_changed_grid(folder, change):
    contexts, outputs = make_rows(8, 3)
    for row in outputs:
        change(row)
    write_rows(folder, contexts, outputs)
    return folder


def use_proxy(row):
    row["conciseness_proxy"] = row.pop("conciseness") ** 2
    del row["unsupported_claims"]


def remove_clarity(row):
    del row["clarity"]


def test_a_proxy_column_replaces_its_component_with_a_note(tmp_path):
    grid = read_judged_grid(write_changed_grid(tmp_path / "g", use_proxy))
    notes = grid_notes(grid)
    assert notes[0] == "conciseness_proxy is used in place of conciseness."
    assert "unsupported_claims is missing" in notes[1]
    assert len(notes) == 2
    assert available_components(grid) == ("faithfulness", "coverage", "clarity", "conciseness")
    scores = component_scores(grid)
    np.testing.assert_array_equal(scores[..., 3], grid.components["conciseness_proxy"])
    expected = scores @ [0.15, 0.15, 0.15, 0.55]
    outcome = summarization_environment(grid).expected_outcome["smooth"]
    np.testing.assert_allclose(outcome[..., 3], expected, **CLOSE)


def test_without_a_component_the_other_weights_are_rescaled_with_a_note(tmp_path):
    grid = read_judged_grid(write_changed_grid(tmp_path / "g", remove_clarity))
    assert grid_notes(grid) == ("clarity is not judged; the other weights are rescaled to sum to one.",)
    part = grid.components
    expected = (0.55 * part["faithfulness"] + 0.20 * part["coverage"] + 0.10 * part["conciseness"]) / 0.85
    outcome = summarization_environment(grid).expected_outcome["smooth"]
    np.testing.assert_allclose(outcome[..., 0], expected, **CLOSE)


def test_a_complete_grid_has_no_notes(grid_folder):
    assert grid_notes(read_judged_grid(grid_folder / "summaries")) == ()


def test_unsupported_claims_lower_the_sharpened_reward_only(tmp_path):
    def remove_claims(row):
        row["unsupported_claims"] = 0

    write_grid(tmp_path / "a", 8, 3)
    with_claims = summarization_environment(read_judged_grid(tmp_path / "a")).expected_outcome
    without = summarization_environment(
        read_judged_grid(write_changed_grid(tmp_path / "b", remove_claims))
    ).expected_outcome
    assert (without["sharpened"] >= with_claims["sharpened"]).all()
    assert (without["sharpened"] > with_claims["sharpened"]).any()
    assert (without["smooth"] == with_claims["smooth"]).all()


@pytest.mark.parametrize("claims", [None, -1])
def test_missing_or_negative_claim_counts_are_rejected(tmp_path, claims):
    """They would make an outcome NaN, or raise it for unsupported claims."""

    def damage(row):
        if row["context_id"] == "art-003":
            row["unsupported_claims"] = claims

    with pytest.raises(DataError, match="unsupported_claims"):
        read_judged_grid(write_changed_grid(tmp_path / "g", damage))
