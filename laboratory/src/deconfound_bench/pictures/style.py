"""How each family looks in every picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Dash: TypeAlias = str | tuple[int, tuple[int, ...]]

PALE = 0.78  # share of white in the colour of an unclear win
DARK = 0.179  # luminance below which white text has more contrast than black: (1.05 * 0.05) ** 0.5 - 0.05


@dataclass(frozen=True, slots=True)
class Style:
    """Colour for the screen; marker and dash tell the families apart in grey print."""

    colour: str
    marker: str
    dash: Dash


KNOWN = {
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
"""Okabe and Ito's palette, which colour-blind readers can tell apart, its yellow darkened for lines, and a violet."""

OTHERS = (
    Style("#777777", "h", (0, (1, 2))),
    Style("#444444", ">", (0, (4, 4))),
    Style("#AAAAAA", "p", (0, (2, 1))),
)
"""For families that have no style of their own: grey, in turn."""


def styles(families: Sequence[str]) -> dict[str, Style]:
    """The style of each family, the same whichever others are drawn with it if it is a known one."""
    strangers = sorted(set(families) - set(KNOWN))
    return {
        family: KNOWN[family] if family in KNOWN else OTHERS[strangers.index(family) % len(OTHERS)]
        for family in families
    }


def pale(colour: str) -> str:
    """The colour with much white in it."""
    return "#" + "".join(f"{round(part + (255 - part) * PALE):02x}" for part in _parts(colour))


def ink(colour: str) -> str:
    """Black or white, whichever reads better on the colour."""
    red, green, blue = ((part / 255) ** 2.2 for part in _parts(colour))
    return "#ffffff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK else "#000000"


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
