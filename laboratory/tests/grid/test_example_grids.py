"""Generated grids resemble real ones."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deconfound_bench.grid import read_grid

from laboratory.tests.support.grids import KINDS, make_rows, write_grid

REAL = Path(__file__).resolve().parents[4] / "shared" / "data"
SHAPES = {"summeval": (100, 16), "polytope": (150, 8), "swebench_verified": (500, 14), "alpacaeval": (400, 20)}
KIND_OF = {"polytope": "summarization", "swebench_verified": "coding", "alpacaeval": "instructions"}


@pytest.mark.parametrize("kind", KINDS)
def test_generated_grids_are_reproducible_and_grow_without_changing(tmp_path, kind):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_grid(tmp_path / name, seed=seed, kind=kind)
    files = {
        name: [(tmp_path / name / f"{role}.parquet").read_bytes() for role in ("contexts", "outputs")] for name in "abc"
    }
    assert files["a"] == files["b"]
    assert files["a"] != files["c"]
    small, large = make_rows(5, 3, kind=kind), make_rows(9, 3, kind=kind)
    assert large[0][:5] == small[0]
    assert large[1][:15] == small[1]


@pytest.mark.parametrize(
    ("kind", "component", "word", "sign"),
    [
        ("summarization", "faithfulness", "promised", -1),
        ("summarization", "coverage", "Residents", 1),
        ("summarization", "clarity", "also also", -1),
        ("summarization", "conciseness", "goes without saying", -1),
        ("coding", "resolved", "except", -1),
        ("instructions", "preference", "good tools", 1),
    ],
)
def test_words_of_generated_outputs_correlate_with_their_components(tmp_path, kind, component, word, sign):
    write_grid(tmp_path, 60, 10, kind=kind)
    grid = read_grid(tmp_path)
    occurs = np.array([[word in text for text in line] for line in grid.outputs])
    assert sign * np.corrcoef(occurs.ravel(), grid.components[component].ravel())[0, 1] > 0.25


def test_generated_patches_count_their_lines_correctly_and_some_are_empty(tmp_path):
    """The line counts in hunk headers are those that follow, as tools that apply patches require."""
    write_grid(tmp_path, 60, 10, kind="coding")
    grid = read_grid(tmp_path)
    patches = [text for line in grid.outputs for text in line]
    assert 0 < patches.count("") < 100
    np.testing.assert_array_equal(grid.components["has_patch"].ravel(), [text != "" for text in patches])
    np.testing.assert_array_equal(grid.components["n_files"].ravel(), [text.count("diff --git") for text in patches])
    for patch in {*patches, *grid.context_columns["gold_patch"]} - {""}:
        for old, new, body in re.findall(
            r"^@@ -\d+,(\d+) \+\d+,(\d+) @@[^\n]*\n((?:[ +-][^\n]*\n)+?)(?=diff|\Z)", patch, re.M
        ):
            signs = [line[0] for line in body.splitlines()]
            assert (int(old), int(new)) == (len(signs) - signs.count("+"), len(signs) - signs.count("-"))


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real grids is not on this machine")
@pytest.mark.parametrize("name", SHAPES)
def test_real_grids_are_read_completely_and_quickly(name):
    start = time.perf_counter()
    grid = read_grid(REAL / name)
    seconds = time.perf_counter() - start
    assert (len(grid.context_ids), len(grid.models)) == SHAPES[name]
    assert grid.omissions == (
        ('omitted column "reference" of polytope/contexts.parquet: it is empty',) if name == "polytope" else ()
    )
    assert seconds < 10, "a second is typical; more than ten is a defect, not a busy machine"


@pytest.mark.skipif(not REAL.is_dir(), reason="the folder of real grids is not on this machine")
@pytest.mark.parametrize("name", KIND_OF)
def test_generated_grids_have_the_columns_of_real_ones(tmp_path, name):
    write_grid(tmp_path, kind=KIND_OF[name])
    for role in ("contexts", "outputs"):
        real, generated = (pq.read_schema(folder / f"{role}.parquet") for folder in (REAL / name, tmp_path))
        types = dict(zip(real.names, real.types, strict=True))
        if name == "polytope" and role == "contexts":
            types["reference"] = pa.large_string()  # empty there; summeval's are text
        assert dict(zip(generated.names, generated.types, strict=True)) == types
        assert generated.names == real.names
