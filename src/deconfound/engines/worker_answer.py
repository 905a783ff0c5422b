"""What a worker answers, as bytes: the result of a task, or its error, without pickles.

An error written for the user arrives as what it was: a ``DataError`` with all its problems, a full disk as an
``OSError`` with the file's name. Any other error becomes a ``TaskError`` with its message and traceback.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any

from deconfound.engines.engine import TaskError
from deconfound.errors import AssumptionError, DataError, DeconfoundError, EvidenceError, Problem, UsageError
from deconfound.escaping import escape_line

RESULT, FAILURE = b"\0", b"\1"
WRITTEN_FOR_USERS: dict[str, type[DeconfoundError]] = {
    kind.__name__: kind for kind in (DeconfoundError, UsageError, AssumptionError, EvidenceError)
}


def answer(run: Callable[[], bytes]) -> bytes:
    """The result of a function or its error, as bytes."""
    try:
        return RESULT + run()
    except Exception as error:
        return FAILURE + json.dumps(_to_document(error)).encode()


def read_answer(content: bytes, name: str) -> bytes:
    """The result in an answer; an error is raised. ``name`` is the payload's."""
    if content[:1] == RESULT:
        return content[1:]
    if content[:1] != FAILURE:
        raise TaskError(name, "the worker's answer is damaged", "")
    raise _to_exception(json.loads(content[1:]), name)


def as_from_worker(error: Exception, name: str) -> Exception:
    """An error of this process, as it would have arrived from another one."""
    return _to_exception(_to_document(error), name)


def _to_document(error: Exception) -> dict[str, Any]:
    if isinstance(error, DataError):
        return {"kind": "DataError", "problems": [[one.where, one.what, one.fix] for one in error.problems]}
    if isinstance(error, DeconfoundError):
        kind = next(parent.__name__ for parent in type(error).__mro__ if parent.__name__ in WRITTEN_FOR_USERS)
        return {"kind": kind, "message": str(error)}
    if isinstance(error, OSError) and error.errno is not None and error.strerror is not None:
        return {"kind": "OSError", "errno": error.errno, "message": error.strerror, "file": _file_name(error)}
    if isinstance(error, MemoryError):
        return {"kind": "MemoryError", "message": str(error)}
    trace = "".join(traceback.format_exception(error))
    return {"kind": "", "message": escape_line(f"{type(error).__name__}: {error}"), "trace": trace}


def _file_name(error: OSError) -> str | None:
    return None if error.filename is None else str(error.filename)


def _to_exception(document: dict[str, Any], name: str) -> Exception:
    kind = document["kind"]
    if kind == "DataError":
        return DataError([Problem(*one) for one in document["problems"]])
    if kind == "OSError":
        return OSError(document["errno"], document["message"], document["file"] or name)
    if kind == "MemoryError":
        return MemoryError(document["message"])
    if kind in WRITTEN_FOR_USERS:
        return WRITTEN_FOR_USERS[kind](document["message"])
    return TaskError(name, document["message"], document["trace"])
