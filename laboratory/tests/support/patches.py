"""Example patches of every kind of change."""

from __future__ import annotations

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
GIT_PATCHES = (CHANGE, CREATE, DELETE, RENAME, BINARY, MODE)


def added_lines(path: str, lines: int, start: int = 1) -> str:
    """A diff that adds lines below ``start``."""
    body = "".join(f"+value_{at} = {at}\n" for at in range(lines))
    return f"--- a/{path}\n+++ b/{path}\n@@ -{start},0 +{start + 1},{lines} @@\n{body}"
