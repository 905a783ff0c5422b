"""Patches are parsed into what they change, whatever tool wrote them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.tasks.coding.patches import read_patch

from laboratory.tests.support.patches import (
    BINARY,
    BINARY_DATA,
    CHANGE,
    CREATE,
    DELETE,
    GIT_PATCHES,
    MODE,
    MOVE,
    NO_NEWLINE,
    PLAIN,
    RENAME,
)

GRID = Path(__file__).resolve().parents[5] / "shared" / "data" / "swebench_verified"


def counts(text: str) -> tuple[tuple[str, ...], int, int, int]:
    patch = read_patch(text)
    return patch.files, patch.hunks, patch.added, patch.removed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CHANGE, (("pkg/core.py",), 2, 2, 2)),
        (CREATE, (("pkg/new.py",), 1, 2, 0)),
        (DELETE, (("pkg/old.py",), 1, 0, 2)),
        (RENAME, (("pkg/sub dir/after.py",), 1, 1, 1)),
        (MOVE, (("pkg/moved.py",), 0, 0, 0)),
        (BINARY, (("pkg/logo.png",), 0, 0, 0)),
        (BINARY_DATA, (("pkg/logo.png",), 0, 0, 0)),
        (MODE, (("pkg/my tool.sh",), 0, 0, 0)),
        (NO_NEWLINE, (("pkg/core.py",), 1, 2, 1)),
        (PLAIN, (("pkg/core.py",), 1, 1, 0)),
        (NO_NEWLINE + CREATE, (("pkg/core.py", "pkg/new.py"), 2, 4, 1)),
        (CHANGE + NO_NEWLINE, (("pkg/core.py",), 3, 4, 3)),
    ],
    ids=["change", "create", "delete", "rename", "move", "binary", "data", "mode", "newline", "plain", "mix", "twice"],
)
def test_every_kind_of_change_is_counted(text, expected):
    assert counts(text) == expected


def test_counts_of_several_files_add_up():
    whole, parts = read_patch("".join(GIT_PATCHES)), [read_patch(text) for text in GIT_PATCHES]
    assert whole.files == tuple(path for part in parts for path in part.files)
    for name in ("hunks", "blocks", "gap", "added", "removed"):
        assert getattr(whole, name) == sum(getattr(part, name) for part in parts)
    assert whole.created == ("pkg/new.py", "pkg/logo.png")
    assert whole.deleted == ("pkg/old.py",)


def test_a_file_with_an_empty_side_is_created_or_deleted_even_without_a_git_header():
    assert read_patch("--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-a\n").deleted == ("x",)
    assert read_patch(PLAIN).created == ("pkg/core.py",)
    assert read_patch(NO_NEWLINE).created == ()


def test_blocks_and_gaps_are_counted_in_the_old_file():
    """Line 5 is replaced and line 21 removed: two blocks, and lines 6 to 20 are between them."""
    patch = read_patch(CHANGE)
    assert (patch.blocks, patch.gap) == (2, 15)


def test_blocks_and_gaps_do_not_depend_on_the_number_of_context_lines():
    """The same change without context; an insertion names the line above it."""
    bare = "--- a/x\n+++ b/x\n@@ -5 +5,2 @@\n-limit = 3\n+limit = 4\n+strict = True\n@@ -21 +22,0 @@\n-    two()\n"
    assert (read_patch(bare).blocks, read_patch(bare).gap) == (2, 15)
    pair = "--- a/x\n+++ b/x\n@@ -4,0 +5 @@\n+a\n@@ -9,0 +11 @@\n+b\n"
    shown = "--- a/x\n+++ b/x\n@@ -4,6 +4,8 @@\n 4\n+a\n 5\n 6\n 7\n 8\n 9\n+b\n"
    assert read_patch(pair).gap == read_patch(shown).gap == 5
    assert read_patch(pair.replace("@@ -9,0 +11 @@\n", "@@ -9 +10 @@\n-9\n")).gap == 4


def test_windows_line_ends_do_not_change_the_result():
    for text in (*GIT_PATCHES, NO_NEWLINE, PLAIN):
        assert read_patch(text.replace("\n", "\r\n")) == read_patch(text)


def test_only_a_line_feed_ends_a_line():
    """Old sources contain form feeds, and ``str.splitlines`` splits at several other characters."""
    assert counts("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\x0c\x0b\u2028@@\n+b\r@@\n-c\n+d\n") == (("x",), 1, 2, 2)


def test_only_identifiers_on_changed_lines_are_collected():
    assert read_patch(CHANGE).identifiers == ("limit", "strict", "True", "two")


def test_lines_that_look_like_headers_belong_to_the_hunk_if_its_counts_include_them():
    text = (
        "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,3 @@\n keep\n--- drop this\n+++ keep that\n end\n"
        "@@ -9 +9 @@\n--- one\n+++ two\n@@ -12 +12 @@\n-x\n+y\n"
    )
    assert counts(text) == (("q.sql",), 3, 3, 3)


def test_a_hunk_with_too_large_counts_ends_at_the_next_header():
    wrong_counts = "--- a/x.py\n+++ b/x.py\n@@ -1,90 +1,90 @@\n-a\n+b\n"
    assert counts(wrong_counts + PLAIN) == (("x.py", "pkg/core.py"), 2, 2, 1)
    assert counts(wrong_counts + CREATE) == (("x.py", "pkg/new.py"), 2, 3, 1)
    assert counts(wrong_counts + "@@ -200 +200 @@\n-c\n+d\n") == (("x.py",), 2, 2, 2)


def test_text_around_a_patch_is_ignored():
    email = "Subject: fix\n\n- one thing\n+ another\n---\n pkg/new.py | 2 ++\n\n" + CREATE + "-- \n2.43.0\n"
    assert read_patch(email) == read_patch(CREATE)


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ('+++ "b/pkg/caf\\303\\251.py"', "pkg/café.py"),
        ('+++ "b/a \\"b\\" \\\\c.py"', 'a "b" \\c.py'),
        ("+++ b/b/inner.py", "b/inner.py"),
        ("+++ no/prefix.py", "no/prefix.py"),
    ],
)
def test_paths_are_read_without_quotes_escapes_and_prefixes(header, path):
    assert read_patch(f"--- a/x\n{header}\n@@ -1 +1 @@\n-a\n+b\n").files == (path,)


def test_a_truncated_patch_gives_a_part_of_the_complete_result():
    """The cut may be inside a name."""
    text = "".join(GIT_PATCHES)
    whole = read_patch(text)
    for end in range(len(text)):
        part = read_patch(text[:end])
        assert all(any(full.startswith(path) for full in whole.files) for path in part.files), end
        for name in ("hunks", "blocks", "gap", "added", "removed"):
            assert getattr(part, name) <= getattr(whole, name), (end, name)


def test_a_missing_last_line_end_does_not_change_the_result():
    for text in (*GIT_PATCHES, MOVE, NO_NEWLINE, PLAIN):
        assert read_patch(text.removesuffix("\n")) == read_patch(text)


def test_a_header_with_very_long_numbers_is_not_a_hunk():
    long = "9" * 5000
    assert counts(f"--- a/x\n+++ b/x\n@@ -{long},1 +1 @@\n-a\n+b\n") == (("x",), 0, 0, 0)


def test_counts_agree_with_those_of_the_real_grid():
    """The grid counts files by their ``+++`` line and misses those that change without lines; the rest is equal."""
    if not (GRID / "outputs.parquet").exists():
        pytest.skip("the SWE-bench grid is not on this machine")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(GRID / "outputs.parquet").to_pylist()
    complete = [row for row in rows if row["patch_chars"] == len(row["output"])]
    assert len(complete) > 0.99 * len(rows)
    patches = [read_patch(row["output"]) for row in complete]
    for row, patch in zip(complete, patches, strict=True):
        assert (patch.hunks, patch.added, patch.removed) == (row["n_hunks"], row["lines_added"], row["lines_removed"])
        assert len(patch.files) >= row["n_files"]
    assert np.mean([len(p.files) == row["n_files"] for row, p in zip(complete, patches, strict=True)]) > 0.99
