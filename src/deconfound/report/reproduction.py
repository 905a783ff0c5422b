"""What somebody needs to compute a result again and to see that it is the same."""

from __future__ import annotations

from dataclasses import dataclass

from deconfound.escaping import escape_line
from deconfound.result import Result


@dataclass(frozen=True, slots=True)
class FingerprintedTable:
    """A table and the fingerprint of its content."""

    table: str
    source: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Version, command, seed and data."""

    version: str
    command: str
    seed: int
    tables: tuple[FingerprintedTable, ...]

    @classmethod
    def from_result(cls, result: Result) -> Reproduction:
        """The command as it was typed, or the call in Python."""
        tables = (
            ("log", result.counts.log),
            ("experiment", result.counts.experiment),
            ("replay", result.counts.replay),
        )
        call = (
            f'deconfound.evaluate(study, family="{result.family.estimator.name}", level={result.level:g}, '
            f"seed={result.seed})"
        )
        return cls(
            escape_line(result.version),
            escape_line(result.command) or call,
            result.seed,
            tuple(FingerprintedTable(name, escape_line(each.source), each.fingerprint) for name, each in tables),
        )
