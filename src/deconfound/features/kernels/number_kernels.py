"""Words as whole numbers: equal words of a batch get the same number, by their bytes and not by a hash alone."""

from __future__ import annotations

import numpy as np

from deconfound.features.kernels.compile_kernel import BYTES, INTS, Array, Number, compiled, inlined

FIRST_SIZE = 1024  # places of a table before it grows


@inlined
def keyed_hash(data: Array, start: Number, stop: Number, key: Number) -> Number:
    """64 bits of some bytes; without the key, which is random, nobody can prepare a text of words that collide."""
    mixed = key ^ np.uint64(stop - start)
    at = start
    while at < stop:
        chunk, shift = np.uint64(0), np.uint64(0)
        for byte in range(at, min(at + 8, stop)):
            chunk |= np.uint64(data[byte]) << shift
            shift += np.uint64(8)
        mixed = (mixed ^ chunk) * (key | np.uint64(1))
        mixed ^= mixed >> np.uint64(32)
        at += 8
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
    return np.full(places, -1, dtype=np.int32)


@inlined
def _grow(table: Array, hashes: Array, count: Number) -> Array:
    larger = fresh_table(2 * len(table))
    last = np.uint64(len(larger) - 1)
    for number in range(count):
        place = hashes[number] & last
        while larger[place] >= 0:
            place = place + np.uint64(1) & last
        larger[place] = number
    return larger


@compiled(f"int64({BYTES}, {INTS}, uint64, int64[::1], int64[::1])")
def number_words(words: Array, ends: Array, key: Number, numbers: Array, first: Array) -> Number:
    """Number words by first appearance, which ``first`` records; returns the number of distinct words."""
    table, hashes = fresh_table(FIRST_SIZE), np.empty(len(ends), dtype=np.uint64)
    count, start = 0, 0
    for word in range(len(ends)):
        size, code = ends[word] - start, keyed_hash(words, start, ends[word], key)
        last = np.uint64(len(table) - 1)
        place = code & last
        while True:
            number = table[place]
            if number < 0:
                table[place] = number = count
                hashes[count], first[count] = code, word
                count += 1
                if 2 * count > len(table):
                    table = _grow(table, hashes, count)
                break
            if hashes[number] == code:
                other = first[number]
                began = ends[other - 1] if other else 0
                if ends[other] - began == size and same_bytes(words, began, start, size):
                    break
            place = place + np.uint64(1) & last
        numbers[word] = number
        start = ends[word]
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
