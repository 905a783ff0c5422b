"""--engine, --scheduler and --workers, of every command whose work can be spread."""

from __future__ import annotations

import argparse
from typing import get_args

from deconfound.engines.engine_options import EngineName, EngineOptions


def add_engine_options(parser: argparse.ArgumentParser, workers: str) -> None:
    """Declare the options; ``workers`` is the help of --workers."""
    parser.add_argument(
        "--engine",
        choices=get_args(EngineName),
        default="local",
        help="where the work runs: on this computer (local, processes), on a Dask cluster or on Ray (default local)",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of the cluster, such as tcp://10.0.0.5:8786, for --engine dask or ray"
    )
    parser.add_argument("--workers", type=int, metavar="N", help=workers)


def parse_engine(arguments: argparse.Namespace) -> EngineOptions:
    """The options; those that contradict each other are refused."""
    return EngineOptions(arguments.engine, arguments.scheduler, arguments.workers)
