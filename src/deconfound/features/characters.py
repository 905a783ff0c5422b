"""Counts of characters, lines and sentences, and compressed sizes: statistics that do not need words."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deconfound.design import FloatArray
from deconfound.features.character_table import CODE_POINTS, character_table
from deconfound.features.text_arrays import Bytes, TextArray
from deconfound.features.tokenize import TokenizedPairs, join_bytes, random_key

WINDOW_BYTES = 32_768
"""Bytes of context that compression can refer back to: deflate's own window."""

REFUSAL_SPAN = 200
"""Characters at the start of an output that are searched for a refusal."""

_DIGITS = b"0123456789"
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())

_SENTENCE_ENDS = ".!?…؟।"  # before white space, with any of the closers between
_SENTENCE_CLOSERS = "\"'”’)]"
_SENTENCE_ENDS_ALONE = "。！？\n"
_QUESTIONS = "?？؟"
_FINAL_CHARACTERS = ".!?…。！？؟।:;\"'”’)]}>|`*"
_REFUSALS = (
    *(b"sorry", b"apologi", b"unable to", b"not able to", b"as an ai", b"as a language model", b"i won't"),
    *(b"cannot help", b"cannot assist", b"cannot provide", b"cannot answer"),
    *(b"can't help", b"can't assist", b"can't provide", b"can't answer"),
)


@dataclass(frozen=True, slots=True)
class CharacterCounts:
    """Counts for each of several texts; every field has one entry per text."""

    chars: FloatArray
    bytes: FloatArray
    digits: FloatArray
    upper: FloatArray
    letters: FloatArray
    punctuation: FloatArray
    lines: FloatArray
    bullets: FloatArray
    headings: FloatArray
    fences: FloatArray
    bold: FloatArray
    tables: FloatArray
    sentences: FloatArray
    repeated_sentences: FloatArray
    questions: FloatArray
    refusal: FloatArray  # 0 or 1
    ends_cleanly: FloatArray  # 0 or 1


def count_characters(texts: TextArray) -> CharacterCounts:
    """Count characters, lines and sentences of each text.

    A line counts as a bullet if it begins with a bullet or a number of up to three digits, as a heading if it begins
    with up to six signs ``#`` and a space, and as a table row if it begins with ``|``.
    """
    from deconfound.features.kernels.count_kernels import count_lines
    from deconfound.features.kernels.sentence_kernels import count_sentences

    counts = np.zeros((len(texts), len(CharacterCounts.__dataclass_fields__)), dtype=np.int64)
    count_lines(texts.data, texts.starts, texts.stops, _byte_classes(), counts)
    tables = character_table(), _sentence_marks(), *join_bytes(_REFUSALS)
    count_sentences(texts.data, texts.starts, texts.stops, *tables, REFUSAL_SPAN, random_key(), counts)
    return CharacterCounts(*counts.T.astype(np.float64))


def count_code_points(texts: TextArray) -> FloatArray:
    """Characters of each text."""
    from deconfound.features.kernels.count_kernels import count_points

    return np.asarray(count_points(texts.data, texts.starts, texts.stops).astype(np.float64))


@lru_cache(maxsize=1)
def _byte_classes() -> Bytes:
    from deconfound.features.kernels.count_kernels import DIGIT, LOWER, PUNCTUATION, UPPER

    classes = np.zeros(256, dtype=np.uint8)
    kinds = (DIGIT, _DIGITS), (UPPER, _UPPER), (LOWER, _UPPER.lower()), (PUNCTUATION, _PUNCTUATION)
    for kind, members in kinds:
        classes[list(members)] = kind
    return classes


@lru_cache(maxsize=1)
def _sentence_marks() -> Bytes:
    from deconfound.features.kernels.sentence_kernels import ALONE, CLOSER, END, FINAL, QUESTION

    marks = np.zeros(CODE_POINTS, dtype=np.uint8)
    kinds = (
        *((END, _SENTENCE_ENDS), (CLOSER, _SENTENCE_CLOSERS), (ALONE, _SENTENCE_ENDS_ALONE)),
        *((QUESTION, _QUESTIONS), (FINAL, _FINAL_CHARACTERS)),
    )
    for bit, members in kinds:
        marks[[ord(member) for member in members]] |= bit
    return marks


def compressed_sizes(pairs: TokenizedPairs) -> tuple[FloatArray, FloatArray]:
    """Deflated bytes of each pair's output, alone and after the last ``WINDOW_BYTES`` bytes of its context."""
    contexts, outputs = pairs.contexts.views(), pairs.outputs.views()
    alone = np.array([_deflated_size(data, None) for data in outputs], dtype=np.float64)
    after_context = np.empty(len(pairs.context))
    for number, (context, output) in enumerate(zip(pairs.context.tolist(), pairs.output.tolist(), strict=True)):
        after_context[number] = _deflated_size(outputs[output], contexts[context][-WINDOW_BYTES:])
    return alone[pairs.output], after_context


def _deflated_size(data: memoryview, window: memoryview | None) -> int:
    # A negative size asks for the raw stream: a header or checksum would distort the size of a short text.
    stream = zlib.compressobj(wbits=-15, zdict=window) if window else zlib.compressobj(wbits=-15)
    return len(stream.compress(data)) + len(stream.flush())
