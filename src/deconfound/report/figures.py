"""A blank figure, and its bytes: the same on every run, whatever the user's settings."""

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
    "svg.hashsalt": "deconfound",  # else the ids in the file are random
    "svg.fonttype": "none",  # text stays text: it can be searched, and glyphs do not depend on the version
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
    "text.parse_math": False,  # names are not formulas
}
INCHES_PER_CHARACTER = 0.085  # inches a character of a title or footnote takes, with room for another font


@dataclass(frozen=True, slots=True)
class Frame:
    """Size in inches and the words around a picture."""

    width: float
    height: float
    title: str
    footnote: str


def require_matplotlib() -> None:
    """Say what to install before any work is done."""
    try:
        import matplotlib.figure
        import matplotlib.style  # noqa: F401
    except ImportError as error:
        raise UsageError('Pictures need matplotlib. Install it with: pip install "deconfound[plots]"') from error


@contextmanager
def style_context() -> Iterator[None]:
    """Matplotlib's defaults with our settings; the user's come back afterwards."""
    require_matplotlib()
    import matplotlib as mpl
    import matplotlib.style as mpl_style

    with mpl_style.context("default"), mpl.rc_context(SETTINGS):
        yield


def new_figure(frame: Frame) -> Figure:
    """A figure with its title and footnote, to be drawn on inside ``style_context``."""
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
    """The figure as a file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
