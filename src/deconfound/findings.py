"""What a check found: a verdict, the statistic and p-value behind it, and typed details.

A finding is data. Its sentences are composed from the fields, in ``report/findings_text.py``, when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, Protocol

from deconfound.formatting import to_jsonable

Verdict = Literal["pass", "warn", "fail", "cannot tell"]

LONG_LOG = "long log"
"""The note that a family uses a sample of the log."""


class Details(Protocol):
    """A frozen dataclass of numbers, strings and tuples of them: what one kind of finding reports."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Notice:
    """Details that are text by nature, such as a remark about a file."""

    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the reader of a result should know.

    ``check`` is a stable name for programs. ``assumption`` is "A1" to "A5", or empty. ``p_value`` is the raw one;
    ``adjusted_p_value`` accounts for all tests of the study, and the verdict follows it.
    """

    check: str
    verdict: Verdict
    details: Details
    assumption: str = ""
    statistic: float | None = None
    p_value: float | None = None
    adjusted_p_value: float | None = None

    @property
    def message(self) -> str:
        """What was observed and what it means."""
        from deconfound.report.findings_text import describe

        return describe(self.details, self)[0]

    @property
    def remedy(self) -> str:
        """What to do; empty where nothing has to be done."""
        from deconfound.report.findings_text import describe

        return describe(self.details, self)[1]

    def record(self) -> dict[str, str | float | None]:
        """One line of a table: everything but the details."""
        return {
            "check": self.check,
            "assumption": self.assumption,
            "verdict": self.verdict,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
            "message": self.message,
            "remedy": self.remedy,
        }


def finding_to_document(finding: Finding) -> dict[str, Any]:
    """Every field and both sentences, ready for JSON; a number that is not finite becomes null."""
    return {
        "check": finding.check,
        "assumption": finding.assumption,
        "verdict": finding.verdict,
        "statistic": to_jsonable(finding.statistic),
        "p_value": to_jsonable(finding.p_value),
        "adjusted_p_value": to_jsonable(finding.adjusted_p_value),
        "message": finding.message,
        "remedy": finding.remedy,
        "details": {
            "type": type(finding.details).__name__,
            **to_jsonable(asdict(finding.details)),
        },
    }


def finding_from_document(document: Mapping[str, Any], details_types: Iterable[type] = (Notice,)) -> Finding:
    """Read a finding back; ``details_types`` are the kinds of details that may occur."""
    by_name = {each.__name__: each for each in details_types}
    details = {name: _from_json(value) for name, value in document["details"].items() if name != "type"}
    return Finding(
        document["check"],
        document["verdict"],
        by_name[document["details"]["type"]](**details),
        document["assumption"],
        document["statistic"],
        document["p_value"],
        document["adjusted_p_value"],
    )


def _from_json(value: object) -> object:
    return tuple(_from_json(each) for each in value) if isinstance(value, list) else value
