"""Texts -> lower-case words with their CRC-32, as ``docs/features.md`` defines words."""

from __future__ import annotations

import numpy as np

from deconfound.features.character_table import IN_WORD, KIND_SHIFT, SEPARATOR, SINGLE, SPACE_BIT
from deconfound.features.kernels.code_points import decode, width, write_lower
from deconfound.features.kernels.compile_kernel import BYTES, CODES, INTS, Array, Number, compiled, inlined

SEPARATOR_BYTE, OUTSIDE_ASCII = 0, 255
"""Entries of ``byte_table`` for bytes that are not word characters of ASCII."""

_EMPTY = np.uint32(0xFFFFFFFF)  # where a CRC-32 starts
_BYTE, _EIGHT = np.uint32(0xFF), np.uint32(8)
_ONE = np.uint64(1)  # an unsigned index needs no test whether it counts from the end


@compiled(f"int64[::1]({BYTES}, {INTS}, {INTS}, int64)")
def truncate(data: Array, starts: Array, stops: Array, limit: Number) -> Array:
    """Where each text ends if no more than ``limit`` of its code points are read."""
    ends = stops.copy()
    for text in range(len(starts)):
        if stops[text] - starts[text] <= limit:
            continue
        count = 0
        for at in range(starts[text], stops[text]):
            if data[at] & 0xC0 != 0x80:
                count += 1
                if count > limit:
                    ends[text] = at
                    break
    return ends


@inlined
def _crc32(crc: Number, data: Array, start: Number, stop: Number, crc_table: Array) -> Number:
    """Continue a CRC-32 over some bytes."""
    for at in range(start, stop):
        crc = crc_table[(crc ^ np.uint32(data[at])) & _BYTE] ^ crc >> _EIGHT
    return crc


@inlined
def _split_at_space(
    data: Array, start: Number, stop: Number, table: Array, out: Array, ends: Array, place: Number, word: Number
) -> Number:
    """The pieces of a text between white space, as they are; returns the number of words so far."""
    began, at = place, start
    while at < stop:
        size = width(data, at, stop)
        if table[decode(data, at, size)] & SPACE_BIT:
            if place > began:
                ends[word] = place
                word += 1
                began = place
        else:
            for byte in range(at, at + size):
                out[place] = data[byte]
                place += 1
        at += size
    if place > began:
        ends[word] = place
        word += 1
    return word


# One long function: the loop over bytes is the hot one, and its state would have to be passed back and forth.
@compiled(f"int64({BYTES}, {INTS}, {INTS}, {CODES}, {BYTES}, {CODES}, uint8[::1], int64[::1], uint32[::1], int64[::1])")
def split_words(
    data: Array,
    starts: Array,
    stops: Array,
    table: Array,
    byte_table: Array,
    crc_table: Array,
    out: Array,
    ends: Array,
    codes: Array,
    offsets: Array,
) -> Number:
    """Write the words of all texts one after another; word w ends at ``ends[w]`` and text t at ``offsets[t + 1]``."""
    place, word = np.uint64(0), np.uint64(0)
    for text in range(len(starts)):
        start, stop, first = starts[text], stops[text], word
        began, at, end, crc = place, np.uint64(start), np.uint64(stop), _EMPTY
        while at < end:
            lower = byte_table[data[at]]
            if lower != SEPARATOR_BYTE and lower != OUTSIDE_ASCII:
                out[place] = lower
                place += _ONE
                at += _ONE
                crc = crc_table[(crc ^ np.uint32(lower)) & _BYTE] ^ crc >> _EIGHT
                continue
            kind, size, point = np.int64(SEPARATOR), 1, 0
            if lower == OUTSIDE_ASCII:
                size = width(data, np.int64(at), stop)
                point = decode(data, np.int64(at), size)
                kind = np.int64(table[point] >> KIND_SHIFT & 3)
            if kind != IN_WORD and place > began:
                ends[word] = place
                codes[word] = ~crc
                word += _ONE
                began, crc = place, _EMPTY
            if kind != SEPARATOR:
                after = write_lower(point, data, np.int64(at), start, stop, table, out, np.int64(place))
                crc = _crc32(crc, out, np.int64(place), after, crc_table)
                place = np.uint64(after)
            if kind == SINGLE:
                ends[word] = place
                codes[word] = ~crc
                word += _ONE
                began, crc = place, _EMPTY
            at += np.uint64(size)
        if place > began:
            ends[word] = place
            codes[word] = ~crc
            word += _ONE
        if word == first:
            count = _split_at_space(data, start, stop, table, out, ends, np.int64(place), np.int64(word))
            for piece in range(np.int64(first), count):
                codes[piece] = ~_crc32(_EMPTY, out, np.int64(place), ends[piece], crc_table)
                place = np.uint64(ends[piece])
            word = np.uint64(count)
        offsets[text + 1] = word
    return np.int64(word)
