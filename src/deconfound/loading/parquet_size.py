"""How large the rows of a Parquet file are once they are decoded: texts that are stored once may be used often.

Newer writers note the decoded bytes of texts in the footer. For other files a few rows are decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from deconfound.loading.decoded_size import decoded_bytes
from deconfound.loading.parquet_footer import Footer, read_footer

PROBED_ROWS = 64  # at the beginning of a row group
PROBED_AT_ONCE = 4
PROBED_BYTES = 1 << 24  # enough to see that rows are long
PROBED_GROUPS = 3  # of a file
PROBED_FILES = 8  # of a log


@dataclass(frozen=True, slots=True)
class ParquetSize:
    """Rows and decoded bytes of a file, as far as its footer says them.

    ``growing`` are columns of which it does not: they have ``stored`` bytes, and at most ``longest`` decoded ones.
    """

    path: Path
    footer: Footer
    known: int
    growing: tuple[str, ...]
    stored: int
    longest: int

    @classmethod
    def of(cls, path: Path) -> ParquetSize:
        """The size of a file; ``ValueError`` if its footer cannot be read."""
        with path.open("rb") as handle:
            footer = read_footer(handle)
        growing = [chunk for chunk in footer.chunks if chunk.may_grow]
        known = sum(max(each.stored_bytes, each.text_bytes or 0) for each in footer.chunks if not each.may_grow)
        names = tuple(sorted({chunk.name for chunk in growing}))
        longest = sum(chunk.stored_bytes * max(chunk.values, 1) for chunk in growing)  # each as long as all together
        return cls(path, footer, known, names, sum(chunk.stored_bytes for chunk in growing), longest)

    @property
    def rows(self) -> int:
        """Rows of all row groups."""
        return sum(self.footer.rows)

    def probe(self) -> float | None:
        """Decoded bytes per row of the growing columns, by the first rows of some row groups; None if damaged."""
        from pyarrow import parquet

        filled = [at for at, rows in enumerate(self.footer.rows) if rows]
        sizes, rows = 0, 0
        try:
            with self.path.open("rb") as handle:  # Arrow itself opens no file whose name is not UTF-8
                file = parquet.ParquetFile(handle, pre_buffer=False)
                for at in _evenly(len(filled), PROBED_GROUPS):
                    found = _probe(file.iter_batches(PROBED_AT_ONCE, [filled[at]], list(self.growing)))
                    sizes, rows = sizes + found[0], rows + found[1]
        except (pa.ArrowException, OSError, ValueError):
            return None  # reported when the rows are read
        return sizes / rows if rows else None


def _probe(batches: Iterator[pa.RecordBatch]) -> tuple[int, int]:
    """Decoded bytes and number of the first rows; fewer where they are long."""
    size = rows = 0
    for batch in batches:
        size, rows = size + decoded_bytes(batch), rows + batch.num_rows
        if rows >= PROBED_ROWS or size > PROBED_BYTES:
            break
    return size, rows


def exceeds(sizes: Sequence[ParquetSize], limit: float) -> bool:
    """Whether files have more decoded bytes than this, by some rows of some of them if need be."""
    known, stored = sum(size.known for size in sizes), sum(size.stored for size in sizes)
    if known + stored > limit:
        return True
    if known + sum(size.longest for size in sizes) <= limit:
        return False
    growing = [size for size in sizes if size.growing and size.rows]
    probed = [growing[at] for at in _evenly(len(growing), PROBED_FILES)]
    found = [(size.rows, row_bytes) for size in probed if (row_bytes := size.probe()) is not None]
    row_bytes = sum(rows * each for rows, each in found) / max(sum(rows for rows, _ in found), 1)
    return known + row_bytes * sum(size.rows for size in growing) > limit


def _evenly(items: int, count: int) -> list[int]:
    """At most so many places, the first and the last among them."""
    return [int(at) for at in np.linspace(0, items - 1, min(count, items))]
