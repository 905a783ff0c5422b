"""A settings file in TOML, read table by table: every problem is collected with its place and a fix.

Values are never repeated in messages unless they are numbers or names: a key may stand where none belongs.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from deconfound.endpoints.redaction import MIN_CHARACTERS
from deconfound.errors import DataError, Problem
from deconfound.escaping import escape_name, readable_path
from deconfound.formatting import join_names, quote, similar_name

MAX_BYTES = 1_000_000
MAX_DEPTH = 20  # of lists and tables inside a parameter
SECRET_NAMES = re.compile(
    r"(?i)(.*[_-])?(api[_-]?key|key|access[_-]?token|auth[_-]?token|token|secret|password|passwd|authorization|auth"
    r"|bearer|credentials?|cookie)"
)
SECRET_TEXT = re.compile(
    r"(?<![A-Za-z0-9])(sk|pk|rk|gsk|xai|hf|key|ghp|glpat)[-_][A-Za-z0-9_\-]{16,}|AIza[A-Za-z0-9_\-]{20,}|(?i:bearer)\s+\S{8,}"
)
TOML_CAUSES = {
    "Expected '=' after": "there is no = after a name",
    "Expected ']": "the name of a table has no ] at its end",
    "Expected \"'": "a text has no quote at its end",
    "Expected newline": "something follows the value",
    "Invalid value": "the value is none of TOML; texts need quotes",
    "Invalid statement": "the line is neither a setting nor a table",
    "Invalid initial character": "a name has a character that needs quotes",
    "Invalid date": "the date or time does not exist",
    "Invalid hex": "an escape in a text is not complete",
    "Unclosed array": "a list has no ] at its end",
    "Unclosed inline table": "a table has no } at its end",
    "Unterminated string": "a text has no quote at its end",
    "Unescaped": "a text has a backslash that stands alone; write two",
    "Illegal character": "a text has a character that it must not have; a line break needs three quotes",
    "Duplicate": "a name is given twice",
}
NO_KEYS = "Remove it, and name an environment variable in the endpoint's key_env."


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a settings file; one that is no TOML, or has a key in it, raises."""
    source = readable_path(path)
    try:
        if path.exists() and not path.is_file():
            raise DataError([Problem(source, "this is not an ordinary file", "Name a settings file (TOML).")])
        if path.stat().st_size > MAX_BYTES:
            raise DataError([Problem(source, "a settings file has at most 1 MB", "Name the right file.")])
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = Problem(source, f"the file cannot be opened: {error.strerror}", "Check the name and the folder.")
    except RecursionError:
        problem = Problem(source, "the values are nested too deeply", "Write one value, or one list, per setting.")
    except UnicodeDecodeError:
        problem = Problem(source, "the file is not UTF-8", "Save it as UTF-8.")
    except tomllib.TOMLDecodeError as error:
        problem = Problem(source, f"this is no valid TOML: {_without_values(str(error))}", "Correct that line.")
    except ValueError:  # an integer of thousands of digits
        problem = Problem(source, "a number has too many digits", "Correct it.")
    else:
        return content
    raise DataError([problem])


def _without_values(message: str) -> str:
    """What the parser says, without what it read: that may be a key."""
    place = re.search(r"\(at (line \d+, column \d+|end of document)\)", message)
    if "overwrite" in message or "twice" in message or "already" in message or "declare" in message:
        return f"a name is given twice {place[0] if place else ''}".strip()
    cause = next((words for start, words in TOML_CAUSES.items() if message.startswith(start)), "it cannot be read")
    return f"{cause} {place[0] if place else ''}".strip()


def key_problems(content: Mapping[str, Any], source: str, keys: Iterable[str | None] = ()) -> list[Problem]:
    """Texts anywhere in a file that look like keys of an endpoint, or contain one of the given keys."""
    secrets = [key for key in keys if key is not None and len(key) >= MIN_CHARACTERS]
    return [
        Problem(f"{source} {place}", "this looks like a key, which must not be in a file", NO_KEYS)
        for place, text in _texts(content, "", MAX_DEPTH)
        if SECRET_TEXT.search(text) or any(key in text for key in secrets)
    ]


def secret_name(name: str, value: object) -> str | None:
    """Where a parameter, or a text inside it, has the name of a key; None where nothing has."""
    if SECRET_NAMES.fullmatch(name):
        return escape_name(name)
    inside = (place for place, _ in _texts(value, escape_name(name), MAX_DEPTH) if place != escape_name(name))
    return next((place for place in inside if SECRET_NAMES.fullmatch(place.rpartition(".")[2])), None)


def _texts(value: object, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif depth and isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(part, f"{place}.{escape_name(name)}".strip("."), depth - 1)
    elif depth and isinstance(value, list):
        for part in value:
            yield from _texts(part, place, depth - 1)


@final
@dataclass(slots=True)
class TableReader:
    """Takes the settings of one table by name; ``finish`` reports the names that nobody took."""

    table: Mapping[str, Any]
    where: str
    problems: list[Problem]
    taken: list[str] = field(default_factory=list)

    def problem(self, what: str, fix: str) -> None:
        """Report a fault of this table."""
        self.problems.append(Problem(self.where, what, fix))

    def text(self, name: str, *, required: str = "") -> str | None:
        """A text that is not blank; ``required`` is the fix where it is missing."""
        value = self._take(name)
        if value is None:
            if required:
                self.problem(f"{name} is missing", required)
            return None
        if not isinstance(value, str):
            self.problem(f"{name} is not a text", "Write it in quotes.")
            return None
        if not value.strip():
            self.problem(f"{name} is empty", "Write it, or leave it out.")
            return None
        return value

    def number(self, name: str, low: float, high: float) -> float | None:
        """A finite number within bounds; 1 and 1.0 are the same."""
        value = self._number(name, low, high)
        return None if value is None else float(value)

    def whole_number(self, name: str, low: int, high: int) -> int | None:
        """A whole number within bounds."""
        value = self._number(name, low, high)
        if value is None or isinstance(value, int):
            return value
        self.problem(f"{name} {value:g} is not a whole number", "Correct it.")
        return None

    def _number(self, name: str, low: float, high: float) -> float | None:
        value = self._take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.problem(f"{name} is not a number", f"Write a number from {low:g} to {high:g}, without quotes.")
            return None
        if not low <= value <= high:
            self.problem(f"{name} {value:g} is outside {low:g} to {high:g}", "Correct it.")
            return None
        return value

    def choice(self, name: str, names: tuple[str, ...]) -> str | None:
        """One of several words."""
        value = self.text(name)
        if value is None or value in names:
            return value
        self.problem(f"{name} {quote(value)} is unknown", f"{hint(value, names)}Write {_alternatives(names)}.")
        return None

    def texts(self, name: str) -> list[str] | None:
        """A text, or a list of them."""
        value = self._take(name)
        if value is None:
            return None
        listed = value if isinstance(value, list) else [value]
        if not listed or not all(isinstance(one, str) and one for one in listed):
            self.problem(f"{name} is not a list of texts", 'Write it as in ["one", "two"].')
            return None
        return listed

    def flag(self, name: str) -> bool | None:
        """True or false."""
        value = self._take(name)
        if value is None or isinstance(value, bool):
            return value
        self.problem(f"{name} is neither true nor false", f"Write {name} = true, or false.")
        return None

    def subtable(self, name: str) -> Mapping[str, Any] | None:
        """A table inside this one."""
        value = self._take(name)
        if value is None or isinstance(value, Mapping):
            return value
        self.problem(f"{name} is not a table", f"Write it as in {name} = {{ name = 1 }}.")
        return None

    def finish(self) -> None:
        """Report the names that mean nothing; those of keys with other words."""
        for name in self.table:
            if name in self.taken:
                continue
            if SECRET_NAMES.fullmatch(name):
                self.problem(f"{escape_name(name)} would be a key in a file", NO_KEYS)
            else:
                known = join_names(self.taken) if len(self.taken) <= 8 else ", ".join(self.taken)
                self.problem(f"there is no setting {quote(name)}", f"{hint(name, self.taken)}The settings are {known}.")

    def _take(self, name: str) -> Any:  # noqa: ANN401  (whatever TOML can hold)
        self.taken.append(name)
        return self.table.get(name)


def table_reader(kind: str, name: str, table: object, source: str, problems: list[Problem]) -> TableReader | None:
    """The reader of a table [kind.name] of a settings file; None, with a problem, for what is no table."""
    title = f"[{kind}.{escape_name(name)}]"
    if not isinstance(table, Mapping):
        problems.append(Problem(f"{source} {title}", "this is not a table", f"Write {title} above it."))
        return None
    reader = TableReader(table, f"{source} {title}", problems)
    if not name.strip():
        reader.problem("the name is blank", "Give it a name.")
    return reader


def hint(name: str, names: Iterable[str]) -> str:
    """Suggest the most similar of some names, as the beginning of a fix; empty if none is similar."""
    similar = similar_name(name, names)
    return "" if similar is None else f"Did you mean {quote(similar)}? "


def _alternatives(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
