"""Figures whose bytes are the same on every run, whatever the user's matplotlib settings are."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deconfound.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS = {
    "svg.hashsalt": "deconfound",  # otherwise the ids in the file are random
    "svg.fonttype": "none",  # text stays searchable, and the file does not depend on glyph outlines
    "font.size": 10.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "hatch.linewidth": 1.2,
    "text.parse_math": False,  # a "$" in a model name is no formula
}
INCHES_PER_CHARACTER = 0.085  # of titles and footnotes; generous, because the font may differ


@dataclass(frozen=True, slots=True)
class Frame:
    """Size in inches, title and footnote of a figure."""

    width: float
    height: float
    title: str
    footnote: str


def require_matplotlib() -> None:
    """Raise a usage error with the install command if matplotlib is missing."""
    try:
        import matplotlib.figure
        import matplotlib.style  # noqa: F401
    except ImportError as error:
        raise UsageError('Figures need matplotlib. Install it with: pip install "deconfound[plots]"') from error


@contextmanager
def style_context() -> Iterator[None]:
    """Apply matplotlib's defaults and ``SETTINGS``; the user's settings are restored on exit."""
    require_matplotlib()
    import matplotlib as mpl
    import matplotlib.style as mpl_style

    with mpl_style.context("default"), mpl.rc_context(SETTINGS):
        yield


def new_figure(frame: Frame) -> Figure:
    """An empty figure with title and footnote; call inside ``style_context``."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(frame.width, frame.height), layout="constrained")
    FigureCanvasSVG(figure)
    columns = int(frame.width / INCHES_PER_CHARACTER)
    figure.suptitle(textwrap.fill(frame.title, columns), x=0.01, ha="left", fontsize=11)
    figure.supxlabel(
        textwrap.fill(frame.footnote, columns + columns // 8), x=0.01, ha="left", fontsize=9, color="#444444"
    )
    return figure


def to_svg(figure: Figure) -> bytes:
    """The bytes of an SVG file, without date and software version."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def to_png(figure: Figure) -> bytes:
    """The bytes of a PNG file, without the software version."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
