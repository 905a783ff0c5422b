"""The words of many texts at once: what ``words.word_splitting`` does for one text, in compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from secrets import randbits
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.design import IntArray
from deconfound.features.character_table import character_table
from deconfound.features.text_arrays import Bytes, TextArray, read_texts

Codes: TypeAlias = NDArray[np.uint32]

_CRC_POLYNOMIAL = np.uint32(0xEDB88320)  # of CRC-32, lowest bit first


@dataclass(frozen=True, slots=True)
class Words:
    """The words of several texts, one after another: text i has the words ``offsets[i]`` to ``offsets[i + 1]``."""

    data: Bytes  # the words as UTF-8, without anything between them
    ends: IntArray  # (w,) where each word ends in ``data``
    crc32: Codes  # (w,)
    offsets: IntArray  # (texts + 1,)

    @property
    def counts(self) -> IntArray:
        """Number of words of each text."""
        return np.diff(self.offsets)


def split_texts(texts: TextArray) -> Words:
    """The words of each text, in order."""
    from deconfound.features.kernels.word_kernels import split_words

    size = int(texts.sizes.sum())
    # Lower case may need more bytes than upper case (two become three); no word is shorter than one byte of its text.
    data, ends, crc32 = np.empty(2 * size, np.uint8), np.empty(size, np.int64), np.empty(size, np.uint32)
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    tables = character_table(), _byte_table(), _crc_table()
    count = split_words(texts.data, texts.starts, texts.stops, *tables, data, ends, crc32, offsets)
    return Words(data, ends[:count], crc32[:count], offsets)


@lru_cache(maxsize=1)
def _byte_table() -> Bytes:
    """By byte: its lower case if it is an ASCII letter, digit or underscore; otherwise which other kind it is."""
    from deconfound.features.kernels.word_kernels import OUTSIDE_ASCII, SEPARATOR_BYTE

    table = np.full(256, OUTSIDE_ASCII, dtype=np.uint8)
    for code in range(128):
        table[code] = ord(chr(code).lower()) if chr(code).isalnum() or chr(code) == "_" else SEPARATOR_BYTE
    return table


@lru_cache(maxsize=1)
def _crc_table() -> Codes:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ _CRC_POLYNOMIAL, table >> 1).astype(np.uint32)
    return table


@dataclass(frozen=True, slots=True)
class TokenizedPairs:
    """Pairs of context and output: pair i is ``contexts[context[i]]`` and ``outputs[output[i]]``."""

    contexts: TextArray
    outputs: TextArray
    context: IntArray  # (pairs,)
    output: IntArray  # (pairs,)
    context_words: Words
    output_words: Words


def tokenize_pairs(
    contexts: Sequence[str] | pa.Array | TextArray,
    outputs: Sequence[str] | pa.Array | TextArray,
    context: IntArray,
    output: IntArray,
) -> TokenizedPairs:
    """Split distinct contexts and outputs."""
    contexts, outputs = (text if isinstance(text, TextArray) else read_texts(text) for text in (contexts, outputs))
    return TokenizedPairs(contexts, outputs, context, output, split_texts(contexts), split_texts(outputs))


@dataclass(frozen=True, slots=True)
class NumberedWords:
    """The words of pairs as whole numbers; equal words have equal numbers, in contexts and outputs alike."""

    contexts: IntArray  # by word of the contexts
    outputs: IntArray  # by word of the outputs
    length: IntArray  # characters, by number
    is_number: NDArray[np.bool_]  # whether it begins with a digit, by number
    is_hedge: NDArray[np.bool_]  # by number


def number_words(pairs: TokenizedPairs, hedges: Sequence[bytes]) -> NumberedWords:
    """Number the words of all texts, and describe each distinct word."""
    from deconfound.features.kernels import number_kernels

    first, second = pairs.context_words, pairs.output_words
    used = int(first.ends[-1]) if len(first.ends) else 0
    data = np.concatenate([first.data[:used], second.data[: int(second.ends[-1]) if len(second.ends) else 0]])
    ends = np.concatenate([first.ends, second.ends + used])
    numbers, places = np.empty(len(ends), dtype=np.int64), np.empty(len(ends), dtype=np.int64)
    distinct = number_kernels.number_words(data, ends, random_key(), numbers, places)
    length = np.empty(distinct, dtype=np.int64)
    is_number, is_hedge = np.empty(distinct, dtype=np.bool_), np.empty(distinct, dtype=np.bool_)
    number_kernels.describe_words(data, ends, places[:distinct], *join_bytes(hedges), length, is_number, is_hedge)
    edge = len(first.ends)
    return NumberedWords(numbers[:edge], numbers[edge:], length, is_number, is_hedge)


def join_bytes(pieces: Sequence[bytes]) -> tuple[Bytes, IntArray]:
    """Pieces one after another, and where each ends."""
    return np.frombuffer(b"".join(pieces), np.uint8), np.cumsum([len(piece) for piece in pieces], dtype=np.int64)


@lru_cache(maxsize=1)
def random_key() -> np.uint64:
    """Key of the tables of one process. It decides places in tables, and never a result."""
    return np.uint64(randbits(64))
