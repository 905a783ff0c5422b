"""Texts as bytes with their boundaries, without a Python object per text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.design import IntArray
from deconfound.words.word_splitting import MAX_CHARACTERS

Bytes: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class TextArray:
    """Texts as UTF-8: text i is ``data[starts[i] : stops[i]]``."""

    data: Bytes
    starts: IntArray  # (n,)
    stops: IntArray  # (n,)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> IntArray:
        """Bytes of each text."""
        return self.stops - self.starts

    def take(self, texts: IntArray | slice) -> TextArray:
        """The given texts, in the given order; no text is copied."""
        return TextArray(self.data, self.starts[texts], self.stops[texts])

    def views(self) -> list[memoryview]:
        """The bytes of each text, not copied."""
        data = self.data.data
        return [data[start:stop] for start, stop in zip(self.starts.tolist(), self.stops.tolist(), strict=True)]


def read_texts(texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> TextArray:
    """Texts of Python or Arrow, up to ``MAX_CHARACTERS`` of each; none may be missing."""
    from deconfound.features.kernels.word_kernels import truncate

    whole = read_whole_texts(texts)
    return TextArray(whole.data, whole.starts, truncate(whole.data, whole.starts, whole.stops, MAX_CHARACTERS))


def read_whole_texts(texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> TextArray:
    """The same, of any length."""
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in texts.chunks]) if texts.num_chunks else []
    column = texts.cast(pa.large_string()) if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    column.validate(full=True)  # the kernels rely on valid UTF-8
    _, offsets, data = column.buffers()
    buffer = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, dtype=np.uint8)
    edges = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1] if len(column) else _NONE
    return TextArray(buffer, edges[:-1], edges[1:])


_NONE = np.zeros(1, dtype=np.int64)
