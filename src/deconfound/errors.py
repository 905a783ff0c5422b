"""The exceptions of this package and their exit codes.

DeconfoundError
├── DataError         1  the tables cannot be used as they are; lists every problem
├── UsageError        2  wrong arguments, or something missing from the environment
├── AssumptionError   3  an assumption check failed
└── EvidenceError     4  too little data to answer
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, TypeVar

from deconfound.escaping import escape_line

MAX_PRINTED_PROBLEMS = 20  # the others are counted
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of the input: where it is, what is wrong, how to fix it.

    As text it is one line: a line break in a user's name cannot fake another problem.
    """

    where: str
    what: str
    fix: str

    def __str__(self) -> str:
        return escape_line(f"{self.where}: {self.what}. {self.fix}")


def merge_problems(problems: Sequence[Problem]) -> list[Problem]:
    """Report the same fault at several places once, with the list of places."""
    places: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        places.setdefault((problem.what, problem.fix), []).append(problem.where)
    return [Problem(", ".join(dict.fromkeys(where)), what, fix) for (what, fix), where in places.items()]


def first_problems(problems: Sequence[str]) -> list[str]:
    """The first ``MAX_PRINTED_PROBLEMS`` messages, and a line that counts the others."""
    rest = len(problems) - MAX_PRINTED_PROBLEMS
    return [
        *problems[:MAX_PRINTED_PROBLEMS],
        *([f"{rest:,} more. Fix these first, then run again."] if rest > 0 else []),
    ]


class DeconfoundError(Exception):
    """Base of every exception this package raises on purpose; its message is written for the user."""

    exit_code: ClassVar[int] = 2


class DataError(DeconfoundError):
    """The tables cannot be used as they are; ``problems`` lists every fault, not only the first.

    ``remark`` is one line about all of them, such as that only some rows were read.
    """

    exit_code = 1

    def __init__(self, problems: Sequence[Problem], remark: str = "") -> None:
        self.problems = tuple(problems)
        self.remark = remark
        super().__init__("\n".join([*first_problems(list(map(str, self.problems))), *([remark] if remark else [])]))


def read_or_collect(read: Callable[[], Read], problems: list[Problem]) -> Read | None:
    """What is read; None if that raises problems, which are collected to be reported with those of other inputs."""
    try:
        return read()
    except DataError as error:
        problems += error.problems
        return None


class UsageError(DeconfoundError):
    """The call itself is wrong: an unknown name, a contradictory option, a missing extra."""

    exit_code = 2


def check_seed(seed: int) -> None:
    """Refuse a seed that NumPy's generators do not take, or of which they would use only a part."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise UsageError(f"seed (--seed) must be a whole number of at least 0, not {seed!r}.")
    if seed >= 2**128:
        raise UsageError("seed (--seed) must be below 2^128.")


class AssumptionError(DeconfoundError):
    """An assumption that the answer depends on is violated."""

    exit_code = 3


class EvidenceError(DeconfoundError):
    """The question is valid, but there are too few data to answer it."""

    exit_code = 4
