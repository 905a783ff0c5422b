"""Lists and objects as Python writes them, with single quotes: what pandas' to_csv makes of messages."""

from __future__ import annotations

import ast
import re
import warnings

STARTS = ("[{'", "{'")  # JSON has double quotes there
MAX_CHARACTERS = 1_000_000  # of one cell
ROWS_OF_AN_ARRAY = re.compile(r"\}\n\s*\{")  # NumPy writes no commas; line breaks inside texts are escaped


def is_python_text(text: object) -> bool:
    """Whether a cell begins like a list of objects, or an object, in Python's way of writing."""
    return isinstance(text, str) and text.lstrip().startswith(STARTS)


def read_python_text(text: str) -> object:
    """The list or object that a text is; the text itself if it is neither, too long, or nested too deeply for Python.

    Only literals are read: nothing in the text is ever run.
    """
    if len(text) > MAX_CHARACTERS:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            value: object = ast.literal_eval(ROWS_OF_AN_ARRAY.sub("}, {", text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, list | dict) else text
