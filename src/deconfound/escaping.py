"""Text that others wrote, made safe to show: what is invisible, or controls a terminal, becomes an escape.

``escape_name`` is for a name where it enters a sentence or a table: different names never look the same.
``escape_line`` is for a finished sentence: it stays one line. ``escape_lines`` is for a whole text on its way out: our
own line breaks stay. ``escape_formulas`` is for the cells of a CSV file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable

BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python calls printable and that show nothing."""
JOINERS = re.compile(
    "(?<=[^\x00-\x7f\u200c\u200d])[\u200c\u200d](?=[^\x00-\x7f\u200c\u200d])"
    "|(?<=[#*0-9\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"
)
"""Joiners between two characters that are not ASCII, as in Hindi, Persian and emoji, and the selector of emoji: without
them, such texts are not what was written. Alone or repeated they are invisible."""
UNSEEN_SPACES = re.compile(r"^ +| +$|(?<= ) +")
FORMULA_START = re.compile(
    r"\A(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])|(?<=[\t\r\n;])(?=[=+\-@\uff1d\uff0b\uff0d\uff20])"
)
"""Where a spreadsheet may begin to read a formula: at the start of a cell, and where it may split one."""
SIGNED_WORD = re.compile(r"[+\-@][\w.:/+\-]*")
"""Numbers such as -5, and names such as @team/model: no formula made of these characters can call or open anything."""


def escape_line(text: str) -> str:
    """Escape every character that is not plainly visible, line breaks included."""
    return _escape(text, _python_escape)


def escape_lines(text: str) -> str:
    """The same for a text of several lines: line breaks and tabs stay."""
    if "\t" in text:
        return "\t".join(map(escape_lines, text.split("\t")))
    return "\n".join(_escape(line, _python_escape) for line in text.split("\n"))


def escape_prose(text: str) -> str:
    """The same for a user's whole text: joiners between letters of many scripts, and in emoji, stay."""
    joiners = [*JOINERS.findall(text), ""]
    return "".join(escape_lines(part) + joiner for part, joiner in zip(JOINERS.split(text), joiners, strict=True))


def escape_text(text: str) -> str:
    """Escape a user's text so that it can be recovered: backslashes are doubled, so no text looks like an escape."""
    return escape_line(text.replace("\\", "\\\\"))


def escape_name(text: str) -> str:
    """The same for text without quotes around it: spaces at its ends and several in a row are escaped too."""
    return UNSEEN_SPACES.sub(lambda found: "\\x20" * len(found[0]), escape_text(text))


def escape_json(document: str) -> str:
    """Escape the same characters in a JSON document, in JSON's own way; parsers read what they read before."""
    return "\n".join(_escape(line, _json_escape) for line in document.split("\n"))


def escape_formulas(cell: str) -> str:
    """Put an apostrophe wherever a spreadsheet would read the rest of a CSV cell as a formula.

    Signed numbers and names stay as they are, so that a table can be joined with others by them.
    """
    return cell if SIGNED_WORD.fullmatch(cell) else FORMULA_START.sub("'", cell)


def quoted_string(text: str) -> str:
    """A text in double quotes, in one line, as TOML and YAML both read it; what is not visible is written by number."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in escaped) + '"'


def readable_path(path: str | bytes | os.PathLike[str]) -> str:
    """A path in which bytes that are not UTF-8 are escapes, so that it can be printed and stored."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _escape(line: str, escape: Callable[[str], str]) -> str:
    if line.isprintable() and (line.isascii() or not BLANK.search(line)):
        return line
    return "".join(c if c.isprintable() and not BLANK.match(c) else escape(c) for c in line)


def _python_escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1]
