"""Parse a unified diff into what it changes and where; any text is accepted.

The line counts in a hunk's header determine where the hunk ends. Otherwise a removed line ``-- note`` would look like
a file header, and a signature below the patch like a removed line. If a header claims more lines than there are, the
next header ends the hunk. Prose and hunks without a file are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# At most nine digits: longer line numbers are not plausible, and Python refuses to convert very long ones.
HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
IDENTIFIER = re.compile(r"[^\W\d]\w*")
ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
NO_FILE = "/dev/null"
NO_LINES = (0, 0)  # the range in a hunk header for a side on which the file is empty or does not exist


@dataclass(frozen=True, slots=True)
class Patch:
    """The changes of a diff.

    A block is a run of consecutive added and removed lines. Unlike a hunk it does not depend on the number of context
    lines in the diff. ``gap`` counts the unchanged old lines between the blocks of a file, summed over files. A file
    that appears twice counts once.
    """

    files: tuple[str, ...] = ()  # in order of appearance; the new name of a renamed file
    created: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    hunks: int = 0
    blocks: int = 0
    gap: int = 0
    added: int = 0
    removed: int = 0
    identifiers: tuple[str, ...] = ()  # distinct identifiers and words on changed lines, in order of appearance


@dataclass(slots=True)
class _ParserState:
    """The result so far; ``path`` is the current file, empty between files."""

    path: str = ""
    from_git: bool = False  # the current file began with a ``diff --git`` line and has no ``---`` line yet
    last_changed_line: int | None = None  # first old line below the last block of the current file
    files: dict[str, None] = field(default_factory=dict)
    created: dict[str, None] = field(default_factory=dict)
    deleted: dict[str, None] = field(default_factory=dict)
    changed_lines: list[str] = field(default_factory=list)
    hunks: int = 0
    blocks: int = 0
    gap: int = 0
    added: int = 0
    removed: int = 0

    def open(self, path: str, from_git: bool) -> None:
        """Start the next file; the path is empty if only later header lines determine it."""
        self.path, self.from_git, self.last_changed_line = path, from_git, None
        if path:
            self.files[path] = None

    def rename(self, path: str) -> None:
        """Set the path of the current file from a later header line."""
        if path and path != self.path:
            self.open(path, self.from_git)

    def mark(self, created: bool, deleted: bool) -> None:
        """Record that the current file is created or deleted."""
        if created and self.path:
            self.created[self.path] = None
        if deleted and self.path:
            self.deleted[self.path] = None


def read_patch(text: str) -> Patch:
    """Parse a diff written by git or any other tool with the unified format."""
    state, lines, at = _ParserState(), text.split("\n"), 0
    while at < len(lines):
        hunk = HUNK.match(lines[at])
        if hunk and state.path:
            old, new = _range(hunk[1], hunk[2]), _range(hunk[3], hunk[4])
            end = _hunk_end(lines, at + 1, old[1], new[1])
            _read_hunk(state, lines[at + 1 : end], old[0] if old[1] else old[0] + 1)
            state.mark(created=old == NO_LINES, deleted=new == NO_LINES)
            at = end
        else:
            at += _read_header(state, lines, at)
    return Patch(
        files=tuple(state.files),
        created=tuple(state.created),
        deleted=tuple(state.deleted),
        hunks=state.hunks,
        blocks=state.blocks,
        gap=state.gap,
        added=state.added,
        removed=state.removed,
        identifiers=tuple(_identifiers(state.changed_lines)),
    )


def _range(start: str, count: str | None) -> tuple[int, int]:
    """First line and number of lines; if the number is 0, the first is the line above."""
    return int(start), 1 if count is None else int(count)


def _identifiers(lines: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(name for line in lines for name in IDENTIFIER.findall(line))


def _hunk_end(lines: Sequence[str], at: int, old: int, new: int) -> int:
    """The first line below a hunk whose header announces so many old and new lines."""
    while at < len(lines) and (old > 0 or new > 0):
        mark = lines[at][:1]
        if mark not in ("", " ", "+", "-", "\\", "\r"):
            break
        # With one line left on each side, the pair is a replaced line that happens to look like a header.
        if mark == "-" and (old, new) != (1, 1) and _is_header(lines, at):
            break
        old -= mark not in ("+", "\\")
        new -= mark not in ("-", "\\")
        at += 1
    return at


def _is_header(lines: Sequence[str], at: int) -> bool:
    """Whether three lines give a file's names and begin its first hunk."""
    return (
        at + 2 < len(lines)
        and lines[at].startswith("--- ")
        and lines[at + 1].startswith("+++ ")
        and lines[at + 2].startswith("@@ -")
    )


def _read_hunk(state: _ParserState, body: Sequence[str], line_number: int) -> None:
    state.hunks += 1
    in_block = False
    for line in body:
        mark = line[:1]
        if mark == "\\":
            continue
        changes = mark in ("+", "-")
        if changes:
            if not in_block:
                state.blocks += 1
                state.gap += 0 if state.last_changed_line is None else max(0, line_number - state.last_changed_line)
            state.added += mark == "+"
            state.removed += mark == "-"
            state.changed_lines.append(line[1:])
        line_number += mark != "+"
        state.last_changed_line = line_number if changes else state.last_changed_line
        in_block = changes


def _read_header(state: _ParserState, lines: Sequence[str], at: int) -> int:
    """Parse a line outside hunks and return the number of lines consumed."""
    line = lines[at].removesuffix("\r")
    if line.startswith("diff --git "):
        state.open(_git_path(line.removeprefix("diff --git ")), from_git=True)
    elif _is_header(lines, at):
        _read_names(state, _path(line[4:]), _path(lines[at + 1][4:]))
        return 2
    elif state.from_git and line.startswith(("rename to ", "copy to ")):
        state.rename(_path(line.split(" to ", 1)[1]))
    elif state.from_git:
        state.mark(line.startswith("new file mode "), line.startswith("deleted file mode "))
    return 1


def _read_names(state: _ParserState, old: str, new: str) -> None:
    path = old if new == NO_FILE else new
    if state.from_git:
        state.rename(path)
    else:
        state.open(path, from_git=False)
    state.from_git = False


def _git_path(names: str) -> str:
    """The name in ``a/name b/name`` if both are equal; otherwise the end of a name with spaces is ambiguous."""
    half = len(names) // 2
    old, new = _path(names[:half]), _path(names[half + 1 :])
    return new if names[half : half + 1] == " " and old == new else ""


def _path(written: str) -> str:
    """A file's path within its project, from a header: without date, quotes, escapes and ``a/`` or ``b/``."""
    name = written.removesuffix("\r").split("\t", 1)[0]
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = ESCAPE.sub(_unescape, name[1:-1].encode("utf-8", "replace")).decode("utf-8", "replace")
    return name[2:] if name.startswith(("a/", "b/")) else name


def _unescape(match: re.Match[bytes]) -> bytes:
    escaped = match[1]
    return bytes([int(escaped, 8)]) if len(escaped) == 3 else {b"t": b"\t", b"n": b"\n"}.get(escaped, escaped)
