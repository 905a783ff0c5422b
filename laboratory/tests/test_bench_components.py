"""Patches are read for what they change, whatever made them, and judged within [0, 1] in the right direction."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from deconfound_bench.coding.components import STATISTICS, components, is_test, split_words, statistics
from deconfound_bench.coding.patches import Patch, read_patch
from hypothesis import given, settings
from hypothesis import strategies as st

GRID = Path(__file__).parents[3] / "shared" / "data" / "swebench_verified"
CUT = 200_000  # characters at which the grid cuts a patch

CHANGE = """\
diff --git a/pkg/core.py b/pkg/core.py
index 1284911..05a2a83 100644
--- a/pkg/core.py
+++ b/pkg/core.py
@@ -3,4 +3,5 @@ class Other:
 import os

-limit = 3
+limit = 4
+strict = True
 def run():
@@ -20,3 +21,2 @@ def far():
     one()
-    two()
     three()
"""
CREATE = """\
diff --git a/pkg/new.py b/pkg/new.py
new file mode 100644
index 0000000..83db48f
--- /dev/null
+++ b/pkg/new.py
@@ -0,0 +1,2 @@
+alpha = 1
+beta = 2
"""
DELETE = """\
diff --git a/pkg/old.py b/pkg/old.py
deleted file mode 100644
index 83db48f..0000000
--- a/pkg/old.py
+++ /dev/null
@@ -1,2 +0,0 @@
-alpha = 1
-beta = 2
"""
RENAME = """\
diff --git a/pkg/before.py b/pkg/sub dir/after.py
similarity index 90%
rename from pkg/before.py
rename to pkg/sub dir/after.py
index 83db48f..bf269f4 100644
--- a/pkg/before.py
+++ b/pkg/sub dir/after.py
@@ -1 +1 @@
-alpha = 1
+alpha = 2
"""
MOVE = """\
diff --git a/pkg/before.py b/pkg/moved.py
similarity index 100%
rename from pkg/before.py
rename to pkg/moved.py
"""
BINARY = """\
diff --git a/pkg/logo.png b/pkg/logo.png
new file mode 100644
index 0000000..5f3c2a1
Binary files /dev/null and b/pkg/logo.png differ
"""
BINARY_DATA = """\
diff --git a/pkg/logo.png b/pkg/logo.png
index 0000000..5f3c2a1 100644
GIT binary patch
literal 20
zcmV+b0RR6000031+-x@@-1,2+3,4@@
-deadbeef
+deadbeef

"""
MODE = """\
diff --git a/pkg/my tool.sh b/pkg/my tool.sh
old mode 100644
new mode 100755
"""
NO_NEWLINE = """\
--- a/pkg/core.py
+++ b/pkg/core.py
@@ -1,2 +1,3 @@
 first
-last
\\ No newline at end of file
+last
+final
\\ No newline at end of file
"""
PLAIN = """\
--- pkg/core.py\t2024-01-01 10:00:00
+++ pkg/core.py\t2024-01-02 10:00:00
@@ -0,0 +1 @@
+alpha = 1
"""
ALL = (CHANGE, CREATE, DELETE, RENAME, BINARY, MODE)


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
def test_every_kind_of_change_is_counted_as_a_person_would(text, expected):
    assert counts(text) == expected


def test_files_add_up_in_one_diff():
    whole, parts = read_patch("".join(ALL)), [read_patch(text) for text in ALL]
    assert whole.files == tuple(path for part in parts for path in part.files)
    for name in ("hunks", "blocks", "gap", "added", "removed"):
        assert getattr(whole, name) == sum(getattr(part, name) for part in parts)
    assert whole.created == ("pkg/new.py", "pkg/logo.png")
    assert whole.deleted == ("pkg/old.py",)


def test_a_file_with_an_empty_side_is_new_or_gone_without_git_saying_so():
    assert read_patch("--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-a\n").deleted == ("x",)
    assert read_patch(PLAIN).created == ("pkg/core.py",)
    assert read_patch(NO_NEWLINE).created == ()


def test_blocks_and_gaps_are_those_of_the_old_file():
    """Line 5 is replaced and line 21 removed: two blocks, and lines 6 to 20 lie between them."""
    patch = read_patch(CHANGE)
    assert (patch.blocks, patch.gap) == (2, 15)


def test_blocks_and_gaps_do_not_depend_on_the_context_shown():
    """The same change without context; an insertion names the line above it."""
    bare = "--- a/x\n+++ b/x\n@@ -5 +5,2 @@\n-limit = 3\n+limit = 4\n+strict = True\n@@ -21 +22,0 @@\n-    two()\n"
    assert (read_patch(bare).blocks, read_patch(bare).gap) == (2, 15)
    pair = "--- a/x\n+++ b/x\n@@ -4,0 +5 @@\n+a\n@@ -9,0 +11 @@\n+b\n"
    shown = "--- a/x\n+++ b/x\n@@ -4,6 +4,8 @@\n 4\n+a\n 5\n 6\n 7\n 8\n 9\n+b\n"
    assert read_patch(pair).gap == read_patch(shown).gap == 5
    assert read_patch(pair.replace("@@ -9,0 +11 @@\n", "@@ -9 +10 @@\n-9\n")).gap == 4


def test_windows_line_ends_change_nothing():
    for text in (*ALL, NO_NEWLINE, PLAIN):
        assert read_patch(text.replace("\n", "\r\n")) == read_patch(text)


def test_only_a_line_feed_ends_a_line():
    """Old sources hold form feeds, and Python knows half a dozen more signs that end a line."""
    assert counts("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\x0c\x0b\u2028@@\n+b\r@@\n-c\n+d\n") == (("x",), 1, 2, 2)


def test_only_changed_lines_are_touched():
    assert read_patch(CHANGE).touched == ("limit", "strict", "True", "two")


def test_lines_that_look_like_headers_are_lines_when_the_hunk_counts_them():
    text = (
        "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,3 @@\n keep\n--- drop this\n+++ keep that\n end\n"
        "@@ -9 +9 @@\n--- one\n+++ two\n@@ -12 +12 @@\n-x\n+y\n"
    )
    assert counts(text) == (("q.sql",), 3, 3, 3)


def test_a_hunk_that_promises_too_much_ends_at_the_next_header():
    liar = "--- a/x.py\n+++ b/x.py\n@@ -1,90 +1,90 @@\n-a\n+b\n"
    assert counts(liar + PLAIN) == (("x.py", "pkg/core.py"), 2, 2, 1)
    assert counts(liar + CREATE) == (("x.py", "pkg/new.py"), 2, 3, 1)
    assert counts(liar + "@@ -200 +200 @@\n-c\n+d\n") == (("x.py",), 2, 2, 2)


def test_a_letter_around_the_patch_is_not_part_of_it():
    letter = "Subject: fix\n\n- one thing\n+ another\n---\n pkg/new.py | 2 ++\n\n" + CREATE + "-- \n2.43.0\n"
    assert read_patch(letter) == read_patch(CREATE)


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ('+++ "b/pkg/caf\\303\\251.py"', "pkg/café.py"),
        ('+++ "b/a \\"b\\" \\\\c.py"', 'a "b" \\c.py'),
        ("+++ b/b/inner.py", "b/inner.py"),
        ("+++ no/prefix.py", "no/prefix.py"),
    ],
)
def test_names_are_read_as_the_project_knows_them(header, path):
    assert read_patch(f"--- a/x\n{header}\n@@ -1 +1 @@\n-a\n+b\n").files == (path,)


def test_a_patch_cut_anywhere_reads_as_a_part_of_the_whole():
    """The cut may fall within a name, too."""
    text = "".join(ALL)
    whole = read_patch(text)
    for end in range(len(text)):
        part = read_patch(text[:end])
        assert all(any(full.startswith(path) for full in whole.files) for path in part.files), end
        for name in ("hunks", "blocks", "gap", "added", "removed"):
            assert getattr(part, name) <= getattr(whole, name), (end, name)


@pytest.mark.parametrize(
    "text", ["", "\n", "I could not fix it.", "@@ -1 +1 @@\n-a\n+b\n", "+a\n-b\n", "--- a\n+++ b\n"]
)
def test_nothing_delivered_scores_nothing(text):
    assert read_patch(text) == Patch()
    assert components("Fix a and b", text) == (0.0, 0.0, 0.0)
    described = dict(zip(STATISTICS, statistics("Fix a and b", text), strict=True))
    assert described.pop("log_characters") == np.log2(1 + len(text))
    assert set(described.values()) == {0.0}


def test_a_lost_last_line_end_changes_nothing():
    for text in (*ALL, MOVE, NO_NEWLINE, PLAIN):
        assert read_patch(text.removesuffix("\n")) == read_patch(text)


def test_numbers_too_long_to_read_make_no_hunk():
    long = "9" * 5000
    assert counts(f"--- a/x\n+++ b/x\n@@ -{long},1 +1 @@\n-a\n+b\n") == (("x",), 0, 0, 0)


def edit(path: str, lines: int, start: int = 1) -> str:
    """Replace nothing, add lines below ``start``."""
    body = "".join(f"+value_{at} = {at}\n" for at in range(lines))
    return f"--- a/{path}\n+++ b/{path}\n@@ -{start},0 +{start + 1},{lines} @@\n{body}"


def test_the_formulas_are_the_documented_ones():
    """Seven lines are half; a second file in another directory with a second block costs 1 + 1 + 1/2."""
    assert components("", edit("a/x.py", 7))[0] == pytest.approx(1 / 2)
    assert components("", DELETE + CREATE)[0] == pytest.approx(7 / 11)
    assert components("", MODE + BINARY + MOVE)[0] == pytest.approx(7 / 10)
    assert components("", edit("a/x.py", 7))[1] == 1.0
    assert components("", edit("a/x.py", 1) + edit("b/y.py", 1))[1] == pytest.approx(1 / 3.5)
    near, far = edit("a/x.py", 1) + edit("a/x.py", 1, 3), edit("a/x.py", 1) + "@@ -256,0 +258 @@\n+z\n"
    assert components("", near)[1] == pytest.approx(1 / 1.5)
    assert components("", far)[1] == pytest.approx(1 / 2.5, abs=1e-3)


def test_focus_is_the_mean_share_of_words_on_lines_and_in_paths():
    """Lines touch bulk, create, batch and size, of which the issue has two; of the path's three words it has one."""
    text = "--- a/db/models/query.py\n+++ b/db/models/query.py\n@@ -1 +1 @@\n-bulkCreate(1)\n+bulk_create(batch_size)\n"
    issue = "QuerySet.bulk_update() should create all of them"
    assert components(issue, text)[2] == pytest.approx((2 / 4 + 1 / 3) / 2)
    assert components("", text)[2] == 0.0
    assert components("bulk create batch, sizes; db model query", text)[2] == 1.0


def test_a_patch_without_words_is_judged_by_its_paths():
    assert components("moved", MOVE)[2] == pytest.approx(1 / 2)
    assert components("pkg.moved is odd", MOVE)[2] == 1.0


def test_a_test_s_path_says_something_about_focus_only_if_there_is_no_other():
    test, fix = edit("tests/test_read.py", 1), edit("pkg/write.py", 1)
    assert components("read", test)[2] == pytest.approx((0 + 1 / 2) / 2)
    assert components("read", test + fix)[2] == 0.0


def test_words_are_cut_at_underscores_dots_slashes_and_capitals():
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
def test_tests_are_known_by_their_names(path, tests):
    assert is_test(path) is tests


def test_a_test_costs_a_file_but_not_a_directory():
    fix = edit("pkg/io/read.py", 3)
    beside, elsewhere = edit("tests/io/test_read.py", 3), edit("docs/io/read.py", 3)
    assert components("", fix)[1] > components("", fix + beside)[1] > components("", fix + elsewhere)[1]


@given(st.integers(1, 400), st.integers(1, 400))
def test_a_longer_patch_never_has_the_better_size(one, other):
    short, long = sorted((one, other))
    assert components("", edit("x.py", short))[0] >= components("", edit("x.py", long))[0]
    assert short == long or components("", edit("x.py", short))[0] > components("", edit("x.py", long))[0]


PATHS = st.sampled_from(["a/x.py", "a/y.py", "b/x.py", "tests/a.py", "a/tests/b.py", "c/test_d.py", "README.md"])


@given(st.lists(PATHS, min_size=1, max_size=7, unique=True))
def test_more_files_are_never_more_local(paths):
    values = [components("", "".join(edit(path, 2) for path in paths[: n + 1]))[1] for n in range(len(paths))]
    assert all(more < fewer for fewer, more in pairwise(values))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=6))
def test_more_hunks_are_never_more_local(steps):
    starts = np.cumsum(steps)
    whole = [edit("x.py", 2, int(starts[0])), *(edit("x.py", 2, int(at)).split("\n", 2)[2] for at in starts[1:])]
    values = [components("", "".join(whole[: n + 1]))[1] for n in range(len(whole))]
    assert all(more < fewer for fewer, more in pairwise(values))


LINE = st.one_of(
    st.sampled_from([line for text in (*ALL, BINARY_DATA, NO_NEWLINE, PLAIN) for line in text.split("\n")]),
    st.sampled_from(
        ["@@ -1,999999999 +1,999999999 @@", "@@ -0,0 +0,0 @@", '+++ "b/\\7\\x"', "rename to ", "diff --git "]
    ),
    st.text(st.characters(), max_size=12),
)


@settings(max_examples=300)
@given(st.text(max_size=60), st.one_of(st.text(), st.lists(LINE, max_size=25).map("\n".join)))
def test_any_text_is_judged_within_bounds(issue, text):
    judged, described = components(issue, text), statistics(issue, text)
    assert all(0.0 <= value <= 1.0 for value in judged)
    assert described.shape == (len(STATISTICS),)
    assert np.isfinite(described).all()
    assert (described >= 0).all()
    patch = read_patch(text)
    assert {*patch.created, *patch.deleted} <= set(patch.files)
    assert patch.files or patch == Patch()


def test_statistics_say_what_their_names_say():
    text = "".join(ALL) + edit("tests/deep/er/test_x.py", 1) + edit("docs/a.rst", 1)
    issue = "limit in core is STRICT"
    described = dict(zip(STATISTICS, statistics(issue, text), strict=True))
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


GIANTS = {
    "lines": edit("x.py", 100_000),
    "hunks": "--- a/x\n+++ b/x\n" + "@@ -1 +1 @@\n-a\n+b\n" * 80_000,
    "files": "".join(f"diff --git a/{n} b/{n}\n--- a/{n}\n+++ b/{n}\n@@ -1 +1 @@\n-a\n+b\n" for n in range(40_000)),
    "unkept promises": "--- a/x\n+++ b/x\n" + "@@ -1,99999 +1,99999 @@\n-a\n" * 30_000,
    "headers": "--- a/x\n+++ b/x\n" * 50_000,
    "one line": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+" + "aB" * 500_000,
    "capitals": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+" + "A" * 1_000_000,
    "spaces": "diff --git " + " " * 1_000_000,
    "a path": "diff --git a/" + "x/" * 250_000 + " b/" + "x/" * 250_000,
    "backslashes": '--- a/x\n+++ "b/' + "\\" * 1_000_000 + '"\n@@ -1 +1 @@\n-a\n+b\n',
    "digits": "--- a/x\n+++ b/x\n@@ -" + "1" * 1_000_000,
}


@pytest.mark.parametrize("text", GIANTS.values(), ids=GIANTS)
def test_giants_take_time_in_proportion_to_their_size(text):
    """Each takes about half a second or less; copying what was read so far at every step breaks the bound."""
    start = time.process_time()
    components(text[:CUT], text)
    assert time.process_time() - start < 3


@pytest.fixture(scope="module")
def grid() -> list[dict[str, object]]:
    if not (GRID / "outputs.parquet").exists():
        pytest.skip("the SWE-bench grid is not on this machine")
    parquet = pytest.importorskip("pyarrow.parquet")
    issues = parquet.read_table(GRID / "contexts.parquet", columns=["context_id", "context"]).to_pylist()
    by_id = {row["context_id"]: row["context"] for row in issues}
    rows = parquet.read_table(GRID / "outputs.parquet").to_pylist()
    return [{**row, "issue": by_id[row["context_id"]]} for row in rows]


def test_counts_agree_with_the_grid_s_own(grid):
    """The grid counts files by their ``+++`` line and so misses those that change without lines; the rest is equal."""
    whole = [row for row in grid if row["patch_chars"] == len(row["output"])]
    assert len(whole) > 0.99 * len(grid)
    patches = [read_patch(row["output"]) for row in whole]
    for row, patch in zip(whole, patches, strict=True):
        assert (patch.hunks, patch.added, patch.removed) == (row["n_hunks"], row["lines_added"], row["lines_removed"])
        assert len(patch.files) >= row["n_files"]
    assert np.mean([len(p.files) == row["n_files"] for row, p in zip(whole, patches, strict=True)]) > 0.99


def test_components_of_real_patches_spread_over_the_interval(grid):
    """Half of the patches lie in an interval of at least a quarter; no component is close to a copy of another."""
    judged = np.array([components(row["issue"], row["output"]) for row in grid])
    assert (judged[[not row["has_patch"] for row in grid]] == 0).all()
    lower, upper = np.quantile(judged, [0.25, 0.75], axis=0)
    assert (upper - lower > 0.25).all()
    assert np.abs(np.corrcoef(judged.T)[np.triu_indices(3, 1)]).max() < 0.8
