"""What can go wrong, and the exit code each kind ends in.

DeconfoundError
├── DataError         1  the tables are not what they must be; lists every problem found
├── UsageError        2  wrong arguments or a missing environment
├── AssumptionError   3  the data says no: an assumption check failed
└── EvidenceError     4  too little evidence to answer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the input: where it stands, what it is, what to do about it."""

    where: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.fix}"


class DeconfoundError(Exception):
    """Anything this package raises on purpose; the message is meant for the user."""

    exit_code: ClassVar[int] = 2


class DataError(DeconfoundError):
    """The tables cannot be used as they are; ``problems`` holds all of them, not only the first."""

    exit_code = 1

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(DeconfoundError):
    """The call itself is wrong: an unknown name, a contradictory option, a missing extra."""

    exit_code = 2


class AssumptionError(DeconfoundError):
    """An assumption that the answer rests on is visibly broken."""

    exit_code = 3


class EvidenceError(DeconfoundError):
    """The question is well posed and the data are too few to answer it."""

    exit_code = 4
