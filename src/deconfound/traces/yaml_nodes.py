"""YAML -> mappings, lists, texts and numbers, and nothing else.

The values are taken from the parsed nodes and not from PyYAML's constructors: no tag can create an object, a strange
date is a text, and aliases that stand for more than any memory could hold are converted once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from deconfound.errors import UsageError
from deconfound.loading.files import file_error

MERGE = "tag:yaml.org,2002:merge"
NULL, TRUTH = "tag:yaml.org,2002:null", "tag:yaml.org,2002:bool"
WHOLE, REAL = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
TRUE = ("true", "yes", "on")
FIX = "Check it with the program that uses it."


def parse_yaml(text: str, source: str) -> Any:  # noqa: ANN401  (whatever YAML can hold)
    """The content of one document."""
    try:
        import yaml
    except ImportError:
        raise UsageError(
            f'{source}: YAML needs PyYAML. Install it with: pip install "deconfound[yaml]". JSON with the same '
            "content is read without it."
        ) from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return _Converter().value(node)
    except RecursionError:
        raise file_error(source, "the YAML is nested too deeply", FIX) from None
    except (yaml.YAMLError, ValueError, LookupError) as error:
        place = getattr(error, "problem_mark", None)
        line = f" line {place.line + 1}" if place is not None else ""
        raise file_error(f"{source}{line}", "this is no valid YAML", FIX) from None


class _Converter:
    """Converts every node once, however many aliases refer to it."""

    def __init__(self) -> None:
        self._done: dict[int, Any] = {}

    def value(self, node: Any) -> Any:  # noqa: ANN401  (PyYAML's nodes carry no types)
        if node is None:
            return None
        if id(node) not in self._done:
            self._done[id(node)] = None  # for an alias to something around itself
            self._done[id(node)] = self._convert(node)
        return self._done[id(node)]

    def _convert(self, node: Any) -> Any:  # noqa: ANN401
        if node.id == "sequence":
            return [self.value(one) for one in node.value]
        return self._mapping(node) if node.id == "mapping" else _scalar(node.tag, node.value)

    def _mapping(self, node: Any) -> dict[str, Any]:  # noqa: ANN401
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == MERGE:
                parts = value.value if value.id == "sequence" else [value]
                for part in map(self.value, parts):
                    merged = {**part, **merged} if isinstance(part, dict) else merged
            elif key.id == "scalar":
                own[key.value] = self.value(value)
        return {**merged, **own}


def _scalar(tag: str, text: str) -> str | int | float | bool | None:
    """A number, a truth value, nothing or the text itself; numbers in unusual notations stay texts."""
    if tag == NULL:
        return None
    if tag == TRUTH:
        return text.lower() in TRUE
    with suppress(ValueError):
        if tag == WHOLE:
            return int(text, 0)
        if tag == REAL:
            return float(text)
    return text
