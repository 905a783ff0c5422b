"""Words that an output repeats or shares with its context, pair by pair; words are numbers.

A table is not cleared between texts: each entry carries the mark of the text that wrote it.
"""

from __future__ import annotations

import numpy as np

from deconfound.features.kernels.compile_kernel import INTS, Array, Number, compiled, inlined

FLAGS = "Array(boolean, 1, 'C', readonly=True)"
_ONE = np.uint64(1)


@inlined
def _no_marks(size: Number) -> Array:
    marks = np.empty(size, dtype=np.int64)
    for at in range(size):
        marks[at] = -1
    return marks


@inlined
def _places(offsets: Array) -> Number:
    """Places of a table that any one text leaves half empty."""
    places, longest = 16, 0
    for text in range(len(offsets) - 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    while places < 2 * longest:
        places *= 2
    return places


@inlined
def _find(keys: Array, marks: Array, mark: Number, key: Number, secret: Number) -> Number:
    """The place of a key among those with this mark, or the free place where it belongs."""
    last = np.uint64(len(keys) - 1)
    mixed = key * (secret | _ONE)
    place = (mixed ^ mixed >> np.uint64(32)) & last
    while marks[place] == mark and keys[place] != key:
        place = place + _ONE & last
    return place


@inlined
def _pair(one: Number, other: Number) -> Number:
    return np.uint64(one) << np.uint64(32) | np.uint64(other)


@compiled(f"void({INTS}, {INTS}, int64, int64, uint64, int64[:, ::1])")
def count_distinct(
    numbers: Array, offsets: Array, vocabulary: Number, block: Number, secret: Number, counts: Array
) -> None:
    """For each text: distinct words, those of each block of words, distinct pairs and distinct triples."""
    places = _places(offsets)
    in_text, in_block = _no_marks(vocabulary), _no_marks(vocabulary)
    pairs, pair_marks = np.empty(places, dtype=np.uint64), _no_marks(places)
    triples, triple_marks = np.empty(places, dtype=np.uint64), _no_marks(places)
    pair_first = np.empty(places, dtype=np.int64)
    blocks = -1
    for text in range(len(offsets) - 1):
        start, before = offsets[text], np.int64(0)
        for at in range(start, offsets[text + 1]):
            number = numbers[at]
            if in_text[number] != text:
                in_text[number] = text
                counts[text, 0] += 1
            if (at - start) % block == 0:
                blocks += 1
            if in_block[number] != blocks:
                in_block[number] = blocks
                counts[text, 1] += 1
            if at == start:
                continue
            if at > start + 1:
                # A pair is named by the place where it first occurred, so that a triple fits into 64 bits too.
                key = _pair(before, number)
                place = _find(triples, triple_marks, text, key, secret)
                if triple_marks[place] != text:
                    triples[place], triple_marks[place] = key, text
                    counts[text, 3] += 1
            key = _pair(numbers[at - 1], number)
            place = _find(pairs, pair_marks, text, key, secret)
            if pair_marks[place] != text:
                pairs[place], pair_marks[place], pair_first[place] = key, text, at - start
                counts[text, 2] += 1
            before = pair_first[place]


@compiled(f"void({INTS}, {INTS}, {INTS}, {FLAGS}, int64, int64[:, ::1])")
def count_kinds(numbers: Array, offsets: Array, lengths: Array, hedges: Array, limit: Number, counts: Array) -> None:
    """For each text: characters of its words, words of more than ``limit`` characters, and hedges."""
    for text in range(len(offsets) - 1):
        for at in range(offsets[text], offsets[text + 1]):
            length = lengths[numbers[at]]
            counts[text, 0] += length
            counts[text, 1] += length > limit
            counts[text, 2] += hedges[numbers[at]]


# Written as one loop over the words of an output: each word is looked up once for all counts.
@compiled(f"void({INTS}, {INTS}, {INTS}, {INTS}, {INTS}, {INTS}, {FLAGS}, uint64, int64[:, ::1], float64[::1])")
def compare_pairs(
    context_numbers: Array,
    context_offsets: Array,
    output_numbers: Array,
    output_offsets: Array,
    context: Array,
    output: Array,
    is_number: Array,
    secret: Number,
    counts: Array,
    positions: Array,
) -> None:
    """For each pair the counts of ``Overlap``, in their order, and the sum of the positions of copied word pairs."""
    places, vocabulary = _places(context_offsets), len(is_number)
    in_context, in_output = _no_marks(vocabulary), _no_marks(vocabulary)
    keys, marks = np.empty(places, dtype=np.uint64), _no_marks(places)
    first = np.empty(places, dtype=np.int64)
    read, mark, distinct = -1, -1, 0
    for pair in range(len(context)):
        start, stop = context_offsets[context[pair]], context_offsets[context[pair] + 1]
        if context[pair] != read:
            read, mark, distinct = context[pair], mark + 1, 0
            for at in range(start, stop):
                number = context_numbers[at]
                distinct += in_context[number] != mark
                in_context[number] = mark
                if at + 1 < stop:
                    key = _pair(number, context_numbers[at + 1])
                    place = _find(keys, marks, mark, key, secret)
                    if marks[place] != mark:
                        keys[place], marks[place], first[place] = key, mark, at - start
        scale = np.float64(max(stop - start - 2, 1))
        shared, copied, used, novel, longest, run, digits, digits_shared = 0, 0, 0, 0, 0, 0, 0, 0
        began, end = output_offsets[output[pair]], output_offsets[output[pair] + 1]
        total = 0.0
        for at in range(began, end):
            number = output_numbers[at]
            known = in_context[number] == mark
            shared += known
            digits += is_number[number]
            digits_shared += is_number[number] and known
            if in_output[number] != pair:
                in_output[number] = pair
                used += known
                novel += not known
            hit = False
            if known and at + 1 < end:
                place = _find(keys, marks, mark, _pair(number, output_numbers[at + 1]), secret)
                hit = marks[place] == mark
                if hit:
                    total += np.float64(first[place]) / scale
            copied += hit
            run = run + 1 if hit else 0
            longest = max(longest, run + 1 if hit else 0)
        counts[pair, 0], counts[pair, 1] = end - began, stop - start
        counts[pair, 2], counts[pair, 3] = shared, max(end - began - 1, 0)
        counts[pair, 4], counts[pair, 5], counts[pair, 6] = copied, used, distinct
        counts[pair, 7], counts[pair, 8] = novel, max(longest, 1 if shared else 0)
        counts[pair, 9], counts[pair, 10] = digits, digits_shared
        positions[pair] = total
