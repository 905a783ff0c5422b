"""Patches are judged within [0, 1] and in the right direction, from their text and the issue's."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.tasks.coding.components import STATISTICS, describe_patch, is_test, judge_patch, split_words
from deconfound_bench.tasks.coding.patches import Patch, read_patch
from hypothesis import given, settings
from hypothesis import strategies as st

from laboratory.tests.support.patches import (
    BINARY,
    BINARY_DATA,
    CREATE,
    DELETE,
    GIT_PATCHES,
    MODE,
    MOVE,
    NO_NEWLINE,
    PLAIN,
    added_lines,
)

GRID = Path(__file__).resolve().parents[5] / "shared" / "data" / "swebench_verified"
MAX_PATCH_CHARACTERS = 200_000  # the grid truncates longer patches


@pytest.mark.parametrize(
    "text", ["", "\n", "I could not fix it.", "@@ -1 +1 @@\n-a\n+b\n", "+a\n-b\n", "--- a\n+++ b\n"]
)
def test_a_text_without_changes_scores_zero(text):
    assert read_patch(text) == Patch()
    assert judge_patch("Fix a and b", text) == (0.0, 0.0, 0.0)
    described = dict(zip(STATISTICS, describe_patch("Fix a and b", text), strict=True))
    assert described.pop("log_characters") == np.log2(1 + len(text))
    assert set(described.values()) == {0.0}


def test_size_and_locality_follow_their_formulas():
    """Seven lines give one half; a second file in another directory with a second block costs 1 + 1 + 1/2."""
    assert judge_patch("", added_lines("a/x.py", 7))[0] == pytest.approx(1 / 2)
    assert judge_patch("", DELETE + CREATE)[0] == pytest.approx(7 / 11)
    assert judge_patch("", MODE + BINARY + MOVE)[0] == pytest.approx(7 / 10)
    assert judge_patch("", added_lines("a/x.py", 7))[1] == 1.0
    assert judge_patch("", added_lines("a/x.py", 1) + added_lines("b/y.py", 1))[1] == pytest.approx(1 / 3.5)
    near, far = (
        added_lines("a/x.py", 1) + added_lines("a/x.py", 1, 3),
        added_lines("a/x.py", 1) + "@@ -256,0 +258 @@\n+z\n",
    )
    assert judge_patch("", near)[1] == pytest.approx(1 / 1.5)
    assert judge_patch("", far)[1] == pytest.approx(1 / 2.5, abs=1e-3)


def test_focus_is_the_mean_share_of_issue_words_on_lines_and_in_paths():
    """The issue has two of the words bulk, create, batch and size on changed lines, and one of three in the path."""
    text = "--- a/db/models/query.py\n+++ b/db/models/query.py\n@@ -1 +1 @@\n-bulkCreate(1)\n+bulk_create(batch_size)\n"
    issue = "QuerySet.bulk_update() should create all of them"
    assert judge_patch(issue, text)[2] == pytest.approx((2 / 4 + 1 / 3) / 2)
    assert judge_patch("", text)[2] == 0.0
    assert judge_patch("bulk create batch, sizes; db model query", text)[2] == 1.0


def test_a_patch_without_changed_words_is_judged_by_its_paths():
    assert judge_patch("moved", MOVE)[2] == pytest.approx(1 / 2)
    assert judge_patch("pkg.moved is odd", MOVE)[2] == 1.0


def test_the_path_of_a_test_counts_for_focus_only_without_other_files():
    test, fix = added_lines("tests/test_read.py", 1), added_lines("pkg/write.py", 1)
    assert judge_patch("read", test)[2] == pytest.approx((0 + 1 / 2) / 2)
    assert judge_patch("read", test + fix)[2] == 0.0


def test_words_are_split_at_underscores_dots_slashes_and_capitals():
    assert split_words(["HTTPServer.get_allItems/v2 the self.process of Axes"]) == {
        "http", "server", "item", "process", "axe",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("pkg/io/tests/helper.py", True),
        ("test_requests.py", True),
        ("pkg/core_test.go", True),
        ("src/FooTests.java", True),
        ("pkg/conftest.py", True),
        ("django/test/client.py", False),
        ("pkg/latest.py", False),
        ("pkg/contest.py", False),
    ],
)
def test_tests_are_recognized_by_their_paths(path, tests):
    assert is_test(path) is tests


def test_a_test_counts_as_a_file_but_not_as_a_directory():
    fix = added_lines("pkg/io/read.py", 3)
    test, other = added_lines("tests/io/test_read.py", 3), added_lines("docs/io/read.py", 3)
    assert judge_patch("", fix)[1] > judge_patch("", fix + test)[1] > judge_patch("", fix + other)[1]


@given(st.integers(1, 400), st.integers(1, 400))
def test_a_longer_patch_has_a_lower_size_score(one, other):
    short, long = sorted((one, other))
    assert judge_patch("", added_lines("x.py", short))[0] >= judge_patch("", added_lines("x.py", long))[0]
    assert (
        short == long or judge_patch("", added_lines("x.py", short))[0] > judge_patch("", added_lines("x.py", long))[0]
    )


PATHS = st.sampled_from(["a/x.py", "a/y.py", "b/x.py", "tests/a.py", "a/tests/b.py", "c/test_d.py", "README.md"])


@given(st.lists(PATHS, min_size=1, max_size=7, unique=True))
def test_more_files_are_less_local(paths):
    values = [judge_patch("", "".join(added_lines(path, 2) for path in paths[: n + 1]))[1] for n in range(len(paths))]
    assert all(more < fewer for fewer, more in pairwise(values))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=6))
def test_more_hunks_are_less_local(steps):
    starts = np.cumsum(steps)
    whole = [
        added_lines("x.py", 2, int(starts[0])),
        *(added_lines("x.py", 2, int(at)).split("\n", 2)[2] for at in starts[1:]),
    ]
    values = [judge_patch("", "".join(whole[: n + 1]))[1] for n in range(len(whole))]
    assert all(more < fewer for fewer, more in pairwise(values))


LINE = st.one_of(
    st.sampled_from([line for text in (*GIT_PATCHES, BINARY_DATA, NO_NEWLINE, PLAIN) for line in text.split("\n")]),
    st.sampled_from(
        ["@@ -1,999999999 +1,999999999 @@", "@@ -0,0 +0,0 @@", '+++ "b/\\7\\x"', "rename to ", "diff --git "]
    ),
    st.text(st.characters(), max_size=12),
)


@settings(max_examples=100)
@given(st.text(max_size=60), st.one_of(st.text(), st.lists(LINE, max_size=25).map("\n".join)))
def test_any_text_gets_scores_within_bounds(issue, text):
    judged, described = judge_patch(issue, text), describe_patch(issue, text)
    assert all(0.0 <= value <= 1.0 for value in judged)
    assert described.shape == (len(STATISTICS),)
    assert np.isfinite(described).all()
    assert (described >= 0).all()
    patch = read_patch(text)
    assert {*patch.created, *patch.deleted} <= set(patch.files)
    assert patch.files or patch == Patch()


def test_statistics_match_their_names():
    text = "".join(GIT_PATCHES) + added_lines("tests/deep/er/test_x.py", 1) + added_lines("docs/a.rst", 1)
    issue = "limit in core is STRICT"
    described = dict(zip(STATISTICS, describe_patch(issue, text), strict=True))
    assert described["delivered"] == 1
    assert 2 ** described["log_files"] - 1 == pytest.approx(8)
    assert 2 ** described["log_directories"] - 1 == pytest.approx(3)
    assert 2 ** described["log_created"] - 1 == pytest.approx(2)
    assert 2 ** described["log_deleted"] - 1 == pytest.approx(1)
    assert described["depth"] == 3
    assert described["test_share"] == described["document_share"] == 1 / 8
    assert described["added_share"] == pytest.approx(7 / 12)
    assert described["identifier_overlap"] == pytest.approx(1 / 6)  # limit of limit strict two alpha beta value_0
    assert described["line_overlap"] == pytest.approx(2 / 6)  # limit and strict of limit strict two alpha beta value
    assert described["issue_coverage"] == pytest.approx(2 / 3)  # limit and strict of limit core strict
    assert described["cosine"] == pytest.approx(2 / np.sqrt(18))


LARGE_PATCHES = {
    "lines": added_lines("x.py", 100_000),
    "hunks": "--- a/x\n+++ b/x\n" + "@@ -1 +1 @@\n-a\n+b\n" * 80_000,
    "files": "".join(f"diff --git a/{n} b/{n}\n--- a/{n}\n+++ b/{n}\n@@ -1 +1 @@\n-a\n+b\n" for n in range(40_000)),
    "wrong counts": "--- a/x\n+++ b/x\n" + "@@ -1,99999 +1,99999 @@\n-a\n" * 30_000,
    "headers": "--- a/x\n+++ b/x\n" * 50_000,
    "one line": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+" + "aB" * 500_000,
    "capitals": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+" + "A" * 1_000_000,
    "spaces": "diff --git " + " " * 1_000_000,
    "a path": "diff --git a/" + "x/" * 250_000 + " b/" + "x/" * 250_000,
    "backslashes": '--- a/x\n+++ "b/' + "\\" * 1_000_000 + '"\n@@ -1 +1 @@\n-a\n+b\n',
    "digits": "--- a/x\n+++ b/x\n@@ -" + "1" * 1_000_000,
}


@pytest.mark.parametrize("text", LARGE_PATCHES.values(), ids=LARGE_PATCHES)
def test_large_patches_are_judged_in_linear_time(text):
    """Each takes about half a second or less; a quadratic algorithm exceeds the bound."""
    start = time.process_time()
    judge_patch(text[:MAX_PATCH_CHARACTERS], text)
    assert time.process_time() - start < 3


def test_components_of_real_patches_vary_and_are_not_redundant():
    """The middle half of the patches spans at least a quarter of the scale, and correlations are below 0.8."""
    if not (GRID / "outputs.parquet").exists():
        pytest.skip("the SWE-bench grid is not on this machine")
    parquet = pytest.importorskip("pyarrow.parquet")
    contexts = parquet.read_table(GRID / "contexts.parquet", columns=["context_id", "context"]).to_pylist()
    issues = {row["context_id"]: row["context"] for row in contexts}
    rows = parquet.read_table(GRID / "outputs.parquet").to_pylist()
    judged = np.array([judge_patch(issues[row["context_id"]], row["output"]) for row in rows])
    assert (judged[[not row["has_patch"] for row in rows]] == 0).all()
    lower, upper = np.quantile(judged, [0.25, 0.75], axis=0)
    assert (upper - lower > 0.25).all()
    assert np.abs(np.corrcoef(judged.T)[np.triu_indices(3, 1)]).max() < 0.8
