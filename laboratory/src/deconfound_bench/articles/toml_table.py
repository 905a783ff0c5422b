"""Read TOML files with checks: every complaint names the file, the key and the fix."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from typing import NoReturn, TypeVar

from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, quote

Value = TypeVar("Value")

SEE_SCHEMA = "See schema.toml."
TYPE_NAMES: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    float: "a number",
    list: "an array",
    dict: "a table",
}


class TomlTable:
    """A table of a TOML file that checks the types of its values and finds keys that were never read."""

    def __init__(self, where: str, values: Mapping[str, object]) -> None:
        self.where = where
        self._values = values
        self._unread = set(values)

    @classmethod
    def from_file(cls, folder: Traversable, name: str) -> TomlTable:
        """Read a file of the folder."""
        try:
            return cls(name, tomllib.loads((folder / name).read_text("utf-8")))
        except FileNotFoundError:
            raise DataError([Problem(name, "there is no such file", "Restore it.")]) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise DataError([Problem(name, f"the file is not valid TOML: {error}", "Correct it.")]) from None

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def get(self, key: str, kind: type[Value], purpose: str = "") -> Value:
        """The value of a key, which must be of the given type; an integer counts as a number."""
        value = self._value(key, purpose)
        if kind is float and type(value) is int:
            value = float(value)
        if not isinstance(value, kind):
            self.refuse(f"{quote(key)} must be {TYPE_NAMES[kind]}, but is {quote(value)}", SEE_SCHEMA)
        return value

    def texts(self, key: str, purpose: str = "") -> tuple[str, ...]:
        """A list of texts, written as an array of strings or as one text with one item per line."""
        value = self._value(key, purpose)
        items = [line.strip() for line in value.splitlines()] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            what = f"{quote(key)} must be a text with one item per line or an array of strings, but is {quote(value)}"
            self.refuse(what, SEE_SCHEMA)
        return tuple(item for item in items if item)

    def table(self, key: str) -> TomlTable:
        """A table inside this one."""
        return TomlTable(f"{self.where} [{key}]", self.get(key, dict))

    def tables(self, key: str) -> list[TomlTable]:
        """An array of tables."""
        items = self.get(key, list)
        if not items or not all(isinstance(item, dict) for item in items):
            self.refuse(f"{quote(key)} must be an array of tables, with at least one", SEE_SCHEMA)
        return [TomlTable(f"{self.where} {key} {number}", item) for number, item in enumerate(items, 1)]

    def items(self, kind: type[Value]) -> dict[str, Value]:
        """Every key with its value, where all values are of one type."""
        return {key: self.get(key, kind) for key in self._values}

    def finish(self) -> None:
        """Refuse keys that were never read."""
        if self._unread:
            self.refuse(f"unknown key {join_names(sorted(self._unread))}", f"Correct or remove it. {SEE_SCHEMA}")

    def refuse(self, what: str, fix: str) -> NoReturn:
        """Raise an error about this table."""
        raise DataError([Problem(self.where, what, fix)])

    def _value(self, key: str, purpose: str) -> object:
        if key not in self._values:
            meaning = f" ({purpose})" if purpose else ""
            self.refuse(f"the key {quote(key)}{meaning} is missing", f"Add it. {SEE_SCHEMA}")
        self._unread.discard(key)
        return self._values[key]
