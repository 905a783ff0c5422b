"""The appearance of each family in every figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Dash: TypeAlias = str | tuple[int, tuple[int, ...]]

WHITE_SHARE = 0.78  # of white in a lightened colour
DARK_LUMINANCE = 0.179  # below it white text has more contrast than black: (1.05 * 0.05) ** 0.5 - 0.05


@dataclass(frozen=True, slots=True)
class Style:
    """A colour for the screen; marker and dash distinguish the families in grey print."""

    colour: str
    marker: str
    dash: Dash


STYLES = {
    "exp-only": Style("#0072B2", "o", "-"),
    "obs-only": Style("#E69F00", "s", (0, (5, 2))),
    "representation-exp": Style("#009E73", "^", (0, (1, 1))),
    "grounded": Style("#D55E00", "D", (0, (7, 1, 1, 1))),
    "cvci": Style("#CC79A7", "v", (0, (3, 1))),
    "cvci-residual": Style("#56B4E9", "P", (0, (5, 1, 1, 1, 1, 1))),
    "grounded-linear": Style("#8C7A00", "X", (0, (2, 2))),
    "grounded-anchor": Style("#7F3C8D", "<", (0, (9, 2))),
    "auto": Style("#000000", "*", "-"),
}
"""The colour-blind safe palette of Okabe and Ito, with its yellow darkened for lines, and a violet."""

OTHER_STYLES = (
    Style("#777777", "h", (0, (1, 2))),
    Style("#444444", ">", (0, (4, 4))),
    Style("#AAAAAA", "p", (0, (2, 1))),
)
"""For families that are not in ``STYLES``: shades of grey, in turn."""


def styles_for(families: Sequence[str]) -> dict[str, Style]:
    """The style of each family; a known family always has the same one."""
    others = sorted(set(families) - set(STYLES))
    return {
        family: STYLES[family] if family in STYLES else OTHER_STYLES[others.index(family) % len(OTHER_STYLES)]
        for family in families
    }


def lighten(colour: str) -> str:
    """The colour mixed with much white."""
    return "#" + "".join(f"{round(part + (255 - part) * WHITE_SHARE):02x}" for part in _rgb(colour))


def text_colour(background: str) -> str:
    """Black or white, whichever is more readable on the background."""
    red, green, blue = ((part / 255) ** 2.2 for part in _rgb(background))
    return "#ffffff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK_LUMINANCE else "#000000"


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
