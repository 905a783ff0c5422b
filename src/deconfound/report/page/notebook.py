"""What a notebook shows for a result: the answer, the picture of the values, and the warnings."""

from __future__ import annotations

from deconfound.escaping import escape_lines
from deconfound.report.answer import WARNINGS, Answer
from deconfound.report.page.render_page import environment, package_text
from deconfound.report.page.value_chart import ValueChart
from deconfound.report.text import sections
from deconfound.result import Result


def notebook_html(result: Result) -> str:
    """A fragment with its own style, which applies to nothing else in the notebook."""
    from markupsafe import Markup

    warnings = next((each.lines for each in sections(result, verbose=False) if each.heading == WARNINGS), [])
    fragment = (
        environment()
        .get_template("notebook.html")
        .render(
            answer=Answer.from_result(result),
            values=ValueChart.from_result(result),
            warnings=warnings,
            style=Markup(package_text(("notebook.css",))),  # noqa: S704  (a file of this package)
        )
    )
    return escape_lines(fragment)
