"""UTF-8 in compiled code. Damaged text gives wrong code points, but nothing outside its bytes is read."""

from __future__ import annotations

import numpy as np

from deconfound.features.character_table import (
    CAPITAL_SIGMA,
    CASED_BIT,
    DOTTED_CAPITAL_I,
    FINAL_SIGMA,
    IGNORABLE_BIT,
    LOWER_MASK,
    SIGMA,
)
from deconfound.features.kernels.compile_kernel import Array, Number, inlined


@inlined
def width(data: Array, at: Number, stop: Number) -> Number:
    """Bytes of the code point that starts here."""
    lead = data[at]
    size = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    return min(size, stop - at)


@inlined
def decode(data: Array, at: Number, size: Number) -> Number:
    """The code point of ``size`` bytes that starts here."""
    lead = np.int64(data[at])
    if size == 1:
        return lead & 0x7F
    if size == 2:
        return (lead & 0x1F) << 6 | np.int64(data[at + 1]) & 0x3F
    tail = (np.int64(data[at + 1]) & 0x3F) << 6 | np.int64(data[at + 2]) & 0x3F
    if size == 3:
        return (lead & 0x0F) << 12 | tail
    return min((lead & 0x07) << 18 | tail << 6 | np.int64(data[at + 3]) & 0x3F, 0x10FFFF)


@inlined
def encode(point: Number, out: Array, at: Number) -> Number:
    """Write a code point and return the place after it."""
    if point < 0x80:
        out[at] = point
        return at + 1
    if point < 0x800:
        out[at] = 0xC0 | point >> 6
        out[at + 1] = 0x80 | point & 0x3F
        return at + 2
    if point < 0x10000:
        out[at] = 0xE0 | point >> 12
        out[at + 1] = 0x80 | point >> 6 & 0x3F
        out[at + 2] = 0x80 | point & 0x3F
        return at + 3
    out[at] = 0xF0 | point >> 18
    out[at + 1] = 0x80 | point >> 12 & 0x3F
    out[at + 2] = 0x80 | point >> 6 & 0x3F
    out[at + 3] = 0x80 | point & 0x3F
    return at + 4


@inlined
def previous(data: Array, at: Number, start: Number) -> Number:
    """Where the code point before this place starts."""
    at -= 1
    while at > start and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


@inlined
def _sigma(data: Array, at: Number, start: Number, stop: Number, table: Array) -> Number:
    """The lower case of the capital sigma at this place: final at the end of a word of more than one letter."""
    before, after = at, at + 2
    while before > start:
        before = previous(data, before, start)
        entry = table[decode(data, before, width(data, before, stop))]
        if not entry & IGNORABLE_BIT:
            if not entry & CASED_BIT:
                return SIGMA
            while after < stop:
                size = width(data, after, stop)
                entry = table[decode(data, after, size)]
                if not entry & IGNORABLE_BIT:
                    return SIGMA if entry & CASED_BIT else FINAL_SIGMA
                after += size
            return FINAL_SIGMA
    return SIGMA


@inlined
def write_lower(
    point: Number, data: Array, at: Number, start: Number, stop: Number, table: Array, out: Array, place: Number
) -> Number:
    """Write the lower case of the code point at this place of the text, and return the place after it."""
    if point == CAPITAL_SIGMA:
        return encode(_sigma(data, at, start, stop, table), out, place)
    if point == DOTTED_CAPITAL_I:
        return encode(0x307, out, encode(ord("i"), out, place))
    return encode(np.int64(table[point] & LOWER_MASK), out, place)
