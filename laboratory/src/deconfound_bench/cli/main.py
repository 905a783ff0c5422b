"""Parse and run; `deconfound` turns errors into messages and exit codes."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound_bench.cli.parser import build_parser


def main(arguments: Sequence[str]) -> int:
    """Run one benchmark command; ``arguments`` is what follows `deconfound bench`."""
    parsed = build_parser().parse_args(arguments)
    code: int = parsed.run(parsed)
    return code
