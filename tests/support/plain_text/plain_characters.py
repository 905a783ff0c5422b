"""Counts of characters, lines and sentences, and compressed sizes: statistics that do not need words."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from tests.support.plain_text.plain_words import TokenizedPairs

WINDOW_BYTES = 32_768
"""Bytes of context that compression can refer back to: deflate's own window."""

REFUSAL_SPAN = 200
"""Characters at the start of an output that are searched for a refusal."""

_DIGITS = b"0123456789"
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = _UPPER + _UPPER.lower()
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())

# Each pattern takes time linear in the text, whatever the text: none can start over inside a run it has scanned.
_SENTENCE_END = re.compile(r"[.!?…؟।][\"'”’)\]]*\s+|[。！？\n]")
_BULLET = re.compile(r"^[ \t]*(?:[-*+•]|[0-9]{1,3}[.)])[ \t]", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\|", re.MULTILINE)
_REFUSALS = (
    *("sorry", "apologi", "unable to", "not able to", "as an ai", "as a language model", "i won't"),
    *("cannot help", "cannot assist", "cannot provide", "cannot answer"),
    *("can't help", "can't assist", "can't provide", "can't answer"),
)
_FINAL_CHARACTERS = frozenset(".!?…。！？؟।:;\"'”’)]}>|`*")


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


def count_characters(texts: Sequence[str]) -> CharacterCounts:
    """Count characters, lines and sentences of each text."""
    fields = len(CharacterCounts.__dataclass_fields__)
    counts = np.array([_characters(text) + _lines(text) + _sentences(text) for text in texts], dtype=np.float64)
    return CharacterCounts(*counts.reshape(-1, fields).T)


def _characters(text: str) -> tuple[int, ...]:
    data = text.encode()
    classes = (_DIGITS, _UPPER, _LETTERS, _PUNCTUATION)
    return (len(text), len(data), *(len(data) - len(data.translate(None, members)) for members in classes))


def _lines(text: str) -> tuple[int, ...]:
    return (
        text.count("\n") + 1,
        len(_BULLET.findall(text)),
        len(_HEADING.findall(text)) if "#" in text else 0,
        text.count("```"),
        text.count("**") // 2,
        len(_TABLE.findall(text)) if "|" in text else 0,
    )


def _sentences(text: str) -> tuple[int, ...]:
    sentences = [piece for piece in map(str.strip, _SENTENCE_END.split(text)) if piece]
    opening = text[:REFUSAL_SPAN].lower().replace("’", "'")
    return (
        len(sentences),
        len(sentences) - len(set(sentences)),
        text.count("?") + text.count("？") + text.count("؟"),
        any(phrase in opening for phrase in _REFUSALS),
        text.rstrip()[-1:] in _FINAL_CHARACTERS,
    )


def compressed_sizes(pairs: TokenizedPairs) -> tuple[FloatArray, FloatArray]:
    """Deflated bytes of each pair's output, alone and after the last ``WINDOW_BYTES`` bytes of its context."""
    outputs = [text.encode() for text in pairs.outputs]
    alone = np.array([len(_deflate(data, b"")) for data in outputs], dtype=np.float64)
    after_context = np.empty(len(pairs.context))
    window, window_context = b"", -1
    for number, (context, output) in enumerate(zip(pairs.context.tolist(), pairs.output.tolist(), strict=True)):
        if context != window_context:
            window, window_context = pairs.contexts[context].encode()[-WINDOW_BYTES:], context
        after_context[number] = len(_deflate(outputs[output], window))
    return alone[pairs.output], after_context


def _deflate(data: bytes, window: bytes) -> bytes:
    # A negative size asks for the raw stream: a header or checksum would distort the size of a short text.
    stream = zlib.compressobj(wbits=-15, zdict=window) if window else zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()
