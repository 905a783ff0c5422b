"""The page docs/reproduction.md: the paper's figures beside ours."""

from deconfound_bench.reproduction.page import reproduction_page

__all__ = ["reproduction_page"]
