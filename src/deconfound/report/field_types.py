"""Check that what was read from a file has the types that its dataclasses declare, at any depth."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from deconfound.frames import Records

Annotation: TypeAlias = Any

MAX_INT = 2**128  # the largest seed; larger numbers would not even be floats


def check_fields(value: object, place: str) -> None:
    """Raise a ``ValueError`` that names the first field of a dataclass that has another type than declared."""
    kind: type[Any] = type(value)
    hints = _hints(kind)  # type: ignore[arg-type]  # types are hashable
    for field in fields(kind):
        _check(getattr(value, field.name), hints[field.name], f"{place}.{field.name}")


@cache
def _hints(kind: type[Any]) -> dict[str, Annotation]:
    try:
        return get_type_hints(kind)
    except NameError:  # a type that is imported for type checkers only
        return {field.name: Any for field in fields(kind)}


def _check(value: object, declared: Annotation, place: str) -> None:
    if not _matches(value, declared, place):
        raise ValueError(f"{place} is of type {type(value).__name__}")


def _matches(value: object, declared: Annotation, place: str) -> bool:
    origin: Annotation = get_origin(declared)
    arguments = get_args(declared)
    if origin in (Union, types.UnionType):
        return any(_matches(value, each, place) for each in arguments)
    if origin is Literal:
        return value in arguments
    if origin in (tuple, Records):
        return _matches_tuple(value, (*arguments, Ellipsis) if origin is Records else arguments, place)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_matches(each, arguments[1], place) for each in value.values())
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return _matches_class(value, origin or declared, place)


def _matches_tuple(value: object, arguments: tuple[Annotation, ...], place: str) -> bool:
    if not isinstance(value, tuple):
        return False
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return all(_matches(each, arguments[0], place) for each in value)
    return len(value) == len(arguments) and all(map(_matches, value, arguments, [place] * len(value)))


def _matches_class(value: object, declared: Annotation, place: str) -> bool:
    if isinstance(value, int) and abs(value) > MAX_INT:
        return False
    if declared is float:
        return isinstance(value, float | int | np.floating) and not isinstance(value, bool)
    if declared is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    # An alias or a protocol cannot be checked, but what stands there can.
    if isinstance(declared, type) and not getattr(declared, "_is_protocol", False) and not isinstance(value, declared):
        return False
    if is_dataclass(value) and not isinstance(value, type):
        check_fields(value, place)
    return True
