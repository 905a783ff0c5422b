"""Read a unified diff into what it changes and where; never fails, whatever the text.

A hunk's own line counts decide where it ends, so that a removed line ``-- note`` is not taken for a file header and
a signature below the patch is not taken for a removed line. Where the counts claim more than there is, the next
header ends the hunk. Hunks under no file, and prose, are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# At most nine digits: a longer line number is a lie, and Python refuses to read very long ones.
HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
IDENTIFIER = re.compile(r"[^\W\d]\w*")
ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
NOWHERE = "/dev/null"
NO_LINES = (0, 0)  # the range that a hunk gives for the side on which the file is empty or does not exist


@dataclass(frozen=True, slots=True)
class Patch:
    """What a diff changes.

    A block is a run of added and removed lines with nothing between them; unlike a hunk it does not depend on how
    much context the diff was made with. ``gap`` counts the old lines left alone between the blocks of a file, summed
    over files. A file that is named twice counts once.
    """

    files: tuple[str, ...] = ()  # in order of appearance; the new name of a renamed file
    created: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    hunks: int = 0
    blocks: int = 0
    gap: int = 0
    added: int = 0
    removed: int = 0
    touched: tuple[str, ...] = ()  # distinct identifiers and words on changed lines, in order of appearance


@dataclass(slots=True)
class _Reading:
    """What has been read so far; ``path`` is the file at hand, empty between files."""

    path: str = ""
    from_git: bool = False  # the file at hand began with a ``diff --git`` line and has no ``---`` line yet
    reached: int | None = None  # first old line below the last block in the file at hand
    files: dict[str, None] = field(default_factory=dict)
    created: dict[str, None] = field(default_factory=dict)
    deleted: dict[str, None] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    hunks: int = 0
    blocks: int = 0
    gap: int = 0
    added: int = 0
    removed: int = 0

    def open(self, path: str, from_git: bool) -> None:
        """Go on to the next file; a git header that does not tell its name leaves it to later lines."""
        self.path, self.from_git, self.reached = path, from_git, None
        if path:
            self.files[path] = None

    def rename(self, path: str) -> None:
        """Give the file at hand the name that a later header line tells."""
        if path and path != self.path:
            self.open(path, self.from_git)

    def mark(self, created: bool, deleted: bool) -> None:
        """Note that the file at hand is new or goes away."""
        if created and self.path:
            self.created[self.path] = None
        if deleted and self.path:
            self.deleted[self.path] = None


def read_patch(text: str) -> Patch:
    """Read a diff made by git or by anything else that writes the unified format."""
    reading, lines, at = _Reading(), text.split("\n"), 0
    while at < len(lines):
        hunk = HUNK.match(lines[at])
        if hunk and reading.path:
            old, new = _range(hunk[1], hunk[2]), _range(hunk[3], hunk[4])
            end = _hunk_end(lines, at + 1, old[1], new[1])
            _read_hunk(reading, lines[at + 1 : end], old[0] if old[1] else old[0] + 1)
            reading.mark(created=old == NO_LINES, deleted=new == NO_LINES)
            at = end
        else:
            at += _read_header(reading, lines, at)
    return Patch(
        files=tuple(reading.files),
        created=tuple(reading.created),
        deleted=tuple(reading.deleted),
        hunks=reading.hunks,
        blocks=reading.blocks,
        gap=reading.gap,
        added=reading.added,
        removed=reading.removed,
        touched=tuple(_identifiers(reading.changed)),
    )


def _range(start: str, count: str | None) -> tuple[int, int]:
    """First line and number of lines; where the number is 0, the first is the line above."""
    return int(start), 1 if count is None else int(count)


def _identifiers(lines: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(name for line in lines for name in IDENTIFIER.findall(line))


def _hunk_end(lines: Sequence[str], at: int, old: int, new: int) -> int:
    """Find the first line below a hunk that promises so many old and new lines."""
    while at < len(lines) and (old > 0 or new > 0):
        mark = lines[at][:1]
        if mark not in ("", " ", "+", "-", "\\", "\r"):
            break
        # One line to go on either side: then the pair is a replaced line that happens to look like a header.
        if mark == "-" and (old, new) != (1, 1) and _is_header(lines, at):
            break
        old -= mark not in ("+", "\\")
        new -= mark not in ("-", "\\")
        at += 1
    return at


def _is_header(lines: Sequence[str], at: int) -> bool:
    """Whether three lines name a file and begin its first hunk."""
    return (
        at + 2 < len(lines)
        and lines[at].startswith("--- ")
        and lines[at + 1].startswith("+++ ")
        and lines[at + 2].startswith("@@ -")
    )


def _read_hunk(reading: _Reading, body: Sequence[str], line_number: int) -> None:
    reading.hunks += 1
    in_block = False
    for line in body:
        mark = line[:1]
        if mark == "\\":
            continue
        changes = mark in ("+", "-")
        if changes:
            if not in_block:
                reading.blocks += 1
                reading.gap += 0 if reading.reached is None else max(0, line_number - reading.reached)
            reading.added += mark == "+"
            reading.removed += mark == "-"
            reading.changed.append(line[1:])
        line_number += mark != "+"
        reading.reached = line_number if changes else reading.reached
        in_block = changes


def _read_header(reading: _Reading, lines: Sequence[str], at: int) -> int:
    """Read what stands outside hunks; gives the number of lines it took."""
    line = lines[at].removesuffix("\r")
    if line.startswith("diff --git "):
        reading.open(_git_path(line.removeprefix("diff --git ")), from_git=True)
    elif _is_header(lines, at):
        _read_names(reading, _path(line[4:]), _path(lines[at + 1][4:]))
        return 2
    elif reading.from_git and line.startswith(("rename to ", "copy to ")):
        reading.rename(_path(line.split(" to ", 1)[1]))
    elif reading.from_git:
        reading.mark(line.startswith("new file mode "), line.startswith("deleted file mode "))
    return 1


def _read_names(reading: _Reading, old: str, new: str) -> None:
    path = old if new == NOWHERE else new
    if reading.from_git:
        reading.rename(path)
    else:
        reading.open(path, from_git=False)
    reading.from_git = False


def _git_path(names: str) -> str:
    """The name in ``a/name b/name``, where both are the same: only then is it plain where a name with spaces ends."""
    half = len(names) // 2
    old, new = _path(names[:half]), _path(names[half + 1 :])
    return new if names[half : half + 1] == " " and old == new else ""


def _path(written: str) -> str:
    """A file's name as its project knows it, from a header: without date, quotes, escapes and ``a/`` or ``b/``."""
    name = written.removesuffix("\r").split("\t", 1)[0]
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = ESCAPE.sub(_unescaped, name[1:-1].encode("utf-8", "replace")).decode("utf-8", "replace")
    return name[2:] if name.startswith(("a/", "b/")) else name


def _unescaped(match: re.Match[bytes]) -> bytes:
    escaped = match[1]
    return bytes([int(escaped, 8)]) if len(escaped) == 3 else {b"t": b"\t", b"n": b"\n"}.get(escaped, escaped)
