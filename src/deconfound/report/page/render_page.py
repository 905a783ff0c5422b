"""One self-contained HTML page: a strict policy, no request, every text of others escaped."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from deconfound.data import Replay
from deconfound.escaping import escape_lines
from deconfound.report.answer import Answer
from deconfound.report.page.bias_chart import BiasChart
from deconfound.report.page.check_rows import CheckRow, check_rows, table_sizes
from deconfound.report.page.explore_data import ExploreData, explore_data
from deconfound.report.page.pair_matrix import PairMatrix
from deconfound.report.page.plan_chart import PlanChart
from deconfound.report.page.precision_chart import PrecisionChart
from deconfound.report.page.segment_chart import SegmentChart
from deconfound.report.page.sensitivity_chart import SensitivityChart
from deconfound.report.page.support_chart import SupportChart
from deconfound.report.page.value_chart import ValueChart
from deconfound.report.reproduction import Reproduction
from deconfound.report.scale import Scale
from deconfound.report.segment_text import segment_heading
from deconfound.report.sensitivity_text import sensitivity_lines
from deconfound.report.text import METHOD, SENSITIVITY, Section, sections, value_rows
from deconfound.report.wording import NOT_RELIABLE
from deconfound.result import Result

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = "templates"
STYLES = ("page.css", "charts.css", "explore.css")
SCRIPTS = ("unpack.js", "compare.js", "table.js")


@dataclass(frozen=True, slots=True)
class PageContent:
    """Everything that the templates write."""

    answer: Answer
    values: ValueChart
    value_table: list[tuple[str, ...]]
    pairs: PairMatrix
    bias: BiasChart
    precision: PrecisionChart
    support: SupportChart
    sensitivity: SensitivityChart
    sensitivity_lines: list[str]
    plan: PlanChart | None
    segments: tuple[SegmentChart, ...]
    explore: ExploreData | None
    sections: dict[str, Section]  # by heading
    checks: tuple[CheckRow, ...]
    method: Section
    reproduction: Reproduction
    tables: str  # how many rows the page is about
    doubt: str  # stands in every section that a failed check makes unreliable

    @classmethod
    def from_result(cls, result: Result, replay: Replay | None = None, plan: PlanChart | None = None) -> PageContent:
        """The same sentences as in text and JSON, and the geometry of the pictures."""
        _, *rest = sections(result, verbose=True)
        by_heading = {section.heading: section for section in rest}
        by_segment = [by_heading.pop(segment_heading(one)) for one in result.segments]
        return cls(
            answer=Answer.from_result(result),
            values=ValueChart.from_result(result),
            value_table=value_rows(result),
            pairs=PairMatrix.from_result(result),
            bias=BiasChart.from_result(result),
            precision=PrecisionChart.from_result(result),
            support=SupportChart.from_result(result),
            sensitivity=SensitivityChart.from_result(result),
            sensitivity_lines=sensitivity_lines(result.sensitivity, result.level, Scale.of(result)),
            plan=None if plan is None else replace(plan, current_rows=result.counts.experiment.rows),
            segments=SegmentChart.all_of(result, by_segment),
            explore=explore_data(result, replay),
            sections={name: each for name, each in by_heading.items() if name not in (METHOD, SENSITIVITY)},
            checks=check_rows(result),
            method=by_heading[METHOD],
            reproduction=Reproduction.from_result(result),
            tables=table_sizes(result),
            doubt=f"{NOT_RELIABLE}.",
        )


def render_html(result: Result, replay: Replay | None = None, plan: PlanChart | None = None) -> str:
    """The whole page; ``replay`` has the outputs to explore and ``plan`` the curve of a plan."""
    from markupsafe import Markup

    content = PageContent.from_result(result, replay, plan)
    data = None if content.explore is None else Markup(content.explore.json)  # noqa: S704  (has no markup characters)
    style, script = package_text(STYLES), package_text(SCRIPTS)
    page = (
        environment()
        .get_template("page.html")
        .render(
            page=content,
            policy=policy(style, script),
            style=Markup(style),  # noqa: S704  (a file of this package)
            script=Markup(script),  # noqa: S704
            data=data,
        )
    )
    return escape_lines(page)


def policy(style: str, script: str) -> str:
    """What a browser may do with the page: apply this style, run this script, and nothing else."""
    return (
        f"default-src 'none'; style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def environment() -> Environment:
    """Templates in which every value is escaped and an unknown name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(__package__, TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def package_text(names: tuple[str, ...]) -> str:
    """Files of the templates' folder, one after the other."""
    folder = files(__package__).joinpath(TEMPLATES)
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
