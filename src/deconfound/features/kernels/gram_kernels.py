"""Sums of outer products of sparse rows, tile by tile: a tile stays in the processor's cache."""

from __future__ import annotations

import numpy as np

from deconfound.features.kernels.compile_kernel import CODES, INTS, Array, Number, compiled

_INDICES = "Array(int32, 1, 'C', readonly=True)"
_VALUES = "Array(float64, 1, 'C', readonly=True)"
_EDGES = "Array(int64, 2, 'C', readonly=True)"


@compiled(f"void({INTS}, {_INDICES}, int64, int64[:, ::1])")
def find_edges(starts: Array, columns: Array, shift: Number, edges: Array) -> None:
    """``edges[b, row]``: the first entry of a row in the block of columns ``b`` of 2^shift columns, or after it."""
    blocks = edges.shape[0] - 1
    for row in range(len(starts) - 1):
        at, end = starts[row], starts[row + 1]
        for block in range(blocks):
            edges[block, row] = at
            while at < end and columns[at] >> shift == block:
                at += 1
        edges[blocks, row] = at


@compiled(f"void({_EDGES}, {CODES}, {_VALUES}, int64, int64, int64, int64, int64, float64[:, ::1])")
def add_tile(
    edges: Array,
    columns: Array,
    values: Array,
    first: Number,
    last: Number,
    left: Number,
    right: Number,
    shift: Number,
    tile: Array,
) -> None:
    """Add X'X of the rows ``first`` to ``last`` - 1 in two blocks of columns; in one block, its upper triangle.

    Four entries of the left block at once read each entry of the right block once.
    """
    mask = np.uint32((1 << shift) - 1)
    for row in range(first, last):
        at, end, start, stop = edges[left, row], edges[left + 1, row], edges[right, row], edges[right + 1, row]
        if start == stop:
            continue
        while at + 4 <= end:
            one, two, three, four = values[at], values[at + 1], values[at + 2], values[at + 3]
            ones, twos = tile[columns[at] & mask], tile[columns[at + 1] & mask]
            threes, fours = tile[columns[at + 2] & mask], tile[columns[at + 3] & mask]
            for other in range(at if left == right else start, stop):
                column, value = columns[other] & mask, values[other]
                ones[column] += one * value
                twos[column] += two * value
                threes[column] += three * value
                fours[column] += four * value
            at += 4
        while at < end:
            one, ones = values[at], tile[columns[at] & mask]
            for other in range(at if left == right else start, stop):
                ones[columns[other] & mask] += one * values[other]
            at += 1


@compiled(
    f"void({_EDGES}, {_INDICES}, {_VALUES}, int64, int64, int64, Array(float64, 2, 'C', readonly=True), "
    "float64[:, ::1])"
)
def add_products(
    edges: Array, columns: Array, values: Array, first: Number, last: Number, block: Number, right: Array, total: Array
) -> None:
    """Add X'Y of the rows ``first`` to ``last`` - 1, for one block of the columns of X and the dense rows Y."""
    width = right.shape[1]
    for row in range(first, last):
        for entry in range(edges[block, row], edges[block + 1, row]):
            value, sums = values[entry], total[columns[entry]]
            for column in range(width):
                sums[column] += value * right[row, column]
