"""Words as whole numbers: equal words of a batch get the same number, by their bytes and not by a hash alone."""

from __future__ import annotations

import numpy as np

from deconfound.features.kernels.compile_kernel import BYTES, INTS, Array, Number, compiled, inlined

FIRST_SIZE = 1024  # places of a table before it grows
SHORT = 8  # bytes of a word that fit into a key; two such words are equal if their keys and lengths are

_ONE, _BYTE, _WORD = np.uint64(1), np.uint64(8), np.uint64(32)


@inlined
def _eight_bytes(data: Array, start: Number, stop: Number) -> Number:
    """Up to eight bytes as one number."""
    at, size = np.uint64(start), min(stop - start, 8)
    if start + 8 <= len(data):  # read as a whole: a loop over the bytes of short words is hard to predict
        number = np.uint64(data[at]) | np.uint64(data[at + _ONE]) << np.uint64(8)
        number |= np.uint64(data[at + np.uint64(2)]) << np.uint64(16) | np.uint64(data[at + np.uint64(3)]) << np.uint64(
            24
        )
        number |= np.uint64(data[at + np.uint64(4)]) << np.uint64(32) | np.uint64(data[at + np.uint64(5)]) << np.uint64(
            40
        )
        number |= np.uint64(data[at + np.uint64(6)]) << np.uint64(48) | np.uint64(data[at + np.uint64(7)]) << np.uint64(
            56
        )
        unused = np.uint64(8 * (8 - size))
        return number << unused >> unused
    number = np.uint64(0)
    for byte in range(size):
        number |= np.uint64(data[start + byte]) << _BYTE * np.uint64(byte)
    return number


@inlined
def keyed_hash(data: Array, start: Number, stop: Number, key: Number) -> Number:
    """64 bits of some bytes; without the key, which is random, nobody can prepare a text of words that collide."""
    mixed = key ^ np.uint64(stop - start)
    for at in range(start, stop, 8):
        mixed = (mixed ^ _eight_bytes(data, at, stop)) * (key | _ONE)
        mixed ^= mixed >> _WORD
    return mixed


@inlined
def same_bytes(data: Array, one: Number, other: Number, size: Number) -> Number:
    """Whether two places hold the same bytes."""
    for at in range(size):
        if data[one + at] != data[other + at]:
            return False
    return True


@inlined
def fresh_table(size: Number) -> Array:
    """A table of at least ``size`` places, none taken; the number of places is a power of two."""
    places = FIRST_SIZE
    while places < size:
        places *= 2
    table = np.empty(places, dtype=np.int32)
    for place in range(places):
        table[place] = -1
    return table


@inlined
def _place(code: Number, size: Number, key: Number, last: Number) -> Number:
    mixed = (code ^ np.uint64(size)) * (key | _ONE)
    return (mixed ^ mixed >> _WORD) & last


@inlined
def _grow(table: Array, key: Number) -> Array:
    larger = np.zeros((2 * len(table), 2), dtype=np.uint64)
    last = np.uint64(len(larger) - 1)
    for at in range(len(table)):
        if table[at, 1]:
            place = _place(table[at, 0], table[at, 1] & np.uint64(0xFFFFFFFF), key, last)
            while larger[place, 1]:
                place = place + _ONE & last
            larger[place, 0], larger[place, 1] = table[at, 0], table[at, 1]
    return larger


# A row of the table is a key, and the number of the word above its length: all that a short word needs is in one place
# of memory. A row without a word has length 0.
@compiled(f"int64({BYTES}, {INTS}, uint64, int64[::1], int64[::1])")
def number_words(words: Array, ends: Array, key: Number, numbers: Array, first: Array) -> Number:
    """Number words by first appearance, which ``first`` records; returns the number of distinct words."""
    table = np.zeros((FIRST_SIZE, 2), dtype=np.uint64)
    count, start = 0, 0
    for word in range(len(ends)):
        stop = ends[word]
        size, last = stop - start, np.uint64(len(table) - 1)
        code = _eight_bytes(words, start, stop) if size <= SHORT else keyed_hash(words, start, stop, key)
        place, number = _place(code, size, key, last), np.int64(-1)
        while number < 0:
            entry = table[place, 1]
            if not entry:
                number = np.int64(count)
                table[place, 0], table[place, 1] = code, np.uint64(count) << _WORD | np.uint64(size)
                first[count] = word
                count += 1
                if 2 * count > len(table):
                    table = _grow(table, key)
            elif table[place, 0] == code and np.int64(entry & np.uint64(0xFFFFFFFF)) == size:
                other = np.int64(entry >> _WORD)
                if size <= SHORT or same_bytes(words, ends[first[other]] - size, start, size):
                    number = other
            place = place + _ONE & last
        numbers[word] = number
        start = stop
    return count


@compiled(f"void({BYTES}, {INTS}, {INTS}, {BYTES}, {INTS}, int64[::1], boolean[::1], boolean[::1])")
def describe_words(
    words: Array, ends: Array, first: Array, hedges: Array, hedge_ends: Array, length: Array, digit: Array, hedge: Array
) -> None:
    """Characters of each distinct word, whether it begins with a digit, and whether it is one of ``hedges``."""
    for number in range(len(first)):
        word = first[number]
        start = ends[word - 1] if word else 0
        size, count = ends[word] - start, 0
        for at in range(start, ends[word]):
            count += words[at] & 0xC0 != 0x80
        length[number], digit[number], hedge[number] = count, 0x30 <= words[start] <= 0x39, False
        began = 0
        for entry in range(len(hedge_ends)):
            if hedge_ends[entry] - began == size:
                equal = True
                for at in range(size):
                    equal &= words[start + at] == hedges[began + at]
                hedge[number] |= equal
            began = hedge_ends[entry]
