"""What `deconfound evaluate` prints: one result, several families, or several outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deconfound.cli.terminal import write_result
from deconfound.escaping import escape_line

if TYPE_CHECKING:
    from deconfound.result import Result

SEVERAL_OUTCOMES = (
    "\n\nEvery outcome has intervals of its own. The more outcomes are compared, the more likely it is that one of "
    "them shows a difference by chance."
)


@dataclass(frozen=True, slots=True)
class OutcomeResult:
    """One result, and the column of its outcomes if the command line names it."""

    outcome: str
    result: Result


def print_results(results: Sequence[OutcomeResult], *, as_json: bool, verbose: bool) -> None:
    """Print one result, or all results of all outcomes."""
    from deconfound.report.document import document
    from deconfound.report.json_text import dump_json

    if not as_json:
        write_result(_text(results, verbose=verbose))
    elif len(results) == 1:
        write_result(dump_json(document(results[0].result)))
    else:
        named = [{"outcome": one.outcome} if one.outcome else {} for one in results]
        pairs = zip(named, results, strict=True)
        write_result(dump_json({"results": [{**name, **document(one.result)} for name, one in pairs]}))


def _text(results: Sequence[OutcomeResult], *, verbose: bool) -> str:
    """The summary, or the comparison of families, of each outcome."""
    from deconfound.report.text import comparison

    parts = []
    outcomes = list(dict.fromkeys(one.outcome for one in results))
    for name in outcomes:
        own = [one.result for one in results if one.outcome == name]
        heading = f"Outcome: {escape_line(name)}\n\n" if len(outcomes) > 1 else ""
        parts.append(heading + (own[0].summary(verbose=verbose) if len(own) == 1 else comparison(own)))
    return "\n\n".join(parts) + (SEVERAL_OUTCOMES if len(parts) > 1 else "")
