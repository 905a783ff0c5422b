"""Sentences, questions, refusals and clean endings: fields 12 to 16 of ``CharacterCounts``."""

from __future__ import annotations

import numpy as np

from deconfound.features.character_table import SPACE_BIT
from deconfound.features.kernels.code_points import decode, encode, previous, width, write_lower
from deconfound.features.kernels.compile_kernel import BYTES, CODES, INTS, Array, Number, compiled, inlined
from deconfound.features.kernels.number_kernels import fresh_table, keyed_hash, same_bytes

END, CLOSER, ALONE, QUESTION, FINAL = 1, 2, 4, 8, 16
"""Bits of ``marks``, by code point: ends a sentence before white space, may stand between its end and the white space,
ends a sentence by itself, asks, ends a text cleanly."""

_RIGHT_QUOTE = 0x2019


@inlined
def _skip(data: Array, at: Number, stop: Number, table: Array, bit: Number) -> Number:
    """The first place from here on whose code point does not have this bit."""
    while at < stop:
        size = width(data, at, stop)
        if not table[decode(data, at, size)] & bit:
            break
        at += size
    return at


@inlined
def _skip_back(data: Array, start: Number, at: Number, table: Array) -> Number:
    """Where the text before this place ends, white space left out."""
    while at > start:
        before = previous(data, at, start)
        if not table[decode(data, before, width(data, before, at))] & SPACE_BIT:
            break
        at = before
    return at


@inlined
def _add_sentence(data: Array, start: Number, stop: Number, table: Array, spans: Array, count: Number) -> Number:
    """Record a sentence unless it is blank; returns the number of sentences so far."""
    start = _skip(data, start, stop, table, SPACE_BIT)
    if start == stop:
        return count
    spans[count, 0], spans[count, 1] = start, _skip_back(data, start, stop, table)
    return count + 1


@inlined
def _find_sentences(
    data: Array, start: Number, stop: Number, table: Array, marks: Array, spans: Array
) -> tuple[Number, Number]:
    """Record where each sentence starts and stops; returns the number of sentences and of question marks."""
    at, began, count, questions = start, start, 0, 0
    while at < stop:
        if data[at] < 0x80 and marks[data[at]] == 0:
            at += 1
            continue
        size = width(data, at, stop)
        mark = marks[decode(data, at, size)]
        after = at + size
        if mark:
            questions += mark & QUESTION != 0
            if mark & END:
                closed = _skip(data, after, stop, marks, CLOSER)
                after = _skip(data, closed, stop, table, SPACE_BIT)
                if after == closed:  # no white space: as in 3.14, the sentence goes on
                    after = at + size
                    mark = 0
            if mark & (END | ALONE):
                count = _add_sentence(data, began, at, table, spans, count)
                began = after
        at = after
    return _add_sentence(data, began, stop, table, spans, count), questions


@inlined
def _count_repeats(data: Array, spans: Array, count: Number, key: Number) -> Number:
    """Number of sentences that equal an earlier one."""
    if count < 2:
        return 0
    table, hashes, repeats = fresh_table(2 * count), np.empty(count, dtype=np.uint64), 0
    last = np.uint64(len(table) - 1)
    for number in range(count):
        start, stop = spans[number, 0], spans[number, 1]
        hashes[number] = keyed_hash(data, start, stop, key)
        place = hashes[number] & last
        while table[place] >= 0:
            other = table[place]
            began, size = spans[other, 0], spans[other, 1] - spans[other, 0]
            if hashes[other] == hashes[number] and size == stop - start and same_bytes(data, began, start, size):
                repeats += 1
                break
            place = place + np.uint64(1) & last
        if table[place] < 0:
            table[place] = number
    return repeats


@inlined
def _refuses(
    data: Array,
    start: Number,
    stop: Number,
    table: Array,
    span: Number,
    phrases: Array,
    ends: Array,
    begins: Array,
    lower: Array,
) -> Number:
    """Whether one of the phrases occurs in the first ``span`` characters, in any case and with either apostrophe."""
    after = start
    for _ in range(span):
        after += width(data, after, stop) if after < stop else 0
    at, size = start, 0
    while at < after:
        step = width(data, at, after)
        point = decode(data, at, step)
        if point == _RIGHT_QUOTE:
            size = encode(ord("'"), lower, size)
        else:
            size = write_lower(point, data, at, start, after, table, lower, size)
        at += step
    for place in range(size):
        if begins[lower[place]]:
            began = 0
            for phrase in range(len(ends)):
                matched, length = 0, min(ends[phrase] - began, size - place)
                while matched < length and lower[place + matched] == phrases[began + matched]:
                    matched += 1
                if matched == ends[phrase] - began:
                    return True
                began = ends[phrase]
    return False


@compiled(f"void({BYTES}, {INTS}, {INTS}, {CODES}, {BYTES}, {BYTES}, {INTS}, int64, uint64, int64[:, ::1])")
def count_sentences(
    data: Array,
    starts: Array,
    stops: Array,
    table: Array,
    marks: Array,
    phrases: Array,
    phrase_ends: Array,
    span: Number,
    key: Number,
    counts: Array,
) -> None:
    """Count sentences, repeated sentences and questions; detect a refusal and a clean ending."""
    longest = 0
    for text in range(len(starts)):
        longest = max(longest, stops[text] - starts[text])
    # A sentence has at least one byte, and at least one lies between two of them.
    spans, lower = np.empty((longest // 2 + 1, 2), dtype=np.int64), np.empty(4 * span, dtype=np.uint8)
    begins = np.zeros(256, dtype=np.bool_)
    for phrase in range(len(phrase_ends)):
        begins[phrases[phrase_ends[phrase - 1] if phrase else 0]] = True
    for text in range(len(starts)):
        start, stop = starts[text], stops[text]
        count, questions = _find_sentences(data, start, stop, table, marks, spans)
        counts[text, 12], counts[text, 14] = count, questions
        counts[text, 13] = _count_repeats(data, spans, count, key)
        counts[text, 15] = _refuses(data, start, stop, table, span, phrases, phrase_ends, begins, lower)
        end = _skip_back(data, start, stop, table)
        if end > start:
            before = previous(data, end, start)
            counts[text, 16] = marks[decode(data, before, width(data, before, end))] & FINAL != 0
