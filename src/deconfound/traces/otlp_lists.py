"""Lists and objects that a dialect writes as one attribute per value, such as ``messages.0.role``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_NAMES = 12  # of nested names in one attribute


def listed(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The objects under ``prefix.0``, ``prefix.1`` and so on, in the order of their numbers."""
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            names = key[len(start) :].split(".", MAX_NAMES)
            if names[0].isdecimal():
                _put(tree, names, value)
    return [tree[key] for key in sorted(tree, key=_number) if isinstance(tree[key], dict)]


def listed_in(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of a list inside one of the objects above."""
    found = value.get(key)
    if not isinstance(found, dict):
        return []
    numbered = [name for name in found if name.isdecimal() and isinstance(found[name], dict)]
    return [found[name] for name in sorted(numbered, key=_number)]


def _put(tree: dict[str, Any], names: list[str], value: object) -> None:
    for name in names[:-1]:
        below = tree.setdefault(name, {})
        if not isinstance(below, dict):  # a name is both a value and an object: the value was first
            return
        tree = below
    tree.setdefault(names[-1], value)


def _number(name: str) -> tuple[int, str]:
    return len(name.lstrip("0")), name.lstrip("0")  # numbers of any length, without their conversion
