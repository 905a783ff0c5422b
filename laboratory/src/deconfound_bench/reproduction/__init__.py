"""The paper's figures and ours, side by side."""

from deconfound_bench.reproduction.document import reproduction

__all__ = ["reproduction"]
