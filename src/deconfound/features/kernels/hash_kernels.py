"""CRC-32 of words -> sparse rows of signed counts, scaled to unit length."""

from __future__ import annotations

import numpy as np

from deconfound.features.kernels.compile_kernel import CODES, INTS, Array, Number, compiled, inlined

DIGIT_BITS = 9  # sorted by at once: two digits are enough for 2^18 columns
SMALL = 64  # keys that are sorted by insertion

_MIX_ONE, _MIX_TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SIGN = np.uint32(1)
_NO_KEY = np.uint32(0xFFFFFFFF)  # its column is never used: there are fewer than 2^31


@inlined
def _phrase(key: Number, buckets: Number, mask: Number) -> Number:
    """Column and sign of a key: the splitmix64 finalizer, then column * 2 + (1 if the sign is negative)."""
    key = (key ^ key >> np.uint64(30)) * _MIX_ONE
    key = (key ^ key >> np.uint64(27)) * _MIX_TWO
    key = key ^ key >> np.uint64(31)
    column = key >> np.uint64(1) & mask if mask else (key >> np.uint64(1)) % buckets
    return np.uint32(column << np.uint64(1) | key & np.uint64(1))


@inlined
def _sort_by_insertion(keys: Array, size: Number) -> None:
    for at in range(1, size):
        key, place = keys[at], at
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


@inlined
def _sort_by_digits(keys: Array, spare: Array, size: Number, shift: Number, digit: Number, counts: Array) -> None:
    """A stable sort by the two digits above ``shift``; ``spare`` and ``counts`` are room to work in."""
    digit, low = np.uint32(digit), np.uint32(shift)
    high, last = low + digit, np.uint32((1 << digit) - 1)
    above = last + np.uint32(1)
    for value in range(2 * above):
        counts[value] = 0
    for at in range(size):
        counts[keys[at] >> low & last] += _SIGN
        counts[above + (keys[at] >> high & last)] += _SIGN
    lows, highs = np.uint32(0), np.uint32(0)
    for value in range(above):
        count = counts[value]
        counts[value] = lows
        lows += count
        count = counts[above + value]
        counts[above + value] = highs
        highs += count
    for at in range(size):
        value = keys[at] >> low & last
        spare[counts[value]] = keys[at]
        counts[value] += _SIGN
    for at in range(size):
        value = above + (spare[at] >> high & last)
        keys[counts[value]] = spare[at]
        counts[value] += _SIGN


@inlined
def _sort(keys: Array, spare: Array, size: Number, bits: Number, counts: Array) -> None:
    """Sort by column, whose number has ``bits`` bits; the sign is bit 0."""
    if size <= SMALL:
        _sort_by_insertion(keys, size)
        return
    rounds = max((bits + 2 * DIGIT_BITS - 1) // (2 * DIGIT_BITS), 1)
    digit = (bits + 2 * rounds - 1) // (2 * rounds)
    for number in range(rounds):
        _sort_by_digits(keys, spare, size, 1 + 2 * number * digit, digit, counts)


@compiled(f"int64({CODES}, {INTS}, uint64, uint64, uint64, int32[::1], float64[::1], int64[::1])")
def hash_rows(
    codes: Array,
    offsets: Array,
    one: Number,
    two: Number,
    buckets: Number,
    columns: Array,
    values: Array,
    row_ends: Array,
) -> Number:
    """Write one sparse row per text, columns in order; returns the number of entries of all rows."""
    mask = buckets - np.uint64(1) if buckets & (buckets - np.uint64(1)) == 0 else np.uint64(0)
    bits, longest = 0, 1
    while np.uint64(1) << np.uint64(bits) < buckets:
        bits += 1
    for text in range(len(offsets) - 1):
        longest = max(longest, 2 * (offsets[text + 1] - offsets[text]))
    keys, spare = np.empty(longest + 1, dtype=np.uint32), np.empty(longest, dtype=np.uint32)
    counts = np.empty(2 << DIGIT_BITS, dtype=np.uint32)
    used = 0
    for text in range(len(offsets) - 1):
        size, before = 0, np.uint64(0)
        for word in range(offsets[text], offsets[text + 1]):
            code = np.uint64(codes[word])
            if size:
                keys[size] = _phrase((before << np.uint64(32) | code) ^ two, buckets, mask)
                size += 1
            keys[size] = _phrase(code ^ one, buckets, mask)
            size += 1
            before = code
        _sort(keys, spare, size, bits, counts)
        # Without branches, which repeated words would make hard to predict: an entry is overwritten until it is final.
        first, squares, total, keys[size] = used, np.int64(0), np.int64(0), _NO_KEY
        for at in range(size):
            column, sign = keys[at] >> _SIGN, 1 - 2 * np.int64(keys[at] & _SIGN)
            total += sign
            columns[used], values[used] = column, total
            is_last = column != keys[at + 1] >> _SIGN
            squares += total * total if is_last else 0
            used += 1 if is_last and total != 0 else 0
            total = np.int64(0) if is_last else total
        norm = np.sqrt(np.float64(squares))
        for entry in range(first, used):
            values[entry] /= norm
        row_ends[text] = used
    return used


_ROWS = f"{INTS}, Array(int32, 1, 'C', readonly=True), Array(float64, 1, 'C', readonly=True)"


@compiled(f"int64({_ROWS}, {_ROWS}, {INTS}, {INTS}, int32[::1], float64[::1], int64[::1])")
def merge_rows(
    starts: Array,
    columns: Array,
    values: Array,
    other_starts: Array,
    other_columns: Array,
    other_values: Array,
    rows: Array,
    other_rows: Array,
    out_columns: Array,
    out_values: Array,
    row_ends: Array,
) -> Number:
    """Write the sum of some rows of two sparse matrices, columns in order; returns the number of entries."""
    used = 0
    for pair in range(len(rows)):
        one, one_end = starts[rows[pair]], starts[rows[pair] + 1]
        two, two_end = other_starts[other_rows[pair]], other_starts[other_rows[pair] + 1]
        while one < one_end or two < two_end:
            if two == two_end or (one < one_end and columns[one] < other_columns[two]):
                column, total = columns[one], values[one]
                one += 1
            elif one == one_end or other_columns[two] < columns[one]:
                column, total = other_columns[two], other_values[two]
                two += 1
            else:
                column, total = columns[one], values[one] + other_values[two]
                one += 1
                two += 1
            if total != 0.0:
                out_columns[used], out_values[used] = column, total
                used += 1
        row_ends[pair] = used
    return used
