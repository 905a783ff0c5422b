"""The callback by which long-running functions report their progress."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the name of the current stage and the share of it that is done, from 0 to 1."""


def no_progress(stage: str, done: float) -> None:
    """Ignore progress."""
