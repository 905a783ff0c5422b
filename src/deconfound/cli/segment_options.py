"""--segments and --segments-from: the columns that divide contexts."""

from __future__ import annotations

import argparse

from deconfound.errors import UsageError


def add_segment_options(parser: argparse.ArgumentParser) -> None:
    """--segments and --segments-from."""
    parser.add_argument(
        "--segments",
        metavar="COLUMN,...",
        help="report values by these columns of the experiment or the replay, e.g. language,task",
    )
    parser.add_argument(
        "--segments-from",
        metavar="FILE",
        help="a table of contexts (context_id or context) with the columns of --segments (default: all others)",
    )


def parse_segments(names: str | None) -> tuple[str, ...] | None:
    """Names of columns, from --segments; None if it is not given."""
    if names is None:
        return None
    chosen = tuple(name.strip() for name in names.split(",") if name.strip())
    if not chosen:
        raise UsageError("--segments names no column; name columns, separated by commas, such as language,task.")
    return chosen
