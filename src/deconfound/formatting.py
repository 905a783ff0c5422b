"""How a user's values and names appear in a message: short, quoted, harmless."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN_CHARACTERS = 60
SHOWN_NAMES = 8


def quote(value: object) -> str:
    """Show a stranger's text so that it stays on its line and no terminal obeys it."""
    text = str(value)
    return (
        '"'
        + escape_control_characters(text[:SHOWN_CHARACTERS]).replace('"', '\\"')
        + ("…" if len(text) > SHOWN_CHARACTERS else "")
        + '"'
    )


def escape_control_characters(text: str) -> str:
    """Write control characters, direction marks and lone surrogates as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def join_names(names: Iterable[object]) -> str:
    """Name a few things and count the rest."""
    shown = [escape_control_characters(str(name)[:SHOWN_CHARACTERS]) for name in names]
    rest = len(shown) - SHOWN_NAMES
    return ", ".join(shown[:SHOWN_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def pluralize(number: int, noun: str) -> str:
    """Count things with the plural where it belongs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_percent(share: float, decimals: int | None = None) -> str:
    """0.5 as people write it, "50 %": rounded to so many decimals, or as exact as it was given."""
    number = 100 * share
    return f"{number:g} %" if decimals is None else f"{number:.{decimals}f} %"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Offer the most similar of the known names, as the end of a sentence; nothing if none is near."""
    known = list(names)
    near = difflib.get_close_matches(name.lower(), [other.lower() for other in known], n=1)
    return f"; did you mean {quote(next(n for n in known if n.lower() == near[0]))}?" if near else ""
