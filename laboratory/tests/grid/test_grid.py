"""The digest of a grid depends on all of its contents and on nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.grid import read_grid, with_digest

from laboratory.tests.support.grids import written


def test_the_digest_ignores_the_order_of_rows_and_columns(tmp_path, rows):
    contexts, outputs = rows
    base = read_grid(written(tmp_path / "a" / "g", rows))
    reordered = [dict(reversed(row.items())) for row in reversed(outputs)]
    assert read_grid(written(tmp_path / "b" / "g", (contexts[::-1], reordered))).digest == base.digest
    assert with_digest(replace(base, components=dict(reversed(base.components.items())))).digest == base.digest
    assert re.fullmatch("[0-9a-f]{64}", base.digest)


def first(texts, new):
    return (new, *texts[1:])


CHANGES = {
    "name": lambda grid: {"name": grid.name + "s"},
    "context id": lambda grid: {"context_ids": first(grid.context_ids, "art")},
    "context": lambda grid: {"contexts": first(grid.contexts, grid.contexts[0] + " ")},
    "model": lambda grid: {"models": first(grid.models, "A")},
    "output": lambda grid: {"outputs": (first(grid.outputs[0], "A"), *grid.outputs[1:])},
    "component": lambda grid: {"components": {**grid.components, "clarity": grid.components["clarity"] + 1e-12}},
    "component name": lambda grid: {"components": {"A" + k: v for k, v in grid.components.items()}},
    "context column": lambda grid: {"context_columns": {"reference": first(grid.context_columns["reference"], "")}},
    "context column name": lambda grid: {"context_columns": {"references": grid.context_columns["reference"]}},
    "border of two texts": lambda grid: {
        "contexts": (grid.contexts[0] + grid.contexts[1][:1], grid.contexts[1][1:], *grid.contexts[2:])
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_depends_on(change, folder, rows):
    grid = read_grid(written(folder, rows))
    assert with_digest(grid).digest == grid.digest
    assert with_digest(replace(grid, **CHANGES[change](grid))).digest != grid.digest


def test_zeros_and_nans_have_equal_digests_whatever_their_bits(folder, rows):
    grid = read_grid(written(folder, rows))
    values = np.zeros((12, 5))
    values[0, 0] = np.nan
    twin = -values
    other = np.asfortranarray(np.where(np.isnan(twin), -np.nan, twin))
    assert (
        with_digest(replace(grid, components={"c": values})).digest
        == with_digest(replace(grid, components={"c": other})).digest
    )
